// Package gaps has the times of which the changes of a type are not known one by one.
package gaps

import "slices"

// Gap is such a time. Its counts are of what a later list showed.
type Gap struct {
	Type     string `json:"type"`
	From     int64  `json:"from"` // milliseconds since 1970
	To       int64  `json:"to"`   // 0 = it lasts
	Reason   string `json:"reason"`
	Idle     bool   `json:"idle,omitempty"` // the type was not watched
	Added    int64  `json:"added"`
	Modified int64  `json:"modified"`
	Deleted  int64  `json:"deleted"`
}

// Has reports whether a time is in the gap.
func (g *Gap) Has(ms int64) bool { return g.From <= ms && (g.To == 0 || ms < g.To) }

// Uncounted returns the gap without its counts, for who may not see all of its changes.
func (g Gap) Uncounted() Gap {
	g.Added, g.Modified, g.Deleted = 0, 0, 0
	return g
}

// most is how many gaps of a type are kept.
const most = 100

// List has the newest gaps of a type, in order. It is not changed in place.
type List []Gap

// Add adds a gap.
func (l *List) Add(g Gap) {
	list := append(slices.Clone(*l), g)
	*l = list[max(0, len(list)-most):]
}

// Since returns the gaps that end at a time or later.
func (l List) Since(ms int64) List {
	for len(l) > 0 && l[0].To > 0 && l[0].To < ms {
		l = l[1:]
	}
	return l
}
