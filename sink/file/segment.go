package file

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/internal/disk"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/internal/wire"
)

// maxLine limits the bytes of a line.
const maxLine = 64 << 20

// folder has the segments of one scope.
type folder string

// of returns the folder of a scope below root.
func of(root string, s sink.Scope) folder {
	return folder(filepath.Join(root, wire.Token(s.Cluster), wire.Token(s.Resource.Group), wire.Token(s.Resource.Plural), fmt.Sprint(s.Shard)))
}

// segment is a file with the commits first to last. One whose first is 0 is a snapshot: the
// table as of the commit last.
type segment struct {
	name        string
	first, last int64
	revision    kube.Revision
	size        int64
}

func (s segment) fileName() string {
	return fmt.Sprintf("%016d-%016d.r%s.ndjson", s.first, s.last, wire.Token(string(s.revision)))
}

func (s segment) snapshot() bool { return s.first == 0 }

func parseName(name string) (s segment, ok bool) {
	var rest string
	if n, err := fmt.Sscanf(name, "%16d-%16d.r%s", &s.first, &s.last, &rest); n != 3 || err != nil {
		return s, false
	}
	token, ok := strings.CutSuffix(rest, ".ndjson")
	rev, err := wire.ParseToken(token)
	s.name, s.revision = name, kube.Revision(rev)
	return s, ok && err == nil && s.first <= s.last && name == s.fileName()
}

// segments returns the files of the folder, in order, without those that are contained in
// others, and the last snapshot.
func (f folder) segments() (all []segment, last segment, stale []segment, err error) {
	entries, err := os.ReadDir(string(f))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, last, nil, err
	}
	for _, e := range entries {
		s, ok := parseName(e.Name())
		if !ok {
			continue
		}
		if info, err := e.Info(); err == nil {
			s.size = info.Size()
		}
		switch {
		case !s.snapshot():
			all = append(all, s)
		case s.last > last.last:
			if last.name != "" {
				stale = append(stale, last)
			}
			last = s
		default:
			stale = append(stale, s)
		}
	}
	slices.SortFunc(all, func(a, b segment) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(b.last, a.last)) })
	end := int64(0)
	all = slices.DeleteFunc(all, func(s segment) bool {
		if s.last <= end {
			stale = append(stale, s)
			return true
		}
		end = s.last
		return false
	})
	return all, last, stale, nil
}

// write makes a file of the folder of what fill writes: it is complete and on the disk, or
// not there. After an error it may be either.
func (f folder) write(name string, fill func(io.Writer) error) error {
	tmp, err := os.CreateTemp(string(f), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // it fails after the rename
	w := bufio.NewWriterSize(tmp, 1<<16)
	if err := fill(w); err != nil {
		tmp.Close()
		return err
	}
	if err := errors.Join(w.Flush(), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), filepath.Join(string(f), name)); err != nil {
		return err
	}
	return disk.SyncDir(string(f))
}

// remove removes files of the folder.
func (f folder) remove(all []segment) error {
	for _, s := range all {
		if err := os.Remove(filepath.Join(string(f), s.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// positionLine is the line that begins a commit.
type positionLine struct {
	Position json.RawMessage `json:"position"`
}

var positionPrefix = []byte(`{"position":`)

func writePosition(w io.Writer, p sink.Position) error {
	b, err := json.Marshal(positionLine{wire.EncodePosition(p)})
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

func writeRecord(w io.Writer, r sink.Record) error {
	_, b, err := wire.EncodeRecord(r, maxLine-1)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// read calls commit and record with the lines of a file, in order. record may be nil.
func (f folder) read(s segment, commit func(sink.Position) error, record func(sink.Record) error) error {
	file, err := os.Open(filepath.Join(string(f), s.name))
	if err != nil {
		return err
	}
	defer file.Close() // it is only read
	r := bufio.NewReaderSize(file, 1<<16)
	last := int64(0)
	for {
		line, err := readLine(r)
		if errors.Is(err, io.EOF) && len(line) == 0 {
			if last != s.last {
				return fmt.Errorf("read %s: it ends after commit %d and was cut: restore the file", s.name, last)
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", s.name, err)
		}
		if bytes.HasPrefix(line, positionPrefix) {
			var l positionLine
			if err := json.Unmarshal(line, &l); err != nil {
				return fmt.Errorf("read %s: %w", s.name, err)
			}
			p, err := wire.DecodePosition(l.Position)
			if err != nil {
				return fmt.Errorf("read %s: %w", s.name, err)
			}
			last = p.Sequence
			if err := commit(p); err != nil {
				return err
			}
			continue
		}
		if record == nil {
			continue
		}
		rec, err := wire.DecodeRecord(line)
		if err != nil {
			return fmt.Errorf("read %s: %w", s.name, err)
		}
		if err := record(rec); err != nil {
			return err
		}
	}
}

// readLine returns the next line, without its end. A last line without an end is an error:
// no segment is written in part.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxLine {
			return nil, fmt.Errorf("a line has more than %d bytes", maxLine)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		default:
			return line[:len(line)-1], nil
		}
	}
}
