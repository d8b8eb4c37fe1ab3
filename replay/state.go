package replay

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// State plays the events of a recording into a fake API server, which any client can
// then list and watch: in its current state, or from any revision that the server has
// had. All streams of the recording go into the same server, so that of streams of one resource
// no object should be in two: one that leaves the selection of either is deleted.
//
// A change has its recorded revision, so that revisions which a client kept are still
// valid: changes of several streams that arrived within 5 s are made in the order of their
// revisions. If that is not a 63-bit number, as those of etcd are, or not higher than the
// server's, it gets the server's next one, and [State.Revision] maps the two. An object
// is stored as recorded, except for the resourceVersion. A change of what is redacted is
// a change, too, and so is one with a revision that a restored etcd assigned again.
//
// A deletion that was not seen, but which a listing shows, gets the highest revision up to that
// of the listing, or below that of the object's next life, that no recorded change has. If
// none is free, or later changes were made more than 5 s before, it gets the server's next
// one, and changes behind it that have no gap before them move up.
type State struct {
	srv    *apitest.Server
	steps  []step
	names  map[string]kube.Revision // by the recorded revision
	served map[string]*Target       // by resource and group
	gone   map[string]bool          // those whose definition was deleted
	played int                      // number of steps
}

// step is one change of an object.
type step struct {
	at       time.Duration
	stream   int
	rev      kube.Revision
	unseen   bool // a deletion that a listing shows: rev is the last that it may have
	resource kube.Resource
	key      kube.Key
	uid      string
	object   []byte // nil = deleted
	number   int64  // the revision to have; 0 = the next one
	rank     int64  // in the order of the changes
}

// NewState prepares to play r into srv, and adds unknown resources of the recording to
// it. The server should keep as many events as the recording has:
// apitest.Options.History.
func NewState(ctx context.Context, r *Recording, srv *apitest.Server) (*State, error) {
	s := &State{srv: srv, names: map[string]kube.Revision{}, served: map[string]*Target{}, gone: map[string]bool{}}
	folds := map[int]*fold{}
	for _, e := range r.Entries {
		switch f := folds[e.ID]; {
		case e.Kind == KindStream:
			res := e.Target.Resource
			folds[e.ID] = &fold{resource: res, known: map[kube.Key]lastState{}}
			switch old, known := s.served[res.GroupResource()]; {
			case res.Kind == "":
				return nil, fmt.Errorf("replay %s: the recording has no kind for it", res)
			case known && old.Resource != res:
				return nil, fmt.Errorf("replay %s: the recording has %s too, but the server serves one version only", res, old.Resource)
			case known:
				continue
			}
			if err := serve(ctx, srv, e.Target); err != nil {
				return nil, fmt.Errorf("replay %s: %w", res, err)
			}
			s.served[res.GroupResource()] = e.Target
		case e.Kind == KindEvent && f != nil:
			if len(e.Object) > 0 && !storable(f.resource, e.Object) {
				return nil, fmt.Errorf("replay %s: an object of another kind, or with invalid metadata, at %v; a recording of Tables cannot be played into a server", f.resource, e.At)
			}
			for _, st := range f.take(e) {
				st.stream = e.ID
				s.steps = append(s.steps, st)
			}
		}
	}
	s.steps = once(inOrder(s.steps))
	return s, nil
}

// inOrder sorts the changes that arrived within lag by their revisions. Those of one object in a
// stream stay in their order, whatever their revisions are, and so do all that were seen.
func inOrder(steps []step) []step {
	const lag = 5 * time.Second
	type object struct {
		stream int
		key    kube.Key
	}
	var (
		old     int                  // the steps before it arrived more than lag ago
		lowest  int64                // the highest rank of those
		last    = map[int]int64{}    // the highest rank of each stream
		changed = map[object]int64{} // the rank of the last change of each object
		taken   = revisions{}
	)
	for i := range steps {
		if steps[i].number = number(steps[i].rev); !steps[i].unseen {
			taken.add(steps[i].number)
		}
	}
	for i := range steps {
		st := &steps[i]
		for ; steps[old].at < st.at-lag; old++ {
			lowest = max(lowest, steps[old].rank)
		}
		where := object{st.stream, st.key}
		st.rank = max(st.number, lowest, last[st.stream])
		if st.unseen {
			if st.number = taken.free(st.number); st.number > max(lowest, changed[where]) {
				taken.add(st.number)
				st.rank = st.number
			} else {
				st.number = 0
			}
		}
		last[st.stream], changed[where] = max(last[st.stream], st.rank), st.rank
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.rank, b.rank) })
	return steps
}

