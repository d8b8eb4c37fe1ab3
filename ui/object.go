package ui

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/describe"
	"github.com/listwatch/listwatch/ui/internal/history"
	"github.com/listwatch/listwatch/ui/internal/managed"
	"github.com/listwatch/listwatch/ui/internal/refusal"
)

// subject is the object that a request is about.
type subject struct {
	kind *kind
	life *life
	name string // of the kind, such as Pod
}

// subject finds the object that parameters name.
func (u *UI) subject(ctx context.Context, s *session, v url.Values) (subject, error) {
	return u.find(ctx, s, objectRef{Type: v.Get("type"), NS: v.Get("ns"), Name: v.Get("name"), UID: v.Get("uid")})
}

func (u *UI) find(ctx context.Context, s *session, ref objectRef) (subject, error) {
	k := u.kind(ref.Type)
	if k == nil {
		return subject{}, refusal.NotFound("the server does not serve %s", ref.Type)
	}
	s.name(ref.NS)
	sees, err := s.sees(ctx, k, []string{ref.NS})
	if err != nil {
		return subject{}, err
	}
	if sees != nil && !sees(ref.NS) {
		return subject{}, errForbidden
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.life(kube.Key{Namespace: ref.NS, Name: ref.Name}, ref.UID)
	if l == nil {
		if !k.watched() || k.state == stateLoading {
			k.start() // the page asks again
			return subject{}, &refusal.Error{Code: http.StatusServiceUnavailable, Reason: "unavailable", Text: "the type is being listed: try again in a moment"}
		}
		return subject{}, refusal.NotFound("%s %s was not seen since this page's process watches them", k.res.Kind, kube.Key{Namespace: ref.NS, Name: ref.Name})
	}
	return subject{k, l, k.res.Kind}, nil
}

// wireObject is an object as PROTOCOL.md has it.
type wireObject struct {
	Type     string `json:"type"`
	Kind     string `json:"kind"`
	NS       string `json:"ns,omitempty"`
	Name     string `json:"name"`
	UID      string `json:"uid"`
	N        int64  `json:"n"`
	Created  int64  `json:"created,omitempty"`
	Pos      int64  `json:"pos"`
	At       int64  `json:"at"`
	Op       string `json:"op"`
	Exists   bool   `json:"exists"`
	Redacted bool   `json:"redacted"`
	By       string `json:"by,omitempty"`
	Revision string `json:"revision"`
	describe.Description
}

func (u *UI) getObject(s *session, r *http.Request) (any, error) {
	v := r.URL.Query()
	var pos, at int64
	sub, err := u.subject(r.Context(), s, v)
	if err = cmp.Or(err, number(v, "pos", &pos), number(v, "at", &at)); err != nil {
		return nil, err
	}
	states, _ := u.history.States(&sub.life.past)
	if len(states) == 0 {
		return nil, errNotKept
	}
	st := states[len(states)-1]
	if byPos := v.Get("pos") != ""; byPos || at > 0 {
		i := slices.IndexFunc(states, func(s history.State) bool { return s.Pos == pos })
		if !byPos {
			for i = len(states) - 1; i >= 0 && states[i].At > at; i-- {
			}
		}
		if i < 0 {
			return nil, sub.life.absent(states[0], at)
		}
		st = states[i]
	}
	text, err := u.history.JSON(&sub.life.past, st.Pos)
	if err != nil {
		return nil, errNotKept
	}
	return sub.describe(st, text)
}

// absent says why there is no state at a time, or at no time: at is 0.
func (l *life) absent(oldest history.State, at int64) error {
	switch {
	case at == 0:
	case at < l.created || oldest.Op == history.Added && !oldest.First:
		return refusal.NotFound("it was created later, after %v", time.Duration(max(0, cmp.Or(l.created, oldest.At)-at)*int64(time.Millisecond)).Round(time.Second))
	case oldest.First:
		return &refusal.Error{Code: http.StatusGone, Reason: "gone", Text: "it existed before, but its type was not watched yet"}
	}
	return errNotKept
}

// describe shows a state of an object.
func (sub subject) describe(st history.State, text string) (*wireObject, error) {
	l, k := sub.life, sub.kind
	k.mu.Lock()
	columns := k.columns
	k.mu.Unlock()
	d, err := describe.Of(k.id, l.key, text, st.Cells.Named(columns))
	return &wireObject{Type: k.id, Kind: sub.name, NS: l.key.Namespace, Name: l.key.Name, UID: l.uid, N: l.n, Created: l.created, Pos: st.Pos, At: st.At, Op: st.Op.String(),
		Exists: st.Op != history.Deleted, Redacted: k.secret(), By: st.By, Revision: st.Revision, Description: d}, err
}

// getManagers returns who wrote which field of an object that exists. The page does not keep
// managedFields, so the server is asked.
func (u *UI) getManagers(s *session, r *http.Request) (any, error) {
	sub, err := u.subject(r.Context(), s, r.URL.Query())
	if err != nil {
		return nil, err
	}
	if u.recorded {
		return nil, refusal.NotFound("a recording has no managed fields")
	}
	sub.kind.mu.Lock()
	res := sub.kind.res.Resource
	sub.kind.mu.Unlock()
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	o, err := client.Of[codec.RawFull](u.client, res).Get(ctx, sub.life.key)
	if err != nil {
		return nil, err
	}
	if o.GetUID() != sub.life.uid {
		return nil, refusal.NotFound("%s %s is another object now", sub.name, sub.life.key)
	}
	var m struct {
		Metadata struct {
			Managed []managed.Owned `json:"managedFields"`
		} `json:"metadata"`
	}
	if err := o.Decode(&m); err != nil {
		return nil, err
	}
	return map[string]any{"revision": o.GetResourceVersion(), "managers": managed.Owners(m.Metadata.Managed)}, nil
}
