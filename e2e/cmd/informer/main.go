// Command informer is the program that TestInformer kills. It runs an informer of
// foos.example.com with two indexes and a snapshot, and appends a line to a log
// for each delta before its handler returns: a line that is there is a delta that
// was acknowledged, whatever happens to the process after it.
//
// It obeys commands on stdin, one a line, and ends in good order at the end of
// stdin:
//
//	hold before N   stop for good at the N-th delta from now, before its line
//	hold after N    the same, after its line, before the handler returns
//	hold added N    as before, at the N-th delta that is an addition
//	hold listed N   as after, at the N-th delta behind the first request
//	hold save N     stop for good when the N-th object from now is being saved
//	run             start the informer
//	show            log what the store and the indexes hold
//
// With -read it prints a snapshot instead, in the same form.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/config"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

var foos = kube.Resource{Group: "example.com", Version: "v1", Plural: "foos", Kind: "Foo", Namespaced: true}

// Foo is what the program wants to know of one.
type Foo struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Payload Payload `json:"payload"`
		Size    int64   `json:"size"`
	} `json:"spec"`
}

// Payload is text whose encoding can be held up.
type Payload string

// saving is global because methods for JSON see nothing else.
var saving holder

func (p Payload) MarshalJSON() ([]byte, error) {
	if !journaling() {
		saving.pass("save")
	}
	return json.Marshal(string(p))
}

// journaling reports whether it is called to encode for the journal: nothing but
// that and a snapshot does encode.
func journaling() bool {
	callers := make([]uintptr, 50)
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers)])
	for {
		f, more := frames.Next()
		if filepath.Base(f.File) == "journal.go" {
			return true
		}
		if !more {
			return false
		}
	}
}

func (p *Payload) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, (*string)(p)) }

// letter is the value of an index: a payload is one letter, many times.
func (f Foo) letter() (string, bool) {
	if f.Spec.Payload == "" {
		return "", false
	}
	return string(f.Spec.Payload[:1]), true
}

// entry is a line of the log: a delta, or a mark between deltas.
type entry struct {
	Mark string `json:"mark,omitempty"`

	Type      watch.Type    `json:"type,omitempty"`
	Namespace string        `json:"namespace,omitempty"`
	Name      string        `json:"name,omitempty"`
	UID       string        `json:"uid,omitempty"`
	RV        kube.Revision `json:"rv,omitempty"`
	Old       string        `json:"old,omitempty"` // version of Delta.Old
	Initial   bool          `json:"initial,omitempty"`
	Inferred  bool          `json:"inferred,omitempty"`

	Op     watch.Op `json:"op,omitempty"`     // of "connected", "listed" and "interrupted"
	Millis int64    `json:"millis,omitempty"` // since run

	// Of "shown": the versions of objects, and the keys by value of each index.
	Objects    map[string]string   `json:"objects,omitempty"`
	Namespaces map[string][]string `json:"namespaces,omitempty"`
	Letters    map[string][]string `json:"letters,omitempty"`
}

func main() {
	var p program
	kubeconfig := flag.String("kubeconfig", "", "of the cluster")
	read := flag.Bool("read", false, "print the snapshot and end")
	path := flag.String("log", "", "to append to")
	flag.StringVar(&p.snapshot.Path, "snapshot", "", "path")
	flag.StringVar(&p.snapshot.Cluster, "cluster", "", "ID")
	flag.DurationVar(&p.snapshot.Every, "every", 0, "between snapshots")
	flag.Parse()

	p.log = os.Stdout
	err := error(nil)
	if *read {
		err = p.read()
	} else {
		err = p.main(*kubeconfig, *path)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "informer:", err)
		os.Exit(1)
	}
}

type program struct {
	snapshot cache.Snapshot
	informer *cache.Informer[Foo]
	spaces   *cache.Index[Foo, string]
	letters  *cache.Index[Foo, string]
	deltas   holder
	began    time.Time
	asked    bool // the server; for Run's goroutine

	mu  sync.Mutex
	log *os.File
}

// write appends one line by one call.
func (p *program) write(e entry) {
	b, err := json.Marshal(e)
	if err == nil {
		p.mu.Lock()
		_, err = p.log.Write(append(b, '\n'))
		p.mu.Unlock()
	}
	if err != nil { // what cannot be acknowledged must not seem so
		fmt.Fprintln(os.Stderr, "informer:", err)
		os.Exit(1)
	}
}

func (p *program) mark(what string) {
	p.write(entry{Mark: what, Millis: time.Since(p.began).Milliseconds()})
}

