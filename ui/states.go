package ui

import (
	"cmp"
	"iter"
	"math"
	"net/http"
	"slices"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/describe"
	"github.com/listwatch/listwatch/ui/internal/diff"
	"github.com/listwatch/listwatch/ui/internal/history"
)

// states yields the states that are kept of l, the newest first, with the one before each.
// That of its creation is the last one of the object that had its name before. Two are held
// at a time: one may have megabytes.
func (u *UI) states(l *life) iter.Seq2[history.Text, *history.Text] {
	return func(yield func(history.Text, *history.Text) bool) {
		var after *history.Text
		for _, t := range u.history.Walk(&l.past) {
			if t.Err != nil {
				break
			}
			if after != nil && !yield(*after, &t) {
				return
			}
			after = &t
		}
		if after == nil {
			return
		}
		var before *history.Text
		if l.kind.mu.Lock(); after.Op == history.Added && l.before != nil {
			before = u.last(l.before)
		}
		l.kind.mu.Unlock()
		yield(*after, before)
	}
}

// last is the newest state of l, nil if it is not kept.
func (u *UI) last(l *life) *history.Text {
	for _, t := range u.history.Walk(&l.past) {
		if t.Err == nil {
			return &t
		}
		break
	}
	return nil
}

// maxStates is how many states of an object a page shows at once.
const maxStates = 500

func (u *UI) getHistory(s *session, r *http.Request) (any, error) {
	sub, err := u.subject(r.Context(), s, r.URL.Query())
	if err != nil {
		return nil, err
	}
	states, oldest := []*describe.State{}, int64(math.MaxInt64)
	for t, before := range u.states(sub.life) {
		if len(states) == maxStates {
			break
		}
		states, oldest = append(states, new(describe.StateOf(t, before))), t.At
	}
	sub.kind.mu.Lock()
	for _, g := range sub.kind.known() {
		if at := cmp.Or(g.To, u.now()); at >= oldest {
			states = append(states, &describe.State{Op: history.Gap.String(), At: at, From: g.From, To: g.To, Reason: g.Reason, Idle: g.Idle, Headline: "Gap", Changes: []diff.Change{}})
		}
	}
	type life struct {
		UID  string `json:"uid"`
		From int64  `json:"from"`
		To   int64  `json:"to,omitempty"`
	}
	lives := []life{}
	for l := range sub.kind.lives[sub.life.key].all() {
		lives = append(lives, life{l.uid, l.created, l.gone})
	}
	sub.kind.mu.Unlock()
	slices.Reverse(lives)
	slices.SortStableFunc(states, func(a, b *describe.State) int { return int(b.At - a.At) })
	_, dropped := u.history.States(&sub.life.past)
	return map[string]any{"states": states, "uids": lives, "from": u.kept(), "dropped": dropped}, nil
}

func (u *UI) getDiff(s *session, r *http.Request) (any, error) {
	v := r.URL.Query()
	sub, err := u.subject(r.Context(), s, v)
	if err != nil {
		return nil, err
	}
	var a, b int64
	for name, p := range map[string]*int64{"a": &a, "b": &b} {
		if err := number(v, name, p); err != nil {
			return nil, err
		}
	}
	var found [2]*history.Text
	for _, t := range u.history.Walk(&sub.life.past) {
		if t.Err == nil && t.Pos == a {
			found[0] = &t
		}
		if t.Err == nil && t.Pos == b {
			found[1] = &t
		}
	}
	if found[0] == nil || found[1] == nil {
		return nil, errNotKept
	}
	changes, more, err := diff.Texts(found[0].JSON, found[1].JSON, 2000)
	if err != nil {
		return nil, errNotKept
	}
	if changes == nil {
		changes = []diff.Change{}
	}
	return map[string]any{"a": describe.StateOf(*found[0], nil), "b": describe.StateOf(*found[1], nil), "changes": changes, "truncated": more > 0}, nil
}

// object sends the states of an open object that came since.
func (st *stream) object(id string, o *opened) {
	k := st.u.kind(o.ref.Type)
	if k == nil || !st.sight.sees(&change{kind: k, life: &life{key: kube.Key{Namespace: o.ref.NS}}}) {
		return
	}
	k.mu.Lock()
	if k.idleSince = 0; !o.started {
		o.started = true
		k.start()
	}
	l := k.life(kube.Key{Namespace: o.ref.NS, Name: o.ref.Name}, o.ref.UID)
	k.mu.Unlock()
	if l == nil {
		return
	}
	newest, _, err := st.u.history.Newest(&l.past)
	if err != nil || newest.Pos <= o.seen {
		return
	}
	var texts []history.Text
	for _, t := range st.u.history.Walk(&l.past) {
		texts = append(texts, t)
		if t.Err != nil || t.Pos <= o.seen || len(texts) > maxAtOnce {
			break
		}
	}
	for i := len(texts) - 1; i >= 0; i-- {
		if texts[i].Err != nil || texts[i].Pos <= o.seen || i == maxAtOnce {
			continue
		}
		var before *history.Text
		if i+1 < len(texts) && texts[i+1].Err == nil {
			before = &texts[i+1]
		}
		st.event("object", -1, map[string]any{"id": id, "state": describe.StateOf(texts[i], before)})
	}
	o.seen = newest.Pos
}

// maxAtOnce is how many states of an open object are sent at once; the others are in its
// history.
const maxAtOnce = 5
