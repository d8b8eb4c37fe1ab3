// Segments reads the folder of one collection that listwatch-sink writes, while it writes, and
// prints each record once.
//
//	listwatch-sink pods --to file:cluster.log
//	segments cluster.log/CLUSTER/-/pods/0
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/listwatch/listwatch/sink"
)

func main() {
	after := flag.Int64("after", 0, "begin after this commit")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("name a folder, such as cluster.log/CLUSTER/-/pods/0")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	f := &follower{dir: flag.Arg(0), done: *after}
	for {
		err := f.read(func(commit int64, r sink.Record) { fmt.Println(commit, r.Type, r.Key(), r.Revision) })
		if err != nil {
			log.Fatal(err)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return
		}
	}
}

// follower reads the segments of a folder.
type follower struct {
	dir  string
	done int64 // the last commit whose records were taken: keep it with what is made of them
	hole int64 // the commit after it, if the last list of the folder had only later ones
}

// segment is a file with the commits first to last.
type segment struct {
	name        string
	first, last int64
}

// segments returns the files that have commits after done, in order. Snapshots, whose first
// commit is 0, are no history.
func (f *follower) segments() (all []segment, err error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		var s segment
		if n, err := fmt.Sscanf(e.Name(), "%16d-%16d.r", &s.first, &s.last); n == 2 && err == nil && s.first > 0 && s.last > f.done {
			s.name = e.Name()
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b segment) int {
		if a.first != b.first {
			return int(a.first - b.first)
		}
		return int(b.last - a.last) // the larger one has what the smaller ones have
	})
	return all, nil
}

// read calls take with each record that is new, and the number of its commit.
func (f *follower) read(take func(int64, sink.Record)) error {
	all, err := f.segments()
	for _, s := range all {
		if s.last <= f.done {
			continue // another segment had it, too
		}
		if f.done > 0 && s.first > f.done+1 {
			if f.hole != f.done+1 {
				f.hole = f.done + 1
				return nil // a list may lack a file that is written or merged meanwhile: see the next
			}
			return fmt.Errorf("the commits %d to %d were removed: read the table", f.done+1, s.first-1)
		}
		err := f.commits(s, take)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // merged into a larger one: the next call finds that
		} else if err != nil {
			return err
		}
	}
	return err
}

// commits reads one segment, of which a part may have been read in smaller ones.
func (f *follower) commits(s segment, take func(int64, sink.Record)) error {
	file, err := os.Open(filepath.Join(f.dir, s.name))
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewReader(file)
	begin, commit := f.done, int64(0)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			f.done = max(f.done, commit)
			return nil
		} else if err != nil {
			return err
		}
		var l struct {
			Position *struct {
				Sequence int64 `json:"sequence"`
			} `json:"position"`
			sink.Record
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return errors.New(s.name + ": a line is not JSON, after commit " + strconv.FormatInt(f.done, 10))
		}
		switch {
		case l.Position != nil:
			f.done, commit = max(f.done, commit), l.Position.Sequence
		case commit > begin:
			take(commit, l.Record)
		}
	}
}
