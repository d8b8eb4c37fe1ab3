package ui

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/ui/internal/chunks"
	"github.com/listwatch/listwatch/ui/internal/diff"
	"github.com/listwatch/listwatch/ui/internal/gaps"
	"github.com/listwatch/listwatch/ui/internal/history"
	"github.com/listwatch/listwatch/ui/internal/rates"
	"github.com/listwatch/listwatch/ui/internal/refusal"
)

// wireChange is an entry of the log as PROTOCOL.md has it.
type wireChange struct {
	Pos      int64  `json:"pos"`
	At       int64  `json:"at"`
	Type     string `json:"type"`
	Op       string `json:"op"`
	NS       string `json:"ns,omitempty"`
	Name     string `json:"name,omitempty"`
	UID      string `json:"uid,omitempty"`
	N        int64  `json:"n,omitempty"`
	By       string `json:"by,omitempty"`
	What     string `json:"what,omitempty"`
	Inferred bool   `json:"inferred,omitempty"`
	*gaps.Gap
}

// wire tells of a change, if words are searched for with all that it names.
func (w *choice) wire(c *change) wireChange {
	what, rest, _ := strings.Cut(c.what, diff.Rest)
	if rest != "" && len(w.filter.words) > 0 {
		what += ": " + rest
	}
	out := wireChange{Pos: c.pos, At: c.at, Type: c.kind.id, Op: c.op.String(), By: c.by.Value(), What: what, Inferred: c.inferred, Gap: c.gap}
	if c.life != nil {
		out.NS, out.Name, out.UID, out.N = c.life.key.Namespace, c.life.key.Name, c.life.uid, c.life.n
	}
	return out
}

// choice says which changes are wanted.
type choice struct {
	types  []string // empty = all
	filter filter
}

func (a *activity) choice() choice {
	f := filter{namespaces: namespaces(a.NS)}
	f.search(a.Text)
	return choice{a.Types, f}
}

// leases is a type that each node and each leader writes every few seconds: only who names it
// wants its changes.
const leases = "leases.coordination.k8s.io"

// check limits the texts of a choice, which each change is compared to.
func (a *activity) check() error {
	if a == nil {
		return nil
	}
	if max(len(strings.Join(a.Types, " ")), len(a.NS), len(a.Text)) > maxQuery || len(strings.Fields(a.Text)) > maxWords {
		return refusal.Invalid("a text of a query has more than %d bytes or %d words", maxQuery, maxWords)
	}
	return nil
}

// selects says whether changes of a type are wanted.
func (w *choice) selects(id string) bool {
	if len(w.types) == 0 && id == leases {
		return slices.ContainsFunc(w.filter.words, func(word string) bool { return strings.Contains(word, "lease") })
	}
	return len(w.types) == 0 || slices.Contains(w.types, id)
}

// gap says whether the gaps of a type are wanted: those of a type without namespaces are not
// where namespaces are chosen. Holds k.mu.
func (w *choice) gap(k *kind) bool { return len(w.filter.namespaces) == 0 || k.res.Namespaced }

func (w *choice) wants(c *change) bool {
	if !w.selects(c.kind.id) {
		return false
	}
	texts, words := []string{c.kind.id, c.op.String(), c.what, c.by.Value(), ""}, w.filter.words
	if c.life == nil {
		words = nil // what was missed in a gap may be what is searched for
		c.kind.mu.Lock()
		defer c.kind.mu.Unlock()
		if !w.gap(c.kind) {
			return false
		}
	} else if texts[4] = c.life.key.String(); !w.filter.in(c.life.key.Namespace) {
		return false
	}
	text := strings.ToLower(strings.Join(texts, " ")) // words have no space
	return holds(text, words, w.filter.without)
}

// maxSample is how many changes a stream shows at once; the others are counted.
const maxSample = 20

// sample sends the newest of the entries that are wanted.
func (st *stream) sample(a *activity, changes chunks.List[change]) {
	want := a.choice()
	list, omitted := []wireChange{}, 0
	for e := range changes.Backward() {
		if !want.wants(e) || !st.sight.sees(e) {
			continue
		}
		if len(list) < maxSample || e.op == history.Gap {
			list = append(list, want.wire(e))
		} else {
			omitted++
		}
	}
	if len(list) == 0 {
		return
	}
	slices.Reverse(list)
	st.event("activity", -1, map[string]any{"changes": list, "omitted": omitted})
}

