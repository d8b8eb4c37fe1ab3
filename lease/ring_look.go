package lease

import (
	"slices"
	"time"
)

// sighting is the last observed state of a member's Lease, and when it was first observed.
type sighting struct {
	mark  string // "" = it is deleted
	table string // that it names
	since time.Time
	lasts time.Duration
	dead  bool // it has not changed for lasts
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
// a live member that names another table than f has may still work on slots by it, and so may one
// whose Lease was deleted since, whichever table it named before.
func (m *ringMember) look(f found, asked time.Time) (dead map[string]bool, live []string) {
	now, dead, read := time.Now(), make(map[string]bool), f.table.object.uid
	note := func(name, mark, table string, lasts time.Duration) bool {
		s, known := m.seen[name]
		if !known || s.mark != mark {
			s = sighting{mark: mark, since: now, lasts: max(m.options.Duration, lasts)}
		}
		s.table, s.dead = table, asked.Sub(s.since) >= s.lasts
		m.seen[name] = s
		return !s.dead
	}
	live, m.split = []string{m.name}, false
	for name, o := range f.members {
		by := o.annotation(tableAnnotation)
		switch {
		case name == m.name:
		case note(name, o.mark, by, seconds(o.record.Seconds)):
			live = append(live, name)
			m.split = m.split || by != "" && by != read
		default:
			dead[name] = true
		}
	}
	for _, name := range f.table.owners {
		if _, exists := f.members[name]; name != "" && !exists && !note(name, "", read, m.seen[name].lasts) {
			dead[name] = true
		}
	}
	for name, s := range m.seen {
		_, exists := f.members[name]
		switch {
		case exists || slices.Contains(f.table.owners[:], name):
		case !s.dead && (read == "" || s.table != read) && note(name, "", s.table, s.lasts):
			m.split = true
		case read != "": // else keep all: a deleted table may have had owners whose Leases are gone too
			delete(m.seen, name)
		}
	}
	return dead, live
}
