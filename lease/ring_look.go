package lease

import (
	"maps"
	"slices"
	"time"
)

// sighting is the last observed state of a member's Lease, and when it was first observed.
type sighting struct {
	mark  string
	since time.Time
	lasts time.Duration
}

// history is what a Ring knows of its Leases, also of the time before it joined again.
type history struct {
	seen    map[string]sighting
	latest  ringTable // uid "" = there was none
	doubted time.Time // until then, slots may have other owners than in the table
}

// compare notices a server that was restored to an earlier state, by the revision of the
// table, and a table that was edited by hand, by its transitions, which each write of a member
// raises, or because it lacks slots of this member. The owners of slots in the lost history, or
// before the edit, may not have noticed.
func (m *ringMember) compare(t ringTable) {
	was, why := m.latest, ""
	m.latest = t
	switch {
	case was.object.revision.Newer(t.object.revision):
		why = "the server was restored to an earlier state"
	case t.object.uid != was.object.uid:
		return
	case t.object.record.Transitions == was.object.record.Transitions && t.owners != was.owners, !m.share.of(m.name, t.owners):
		why = "the table of the ring was edited"
	default:
		return
	}
	lasts := m.options.Duration
	for _, s := range m.seen {
		lasts = max(lasts, s.lasts)
	}
	if until := time.Now().Add(lasts); until.After(m.doubted) {
		m.doubted = until
	}
	m.log.Warn(why+": waiting before slots are claimed", "ring", m.key.String(), "until", m.doubted)
}

// look records which Leases have changed. dead are the owners and members that have stopped
// by now, live are the other members. A table may have been created and deleted between two turns:
// a live member that names another table than f has may still work on slots by it.
func (m *ringMember) look(f found, asked time.Time) (dead map[string]bool, live []string) {
	now, dead := time.Now(), make(map[string]bool)
	note := func(name, mark string, lasts time.Duration) bool {
		s, known := m.seen[name]
		if !known || s.mark != mark {
			s = sighting{mark, now, lasts}
			m.seen[name] = s
		}
		return asked.Sub(s.since) < max(m.options.Duration, s.lasts)
	}
	live, m.split = []string{m.name}, false
	for name, o := range f.members {
		switch {
		case name == m.name:
		case note(name, o.mark, seconds(o.record.Seconds)):
			live = append(live, name)
			by := o.annotation(tableAnnotation)
			m.split = m.split || by != "" && by != f.table.object.uid
		default:
			dead[name] = true
		}
	}
	for _, name := range f.table.owners {
		if _, exists := f.members[name]; name != "" && !exists && !note(name, "", m.seen[name].lasts) {
			dead[name] = true
		}
	}
	if f.table.object.uid == "" { // keep all: a deleted table may have had owners whose Leases are gone too
		return dead, live
	}
	maps.DeleteFunc(m.seen, func(name string, _ sighting) bool {
		_, exists := f.members[name]
		return !exists && !slices.Contains(f.table.owners[:], name)
	})
	return dead, live
}