// revisions are those of changes, each with a lower number from which one may be free.
type revisions map[int64]int64

func (r revisions) add(n int64) { r[n] = n - 1 }

// free returns the highest number up to n that is free; not above 0 = none is.
func (r revisions) free(n int64) int64 {
	free := n
	for lower, taken := r[free]; taken; lower, taken = r[free] {
		free = lower
	}
	for n != free { // the next search is shorter
		r[n], n = free, r[n]
	}
	return free
}

// once leaves out the changes that another stream of the resource has made.
func once(steps []step) (all []step) {
	made := map[string]*fold{}
	for _, st := range steps {
		name := st.resource.GroupResource()
		if made[name] == nil {
			made[name] = &fold{known: map[kube.Key]lastState{}}
		}
		all = append(all, made[name].change(st)...)
	}
	return all
}

// number returns a revision as a number; 0 = it is none.
func number(rev kube.Revision) int64 {
	n, err := strconv.ParseInt(string(rev), 10, 64) // etcd's are signed
	if err != nil {
		return 0
	}
	return max(0, n)
}

// storable reports whether the server accepts an object.
func storable(r kube.Resource, object []byte) bool {
	var top map[string]json.RawMessage
	var kind, apiVersion string
	var meta struct {
		kube.Meta
		CreationTimestamp, DeletionTimestamp string // in any format
	}
	is := func(name string, into any) bool { return top[name] == nil || json.Unmarshal(top[name], into) == nil }
	return json.Unmarshal(object, &top) == nil && is("kind", &kind) && is("apiVersion", &apiVersion) && is("metadata", &meta) &&
		(kind == "" || kind == r.Kind) && (apiVersion == "" || apiVersion == r.APIVersion()) && meta.Name != ""
}

// serve adds the resource of t to srv, if srv does not serve it yet.
func serve(ctx context.Context, srv *apitest.Server, t *Target) error {
	r := t.Resource
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+r.Path("")+"?limit=1", nil)
	if err != nil {
		return err
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // so that the connection is reused
	switch resp.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusNotFound:
		srv.RemoveResource(r) // another version of it
		add(srv, t)
		return nil
	}
	return fmt.Errorf("the server answers %d", resp.StatusCode)
}

func add(srv *apitest.Server, t *Target) {
	srv.AddResource(apitest.ResourceInfo{Resource: t.Resource, Columns: t.Columns, Defined: t.Columns != nil})
}

// fold converts events to changes: a listing contains all existing objects, and thereby
// shows which ones were deleted.
type fold struct {
	resource kube.Resource
	known    map[kube.Key]lastState
	listing  []step // between RESTART and SYNCED; nil otherwise
	restart  bool
}

type lastState struct {
	uid, rev string
	object   []byte
}

func (f *fold) take(e *Entry) []step {
	switch watch.Type(e.Type) {
	case watch.Restart:
		f.restart, f.listing = true, nil
	case watch.Added, watch.Modified, watch.Deleted:
		st := step{at: e.At, rev: kube.Revision(e.Revision), resource: f.resource, object: e.Object,
			key: kube.Key{Namespace: e.Namespace, Name: e.Name}, uid: e.UID}
		if len(e.Object) > 0 {
			id, _ := codec.Skim(e.Object) // it was checked when it was read
			st.key, st.uid = kube.Key{Namespace: id.Namespace, Name: id.Name}, id.UID
		}
		if st.key.Name == "" {
			return nil
		}
		if watch.Type(e.Type) == watch.Deleted {
			st.object = nil
		} else if len(e.Object) == 0 {
			return nil // it could not be decoded
		}
		if f.restart {
			f.listing = append(f.listing, st)
			return nil
		}
		return f.change(st)
	case watch.Synced:
		return f.synced(e)
	}
	return nil
}

