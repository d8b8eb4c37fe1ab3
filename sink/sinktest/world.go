package sinktest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

// World is a cluster that writes down what happens to the ConfigMaps in it. Its methods
// may be called from any goroutine.
type World struct {
	Server *apitest.Server

	mu    sync.Mutex
	log   []change
	era   int // restores so far
	state map[kube.Key]object
	past  []snapshot
	begin change // what the first list was complete as of
}

// change is a write that the server has taken.
type change struct {
	typ      sink.Type
	key      kube.Key
	uid      string
	revision kube.Revision
	era      int
	undone   bool // by a restore: it may be in the history, or not
}

type object struct {
	uid      string
	revision kube.Revision
}

// snapshot is the state after a write, to go back to.
type snapshot struct {
	revision kube.Revision
	state    map[kube.Key]object
}

// NewWorld returns a world on a running server, which others must not write ConfigMaps to.
func NewWorld(s *apitest.Server) *World { return &World{Server: s, state: map[kube.Key]object{}} }

// Resource is what happens in a World.
var Resource = kube.ConfigMaps

// Client returns a client for the server of the world.
func (w *World) Client() (*client.Client, error) {
	return client.New(client.Config{Server: w.Server.URL, Dial: w.Server.Dial, Warn: func(string) {}})
}

// Begin says as of which revision the first list was complete: what happened up to it is
// in no history. Only the first call counts.
func (w *World) Begin(rev kube.Revision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begin.revision == "" {
		w.begin = change{revision: rev, era: w.era}
	}
}

// Put creates or changes an object, with a label app.
func (w *World) Put(name, app, value string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := kube.Key{Namespace: "default", Name: name}
	rev := w.Server.Put(Resource, map[string]any{
		"metadata": map[string]any{"namespace": key.Namespace, "name": name, "labels": map[string]any{"app": app}},
		"data":     map[string]any{"value": value},
	})
	old, ok := w.state[key]
	if ok && old.revision == rev {
		return // nothing changed
	}
	var stored struct {
		kube.Meta `json:"metadata"`
	}
	if err := json.Unmarshal(w.Server.Get(Resource, key), &stored); err != nil {
		panic(fmt.Sprintf("the server stored what is no object: %v", err))
	}
	typ := sink.Modified
	if !ok {
		typ = sink.Added
	}
	w.note(change{typ, key, stored.UID, rev, w.era, false})
}

// Delete deletes an object, if it exists.
func (w *World) Delete(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := kube.Key{Namespace: "default", Name: name}
	old, ok := w.state[key]
	if rev := w.Server.Delete(Resource, key); ok {
		w.note(change{sink.Deleted, key, old.uid, rev, w.era, false})
	}
}

func (w *World) note(c change) {
	w.log = append(w.log, c)
	if c.typ == sink.Deleted {
		delete(w.state, c.key)
	} else {
		w.state[c.key] = object{c.uid, c.revision}
	}
	copied := make(map[kube.Key]object, len(w.state))
	for k, o := range w.state {
		copied[k] = o
	}
	if w.past = append(w.past, snapshot{c.revision, copied}); len(w.past) > 50 {
		w.past = w.past[1:]
	}
}

// Expire makes the server forget its history.
func (w *World) Expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Server.Expire()
	w.past = nil
}

// Restore takes the server back by n of the latest writes, as a restore of etcd from a
// backup does, but not to before the last Expire.
func (w *World) Restore(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.past) == 0 {
		return
	}
	to := w.past[max(0, len(w.past)-1-n)]
	w.Server.RestoreTo(to.revision)
	w.era++
	for i := range w.log {
		if w.log[i].revision.Newer(to.revision) {
			w.log[i].undone = true
		}
	}
	w.state = map[kube.Key]object{}
	for k, o := range to.state {
		w.state[k] = o
	}
	w.past = []snapshot{to}
}

// Check compares what a sink holds of all objects with what happened. The table must equal
// the cluster. The history must have each change once, but those that came before the first
// list, or in a named GAP; and no id twice, unless duplicates are permitted.
func (w *World) Check(ctx context.Context, r sink.Reader, cluster string, duplicates bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.checkTable(ctx, r, cluster); err != nil {
		return err
	}
	h := history{seen: map[string]bool{}, events: map[change]int{}, state: map[kube.Key]object{}}
	for rec, err := range r.Records(ctx, cluster, Resource) {
		if err != nil {
			return fmt.Errorf("read the history: %w", err)
		}
		if h.seen[rec.ID] {
			if duplicates {
				continue
			}
			return fmt.Errorf("id %s comes twice, the second time in %s", rec.ID, line(&rec))
		}
		h.seen[rec.ID] = true
		if err := h.take(&rec); err != nil {
			return err
		}
	}
	for key, o := range w.state {
		if h.state[key] != o {
			return fmt.Errorf("the history replayed has %s as %+v, the cluster as %+v", key, h.state[key], o)
		}
	}
	if len(h.state) != len(w.state) {
		return fmt.Errorf("the history replayed has %d objects, the cluster %d", len(h.state), len(w.state))
	}
	return w.checkLog(&h)
}