// maxBuckets is how many buckets a histogram has.
const maxBuckets = 1000

func (u *UI) getActivity(s *session, r *http.Request) (any, error) {
	v := r.URL.Query()
	to, from, n := u.now(), int64(0), int64(120)
	if err := cmp.Or(number(v, "from", &from), number(v, "to", &to), number(v, "buckets", &n)); err != nil {
		return nil, err
	}
	if from == 0 {
		from = to - time.Hour.Milliseconds()
	}
	if n < 1 || n > maxBuckets || from >= to {
		return nil, refusal.Invalid("a histogram has 1 to %d buckets between from and to", maxBuckets)
	}
	a := activity{NS: v.Get("ns"), Text: v.Get("text"), Types: namespaces(v.Get("types"))}
	if err := a.check(); err != nil {
		return nil, err
	}
	want := a.choice()
	out := map[string]any{"from": from, "to": to, "kept": map[string]int64{"from": u.kept(), "to": u.now()}}
	buckets := make([]rates.Counts, n)
	sight, err := s.sight(r.Context(), u)
	if err != nil {
		return nil, err
	}
	sampled := a.NS != "" || a.Text != "" || !sight.all
	for _, k := range u.types() {
		if !want.selects(k.id) || !sight.some(k) {
			continue
		}
		k.mu.Lock()
		if !sampled {
			k.rates.Into(buckets, from, to)
		}
		k.mu.Unlock()
	}
	if sampled {
		changes := u.log.all()
		for e := range changes.All() {
			if e.at >= from && e.at < to && e.op != history.Gap && want.wants(e) && sight.sees(e) {
				buckets[(e.at-from)*n/(to-from)].Add(e.op)
			}
		}
		if len(changes) > 0 {
			out["sampledFrom"] = changes.First().at
		}
	}
	out["buckets"], out["gaps"] = buckets, u.gaps(&want, sight, from, to)
	return out, nil
}

// gaps returns the gaps of what is wanted that somebody may see, between two times.
func (u *UI) gaps(want *choice, sight *sight, from, to int64) gaps.List {
	list := gaps.List{}
	for _, k := range u.types() {
		if !want.selects(k.id) || !sight.some(k) {
			continue
		}
		k.mu.Lock()
		for _, g := range k.known().Since(from) {
			if g.From >= to || !want.gap(k) {
				break
			}
			if !sight.whole(k) {
				g = g.Uncounted()
			}
			list = append(list, g)
		}
		k.mu.Unlock()
	}
	return list
}

// maxChanges is how many changes an answer has.
const maxChanges = 500

func (u *UI) getChanges(s *session, r *http.Request) (any, error) {
	v := r.URL.Query()
	at, before, limit := u.now(), int64(0), int64(100)
	if err := cmp.Or(number(v, "at", &at), number(v, "before", &before), number(v, "limit", &limit)); err != nil {
		return nil, err
	}
	if limit < 1 || limit > maxChanges {
		return nil, refusal.Invalid("limit is 1 to %d", maxChanges)
	}
	a := activity{NS: v.Get("ns"), Text: v.Get("text"), Types: namespaces(v.Get("types"))}
	if err := a.check(); err != nil {
		return nil, err
	}
	want := a.choice()
	sight, err := s.sight(r.Context(), u)
	if err != nil {
		return nil, err
	}
	list, more := []wireChange{}, false
	for e := range u.log.all().Backward() {
		if e.at > at || before > 0 && e.pos >= before || !want.wants(e) || !sight.sees(e) {
			continue
		}
		if int64(len(list)) == limit {
			more = true
			break
		}
		list = append(list, want.wire(e))
	}
	open := slices.DeleteFunc(u.gaps(&want, sight, at, at+1), func(g gaps.Gap) bool { return !g.Has(at) })
	return map[string]any{"changes": list, "more": more, "gaps": open}, nil
}