// change stores the new state, and first deletes an object with the same name and
// another UID.
func (f *fold) change(st step) []step {
	old, known := f.known[st.key]
	switch {
	case st.object == nil && !known:
		return nil
	case st.object == nil:
		delete(f.known, st.key)
		return []step{st}
	case known && old.rev == string(st.rev) && old.uid == st.uid && bytes.Equal(old.object, st.object):
		return nil // a restored server gives a revision twice
	}
	f.known[st.key] = lastState{st.uid, string(st.rev), st.object}
	if known && old.uid != st.uid {
		gone := st
		gone.object, gone.uid, gone.unseen, gone.number = nil, old.uid, true, 0
		return []step{gone, st}
	}
	return []step{st}
}

// synced ends a listing: its objects follow in the order of their revisions, and then the
// deletion of those that it did not contain.
func (f *fold) synced(e *Entry) []step {
	listing := f.listing
	f.restart, f.listing = false, nil
	slices.SortStableFunc(listing, func(a, b step) int {
		c, _ := a.rev.Compare(b.rev) // 0 = unordered
		return c
	})
	seen := map[kube.Key]bool{}
	var steps, gone []step
	for _, st := range listing {
		seen[st.key] = true
		st.at = e.At // a listing counts when it is complete
		steps = append(steps, f.change(st)...)
	}
	for key, old := range f.known {
		if !seen[key] {
			gone = append(gone, step{at: e.At, rev: kube.Revision(e.Revision), unseen: true, resource: f.resource, key: key, uid: old.uid})
			delete(f.known, key)
		}
	}
	slices.SortFunc(gone, func(a, b step) int { return a.key.Compare(b.key) })
	return append(steps, gone...)
}

// ObjectsAt returns the objects that existed in the streams of a recording at a time
// since Header.TimeBase, as JSON sorted by resource, namespace and name. A listing
// counts when it is complete.
func (r *Recording) ObjectsAt(at time.Duration) [][]byte {
	type id struct {
		resource string
		key      kube.Key
	}
	objects, folds := map[id][]byte{}, map[int]*fold{}
	for _, e := range r.Entries {
		if e.At > at {
			continue
		}
		switch f := folds[e.ID]; {
		case e.Kind == KindStream:
			folds[e.ID] = &fold{resource: e.Target.Resource, known: map[kube.Key]lastState{}}
		case e.Kind == KindEvent && f != nil:
			for _, st := range f.take(e) {
				where := id{st.resource.String(), st.key}
				if objects[where] = st.object; st.object == nil {
					delete(objects, where)
				}
			}
		}
	}
	ids := slices.SortedFunc(maps.Keys(objects), func(a, b id) int {
		return cmp.Or(cmp.Compare(a.resource, b.resource), a.key.Compare(b.key))
	})
	var out [][]byte
	for _, where := range ids {
		out = append(out, objects[where])
	}
	return out
}

// Len returns the number of changes: one that several streams have counts once.
func (s *State) Len() int { return len(s.steps) }

// Play makes the changes at the pace of p, and returns after the last one, or when ctx
// ends, with its cause. A second call continues where the first one stopped.
func (s *State) Play(ctx context.Context, p Pace) error {
	if s.played == len(s.steps) {
		return nil
	}
	clock := p.from(s.steps[s.played].at)
	for ; s.played < len(s.steps); s.played++ {
		st := s.steps[s.played]
		if err := clock.wait(ctx, st.at); err != nil {
			return err
		}
		s.apply(st)
	}
	return nil
}

func (s *State) apply(st step) {
	if name := st.resource.GroupResource(); s.gone[name] {
		if st.object == nil {
			return // it was deleted with its definition
		}
		add(s.srv, s.served[name]) // before its new definition, which another stream has
		delete(s.gone, name)
	}
	if st.resource == kube.CustomResourceDefinitions && s.served[st.key.Name] != nil {
		s.gone[st.key.Name] = st.object == nil
	}
	var rev kube.Revision
	if st.number > 0 {
		s.srv.Advance(kube.Revision(strconv.FormatInt(st.number-1, 10)))
	}
	if st.object == nil {
		rev = s.srv.Delete(st.resource, st.key)
	} else {
		rev = s.srv.PutExactly(st.resource, st.object)
	}
	if rev != "" && st.rev != "" {
		s.names[string(st.rev)] = rev
	}
}

// Revision returns the server's revision of a change that was recorded with the
// revision recorded, and whether that change was played. Of several, as a restored etcd
// makes them, it is the last one that was played.
func (s *State) Revision(recorded kube.Revision) (kube.Revision, bool) {
	rev, ok := s.names[string(recorded)]
	return rev, ok
}