func (w *World) checkTable(ctx context.Context, r sink.Reader, cluster string) error {
	n := 0
	for row, err := range r.Rows(ctx, cluster, Resource) {
		if err != nil {
			return fmt.Errorf("read the table: %w", err)
		}
		n++
		key := kube.Key{Namespace: row.Namespace, Name: row.Name}
		if got, want := (object{row.UID, row.Revision}), w.state[key]; got != want {
			return fmt.Errorf("the table has %s as %+v, the cluster as %+v", key, got, want)
		}
		if row.Object != nil {
			var meta struct {
				kube.Meta `json:"metadata"`
			}
			if err := json.Unmarshal(row.Object, &meta); err != nil || meta.UID != row.UID || meta.ResourceVersion != string(row.Revision) {
				return fmt.Errorf("the object of the row %s is another: uid %q, revision %q, error %v", key, meta.UID, meta.ResourceVersion, err)
			}
		}
	}
	if n != len(w.state) {
		return fmt.Errorf("the table has %d objects, the cluster %d", n, len(w.state))
	}
	return nil
}

// history is what the records say.
type history struct {
	seen   map[string]bool
	events map[change]int // without the era
	state  map[kube.Key]object
	gaps   []sink.Record
	last   kube.Revision // of an event, in this epoch
	epoch  int64
}

func line(r *sink.Record) string {
	return fmt.Sprintf("%s %s uid %s revision %s epoch %d synthetic %v", r.Type, r.Key(), r.UID, r.Revision, r.Epoch, r.Synthetic)
}

// take replays a record, which must fit what came before it.
func (h *history) take(r *sink.Record) error {
	if r.Epoch < h.epoch {
		return fmt.Errorf("%s follows a record of epoch %d", line(r), h.epoch)
	}
	if r.Epoch > h.epoch {
		h.epoch, h.last = r.Epoch, ""
	}
	if r.Type == sink.Gap {
		h.gaps = append(h.gaps, *r)
		return nil
	}
	old, had := h.state[r.Key()]
	if had && old.uid == r.UID && !r.Synthetic && old.revision.Newer(r.Revision) {
		return fmt.Errorf("%s follows revision %s of the object", line(r), old.revision)
	}
	switch r.Type {
	case sink.Added, sink.Modified, sink.Quarantined:
		if had && old.uid != r.UID {
			return fmt.Errorf("%s comes before the deletion of uid %s", line(r), old.uid)
		}
		if had == (r.Type == sink.Added) && r.Type != sink.Quarantined {
			return fmt.Errorf("%s, but that the object was there before is %v", line(r), had)
		}
		h.state[r.Key()] = object{r.UID, r.Revision}
	case sink.Deleted, sink.Left:
		if !had || old.uid != r.UID {
			return fmt.Errorf("%s, but the object was not there", line(r))
		}
		delete(h.state, r.Key())
	}
	if !r.Synthetic {
		if h.last.Newer(r.Revision) {
			return fmt.Errorf("%s follows an event of revision %s", line(r), h.last)
		}
		h.last = r.Revision
		h.events[change{r.Type, r.Key(), r.UID, r.Revision, 0, false}]++
	}
	return nil
}

// checkLog requires each change of the log to be an event of the history, unless a GAP or
// the first list excuses it, and each event to be a change of the log.
func (w *World) checkLog(h *history) error {
	if len(h.gaps) == 0 && len(w.log) > 0 && len(h.seen) == 0 {
		return fmt.Errorf("the history is empty")
	}
	// A revision that was given out twice is an event of the change that was not undone.
	log := slices.Clone(w.log)
	slices.SortStableFunc(log, func(a, b change) int {
		if a.undone == b.undone {
			return 0
		} else if a.undone {
			return 1
		}
		return -1
	})
	for _, c := range log {
		id := c
		id.era, id.undone = 0, false
		if h.events[id] > 0 {
			h.events[id]--
			continue
		}
		if first := c.era <= w.begin.era && !c.revision.Newer(w.begin.revision); !first && !c.undone && !h.excuses(c) {
			return fmt.Errorf("the history lacks %s %s uid %s revision %s (after %d restores, undone %v), and no GAP covers it: %s",
				c.typ, c.key, c.uid, c.revision, c.era, c.undone, h.named())
		}
	}
	for c, n := range h.events {
		if n > 0 {
			return fmt.Errorf("the history has %s %s uid %s revision %s, which never happened", c.typ, c.key, c.uid, c.revision)
		}
	}
	return nil
}

// named returns the gaps as text.
func (h *history) named() string {
	var all []string
	for _, g := range h.gaps {
		all = append(all, fmt.Sprintf("from %s to %s in epoch %d: %s", g.From, g.To, g.Epoch, g.Reason))
	}
	return strings.Join(all, "; ")
}

// excuses reports whether a GAP says that the change may not be in the history.
func (h *history) excuses(c change) bool {
	for _, g := range h.gaps {
		after, before := g.From == "" || c.revision.Newer(g.From), !c.revision.Newer(g.To)
		if after && before {
			return true
		}
		if g.Reason == sink.CauseRestored && before && c.era > 0 {
			return true
		}
	}
	return false
}