// take is the handler.
func (p *program) take(d cache.Delta[Foo]) {
	p.deltas.pass("before")
	if d.Type == watch.Added {
		p.deltas.pass("added")
	}
	p.write(entry{
		Type: d.Type, Namespace: d.Key.Namespace, Name: d.Key.Name, UID: d.UID, RV: d.Revision,
		Old: d.Old.ResourceVersion, Initial: d.Initial, Inferred: d.Inferred,
	})
	p.deltas.pass("after")
	if p.asked {
		p.deltas.pass("listed")
	}
}

// main runs the informer as stdin says.
func (p *program) main(kubeconfig, path string) error {
	settings, err := config.Load(config.Options{Path: kubeconfig})
	if err != nil {
		return err
	}
	c, err := client.New(settings.Client)
	if err != nil {
		return err
	}
	defer c.CloseIdleConnections()
	if p.log, err = os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600); err != nil {
		return err
	}
	defer p.log.Close()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p.deltas.begin(ctx, p.mark)
	saving.begin(ctx, p.mark)
	requested := func(op watch.Op, from kube.Revision) {
		p.asked = true
		p.write(entry{Mark: "requested", Op: op, RV: from})
	}
	p.informer = cache.New(client.Of[Foo](c, foos), cache.Options[Foo]{
		Watch: watch.Options{
			Backoff: 50 * time.Millisecond, BackoffMax: 500 * time.Millisecond,
			Trace: watch.Trace{
				Listed:      func(list.Progress) { requested(watch.OpList, "") },
				Connected:   func(op watch.Op, from kube.Revision, _ time.Duration) { requested(op, from) },
				Interrupted: func(i watch.Interruption) { requested(i.Op, "") },
			},
		},
		Snapshot: p.snapshot,
		OnError:  func(err error) { fmt.Fprintln(os.Stderr, "error:", err) },
	})
	p.spaces = cache.ByNamespace(p.informer.Store())
	p.letters = cache.By(p.informer.Store(), Foo.letter)
	handler := p.informer.Handle(p.take)

	var running sync.WaitGroup
	err = p.obey(func() {
		p.began = time.Now()
		running.Go(func() {
			if err := p.informer.Run(ctx); !errors.Is(err, context.Canceled) {
				fmt.Fprintln(os.Stderr, "informer:", err)
			}
		})
		running.Go(func() {
			select {
			case <-handler.Synced():
				p.mark("synced")
			case <-ctx.Done():
			}
		})
	})
	cancel()
	running.Wait()
	return err
}

// obey does what stdin says until its end.
func (p *program) obey(run func()) error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var when string
		var n int
		switch _, err := fmt.Sscanf(lines.Text(), "hold %s %d", &when, &n); {
		case lines.Text() == "run":
			run()
		case lines.Text() == "show":
			p.show()
		case err == nil && when == "save":
			saving.set(when, n)
		case err == nil:
			p.deltas.set(when, n)
		default:
			return fmt.Errorf("no such command: %q", lines.Text())
		}
	}
	return lines.Err()
}

// show logs the state of the store and the indexes.
func (p *program) show() {
	e := entry{Mark: "shown", Objects: map[string]string{}, Namespaces: map[string][]string{}, Letters: map[string][]string{}}
	for key, o := range p.informer.Store().All() {
		e.Objects[key.String()] = o.UID + "@" + o.ResourceVersion
	}
	for _, x := range []struct {
		index *cache.Index[Foo, string]
		into  map[string][]string
	}{{p.spaces, e.Namespaces}, {p.letters, e.Letters}} {
		for value := range x.index.Values() {
			for _, key := range x.index.Keys(value) {
				x.into[value] = append(x.into[value], key.String())
			}
		}
	}
	p.write(e)
}

// read prints the revision and the objects of the snapshot, and leaves the file
// as it is.
func (p *program) read() error {
	f, err := os.Open(p.snapshot.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	store := cache.NewStore[Foo]()
	resume, err := store.Load(f, cache.SnapshotIdentity{Cluster: p.snapshot.Cluster, Resource: foos})
	if err != nil {
		return err
	}
	e := entry{Mark: "read", RV: resume.Revision, Objects: map[string]string{}}
	for key, o := range store.All() {
		e.Objects[key.String()] = o.UID + "@" + o.ResourceVersion
	}
	p.write(e)
	return nil
}

// holder stops whoever passes it, at a number that is set.
type holder struct {
	ctx  context.Context // its end lets those go who are held
	mark func(string)

	mu   sync.Mutex
	when string
	left int
}

func (h *holder) begin(ctx context.Context, mark func(string)) { h.ctx, h.mark = ctx, mark }

func (h *holder) set(when string, n int) {
	h.mu.Lock()
	h.when, h.left = when, n
	h.mu.Unlock()
	h.mark("will hold")
}

func (h *holder) pass(when string) {
	h.mu.Lock()
	held := false
	if h.when == when {
		h.left--
		held = h.left == 0
	}
	h.mu.Unlock()
	if held {
		h.mark("held")
		<-h.ctx.Done()
	}
}
