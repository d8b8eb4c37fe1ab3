package ui

import (
	"cmp"
	"slices"

	"github.com/listwatch/listwatch/ui/internal/gaps"
	"github.com/listwatch/listwatch/ui/internal/sorted"
)

// view is the sorted list of the objects that a query selects. It is kept up to date by
// changes that are collected until somebody looks: then their rows are replaced, or taken
// out and put in where they belong. The mutex of its kind guards it.
type view struct {
	kind  *kind
	query query
	filter
	sees func(namespace string) bool // nil = all

	built   bool
	rows    []*item // sorted, with those that went ten seconds ago at most
	dirty   map[int64]touched
	changes int // since somebody looked
	gone    []*item
	matched int
	scan    *scan // of the jq expression; nil = there is none
}

// linger is how long a row stays whose object is gone, in milliseconds.
const linger = 10_000

// open returns a view of a type, which is watched from now on.
func (k *kind) open(q query, f filter, sees func(string) bool) *view {
	v := &view{kind: k, query: q, filter: f, sees: sees}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.views[v] = true
	k.start()
	return v
}

func (v *view) close() {
	v.kind.mu.Lock()
	defer v.kind.mu.Unlock()
	delete(v.kind.views, v)
	if v.scan != nil {
		v.scan.stop()
	}
	if len(v.kind.views) == 0 {
		v.kind.idleSince = now()
	}
}

// maxDirty is how many changed objects a view collects besides as many as it has rows.
const maxDirty = 10_000

// touched is an object that changed since somebody looked.
type touched struct {
	was *item // its state then; nil = none, as it is new
	now *item // nil = its row is only to be taken out
}

// touch notes that an object changed from was, nil for a new one, to i.
func (v *view) touch(was, i *item) {
	if i.gone > 0 && v.scan != nil {
		v.scan.forget(i.n)
	}
	if !v.built || v.query.At > 0 || v.sees != nil && !v.sees(i.key.Namespace) {
		return
	}
	v.changes++
	v.soil(was, i)
	if len(v.dirty) > maxDirty+len(v.rows) {
		v.built, v.rows, v.dirty = false, nil, nil // nobody has looked for long
	}
}

// soil notes that the row of an object is another one.
func (v *view) soil(was, now *item) {
	n := was
	if n == nil {
		n = now
	}
	if first, ok := v.dirty[n.n]; ok {
		was = first.was
	}
	v.dirty[n.n] = touched{was, now}
}

// selects reports whether i is to be shown.
func (v *view) selects(i *item) bool {
	return (v.sees == nil || v.sees(i.key.Namespace)) && v.filter.matches(i) && (v.scan == nil || v.scan.selects(i))
}

// refresh brings the rows up to date. It reads those that changed, and not all.
func (v *view) refresh() {
	if !v.built {
		v.build()
		return
	}
	since := v.kind.u.now() - linger
	for len(v.gone) > 0 && v.gone[0].gone <= since {
		i := v.gone[0]
		v.gone = v.gone[1:]
		v.soil(i, nil)
	}
	var out []int // numbers of the rows to take out
	var in []*item
	for _, d := range v.dirty {
		at, shown := v.find(d.was)
		if shown && v.rows[at].gone == 0 {
			v.matched--
		}
		wanted := false
		switch {
		case d.now == nil:
		case d.now.gone == 0:
			if wanted = v.selects(d.now); wanted {
				v.matched++
			}
		case shown && d.now.gone > since: // until it has lingered
			wanted = true
			v.gone = append(v.gone, d.now)
		}
		switch {
		case wanted && shown && sorted.Fits(v.rows, at, d.now, v.order):
			v.rows[at] = d.now
			continue
		case wanted:
			in = append(in, d.now)
		}
		if shown {
			out = append(out, at)
		}
	}
	clear(v.dirty)
	slices.SortFunc(v.gone, func(a, b *item) int { return cmp.Compare(a.gone, b.gone) })
	v.rows = sorted.Insert(sorted.Remove(v.rows, out), in, v.order)
}

// find returns where the row of an object is, in the state in which somebody saw it last.
func (v *view) find(was *item) (at int, shown bool) {
	if was == nil {
		return 0, false
	}
	return slices.BinarySearchFunc(v.rows, was, v.order)
}

