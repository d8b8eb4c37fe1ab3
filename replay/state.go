package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// State plays the events of a recording into a fake API server, which any client can then list and
// watch: in its current state, or from any revision that the server has had. All streams of the
// recording go into one server, so no object should be in two streams of a resource: an object that
// leaves the selection of either is deleted.
//
// A change has its recorded revision, so that revisions which a client kept are still valid. If the
// recorded revision is not a 63-bit number (etcd's revisions are), or is not higher than the
// server's, the change gets the server's next revision, and [State.Revision] maps the two. Changes
// of several streams that arrived within 5 s are made in the order of their revisions. If the
// revision of a change is not higher than that of an earlier change in its stream, or of a change
// that arrived in any stream more than 5 s earlier, as after a restore, the change is made in the
// order of arrival. An object is stored as recorded, except for the resourceVersion. If a client of
// the server made an object of the same name, that object is deleted first, at a revision of its
// own. A change of redacted values alone is played too, and so is a change with a revision that a
// restored etcd assigned again.
//
// Some deletions are shown only by a list, or by a new object of the same name. Such a deletion
// gets the highest free revision up to that of the list, or below that of the new object. A
// revision is free if no recorded change has it. If none is free, or changes of higher revisions
// arrived more than 5 s before, the deletion gets the server's next revision. Then the changes
// directly after it, up to the first gap in the recorded revisions, get higher revisions than
// recorded.
//
// If the recording or a client deleted an object's definition, a change of the object makes the
// server serve its resource again; where the definition was replaced by one of another kind or
// scope, the change is left out.
type State struct {
	srv    *apitest.Server
	steps  []step
	names  map[string]kube.Revision // by the recorded revision
	served map[string]*Target       // by resource and group
	played int                      // number of steps
}

// NewState prepares to play r into srv, and adds unknown resources of the recording to
// it. The server should keep as many events as the recording has, and twice the bytes of their
// objects: apitest.Options.History and HistoryBytes.
func NewState(ctx context.Context, r *Recording, srv *apitest.Server) (*State, error) {
	s := &State{srv: srv, names: map[string]kube.Revision{}, served: map[string]*Target{}}
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
			if fits, err := storable(f.resource, e); err != nil {
				return nil, err
			} else if !fits {
				continue
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

// storable reports whether the object of an event, if it has one, is of the kind and the scope of
// r: a definition may have been replaced.
func storable(r kube.Resource, e *Entry) (bool, error) {
	if len(e.Object) == 0 {
		return true, nil
	}
	var top map[string]json.RawMessage
	var kind, apiVersion string
	var meta struct {
		kube.Meta
		CreationTimestamp, DeletionTimestamp string // in any format
	}
	is := func(name string, into any) bool { return top[name] == nil || json.Unmarshal(top[name], into) == nil }
	valid := json.Unmarshal(e.Object, &top) == nil && is("kind", &kind) && is("apiVersion", &apiVersion) && is("metadata", &meta) && meta.Name != ""
	fits := (kind == "" || kind == r.Kind) && (apiVersion == "" || apiVersion == r.APIVersion()) && (meta.Namespace != "") == r.Namespaced
	defined := strings.Contains(r.Group, ".") && (apiVersion == "" || strings.HasPrefix(apiVersion, r.Group+"/"))
	if !valid || !fits && !defined {
		return false, fmt.Errorf("replay %s: an object of another kind, or with invalid metadata, at %v; a recording of Tables cannot be played into a server", r, e.At)
	}
	return fits, nil
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
		srv.AddResource(info(t))
		return nil
	}
	return fmt.Errorf("the server answers %d", resp.StatusCode)
}

func info(t *Target) apitest.ResourceInfo {
	return apitest.ResourceInfo{Resource: t.Resource, Columns: t.Columns, Defined: t.Columns != nil}
}

// Len returns the number of changes. A change in several streams counts once.
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
		if err := s.apply(st); err != nil {
			return err
		}
	}
	return nil
}

func (s *State) apply(st step) error {
	if st.number > 0 {
		s.srv.Advance(kube.Revision(strconv.FormatInt(st.number-1, 10)))
	}
	rev, err := s.srv.Mirror(info(s.served[st.resource.GroupResource()]), st.key, st.object)
	if err != nil {
		return fmt.Errorf("replay %s %s: %w", st.resource, st.key, err)
	}
	if rev != "" && st.rev != "" {
		s.names[string(st.rev)] = rev
	}
	return nil
}

// Revision maps the recorded revision of a change to the revision that the change has in the
// server, and reports whether the change was played. If several changes have it, as after a restore
// of etcd, the last one that was played counts.
func (s *State) Revision(recorded kube.Revision) (kube.Revision, bool) {
	rev, ok := s.names[string(recorded)]
	return rev, ok
}
