package ui

import (
	"cmp"
	"slices"
)

// view is the sorted list of the objects that a query selects. It is kept up to date by
// changes that are collected until somebody looks: then their rows are taken out and put
// in where they belong, in one pass. The mutex of its kind guards it.
type view struct {
	kind  *kind
	query query
	filter
	sees func(namespace string) bool // nil = all

	built   bool
	rows    []*item // sorted, with those that went ten seconds ago at most
	dirty   map[int64]*item
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

// touch notes that an object changed.
func (v *view) touch(i *item) {
	if i.gone > 0 && v.scan != nil {
		v.scan.forget(i.n)
	}
	if !v.built || v.query.At > 0 || v.sees != nil && !v.sees(i.key.Namespace) {
		return
	}
	v.changes++
	v.dirty[i.n] = i
	if len(v.dirty) > maxDirty+len(v.rows) {
		v.built, v.rows, v.dirty = false, nil, nil // nobody has looked for long
	}
}

// selects reports whether i is to be shown.
func (v *view) selects(i *item) bool {
	return (v.sees == nil || v.sees(i.key.Namespace)) && v.filter.matches(i) && (v.scan == nil || v.scan.selects(i))
}

// refresh brings the rows up to date.
func (v *view) refresh() {
	if !v.built {
		v.build()
		return
	}
	for len(v.gone) > 0 && v.gone[0].gone+linger <= v.kind.u.now() {
		i := v.gone[0]
		v.gone = v.gone[1:]
		if _, ok := v.dirty[i.n]; !ok {
			v.dirty[i.n] = nil
		}
	}
	if len(v.dirty) == 0 {
		return
	}
	kept := v.rows[:0:0]
	kept = slices.Grow(kept, len(v.rows)+len(v.dirty))
	var fresh []*item
	for _, r := range v.rows {
		next, ok := v.dirty[r.n]
		switch {
		case !ok:
			kept = append(kept, r)
			continue
		case r.gone == 0:
			v.matched--
		}
		if next != nil && next.gone > 0 { // it was shown: so it is until it has lingered
			fresh = append(fresh, next)
			v.gone = append(v.gone, next)
			delete(v.dirty, r.n)
		}
	}
	for _, i := range v.dirty {
		if i != nil && i.gone == 0 && v.selects(i) {
			fresh = append(fresh, i)
			v.matched++
		}
	}
	clear(v.dirty)
	v.merge(kept, fresh)
}

// merge makes the rows of two lists, of which the first is sorted.
func (v *view) merge(kept, fresh []*item) {
	slices.SortFunc(fresh, v.order)
	rows := make([]*item, 0, len(kept)+len(fresh))
	for _, f := range fresh {
		n, _ := slices.BinarySearchFunc(kept, f, v.order)
		rows = append(rows, kept[:n]...)
		rows = append(rows, f)
		kept = kept[n:]
	}
	v.rows = append(rows, kept...)
}

// build makes all rows.
func (v *view) build() {
	v.rows, v.gone, v.dirty, v.changes = nil, nil, map[int64]*item{}, 0
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
	r := wireRow{N: i.n, Key: i.key.String(), NS: i.key.Namespace, Name: i.key.Name, UID: i.uid, Created: i.created, Changed: i.changed, Pos: i.pos, Hits: i.hits, Op: i.op, Gone: i.gone}
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
	Gaps        []gap       `json:"gaps"`
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

// gaps are the recent ones. How many changes they had is said to who may see all of them.
func (v *view) gaps() []gap {
	list := v.kind.recent(v.kind.u.now())
	for i := range list {
		if v.sees != nil {
			list[i].Added, list[i].Modified, list[i].Deleted = 0, 0, 0
		}
	}
	return list
}

// recent returns the gaps that ended in the last ten minutes.
func (k *kind) recent(at int64) []gap {
	n, _ := slices.BinarySearchFunc(k.gaps, at-600_000, func(g gap, at int64) int { return cmp.Compare(g.To, at) })
	return append([]gap{}, k.gaps[n:]...)
}