// build makes all rows.
func (v *view) build() {
	v.rows, v.gone, v.dirty, v.changes = nil, nil, map[int64]touched{}, 0
	for _, i := range v.kind.store.All() {
		if v.selects(i) {
			v.rows = append(v.rows, i)
		}
	}
	slices.SortFunc(v.rows, v.order)
	v.matched = len(v.rows)
	v.built = true
}

// window returns the part of the rows that the query asks for.
func (v *view) window() []*item {
	from := min(v.query.From, len(v.rows))
	return v.rows[from:min(from+v.query.Rows, len(v.rows))]
}

// total is how many objects there are that the view may see.
func (v *view) total() int {
	if v.sees == nil {
		return v.kind.store.Len()
	}
	n := 0
	for ns, count := range v.kind.byNamespace {
		if v.sees(ns) {
			n += count
		}
	}
	return n
}

// wireRow is a row as PROTOCOL.md has it.
type wireRow struct {
	N       int64    `json:"n"`
	Key     string   `json:"key"`
	NS      string   `json:"ns,omitempty"`
	Name    string   `json:"name"`
	UID     string   `json:"uid"`
	Cells   []string `json:"cells"`
	Created int64    `json:"created,omitempty"`
	Changed int64    `json:"changed,omitempty"`
	Pos     int64    `json:"pos"`
	Hits    []int    `json:"hits,omitempty"`
	Op      string   `json:"op,omitempty"`
	Gone    int64    `json:"gone,omitempty"`
}

func (i *item) wire() wireRow {
	r := wireRow{N: i.n, Key: i.key.String(), NS: i.key.Namespace, Name: i.key.Name, UID: i.uid, Created: i.created, Changed: i.changed, Pos: i.pos, Op: i.op.String(), Gone: i.gone}
	for _, n := range []byte(i.hits) {
		r.Hits = append(r.Hits, int(n))
	}
	r.Cells = make([]string, 0, i.cells.Len())
	for _, c := range i.cells.All() {
		r.Cells = append(r.Cells, c)
	}
	return r
}

// wireWindow is a window as PROTOCOL.md has it.
type wireWindow struct {
	ID          string      `json:"id,omitempty"`
	Type        string      `json:"type"`
	Columns     []column    `json:"columns"`
	State       string      `json:"state"`
	Reason      string      `json:"reason,omitempty"`
	Loading     *progress   `json:"loading,omitempty"`
	Total       int         `json:"total"`
	Matched     int         `json:"matched"`
	From        int         `json:"from"`
	Filter      *wireFilter `json:"filter,omitempty"`
	Gaps        gaps.List   `json:"gaps"`
	Order       []int64     `json:"order"`
	Rows        []wireRow   `json:"rows"`
	Approximate bool        `json:"approximate,omitempty"`
	At          int64       `json:"at,omitempty"`
}

// full returns the window as a whole. Holds the kind's mutex.
func (v *view) full() wireWindow {
	v.refresh()
	v.changes = 0
	w := wireWindow{Type: v.kind.id, Columns: append([]column{}, v.kind.columns...), State: v.kind.state, Reason: v.kind.reason, Total: v.total(), Matched: v.matched, From: v.query.From, Gaps: v.gaps(), Order: []int64{}, Rows: []wireRow{}}
	if v.kind.state == stateLoading {
		l := v.kind.loading
		w.Loading = &l
	}
	if v.scan != nil {
		w.Filter = v.scan.wire()
	}
	for _, i := range v.window() {
		w.Order = append(w.Order, i.n)
		w.Rows = append(w.Rows, i.wire())
	}
	return w
}

// gaps are those that ended in the ten minutes before what is shown, and the one that a moment
// is in. How many changes they had is said to who may see all of them.
func (v *view) gaps() gaps.List {
	list, all, at := gaps.List{}, v.kind.gaps, v.kind.u.now()
	if v.query.At > 0 {
		all, at = v.kind.known(), v.query.At
	}
	for _, g := range all.Since(at - 600_000) {
		if g.From > at {
			break
		}
		if v.sees != nil {
			g = g.Uncounted()
		}
		list = append(list, g)
	}
	return list
}
