package schema

import (
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Update sets next's metadata.managedFields after a create, update or patch: w.Manager
// owns the fields that next changes. live is the stored object, nil for a create; it is
// not changed. next is the object to store, defaults included, except managedFields:
// there it has those of the client, which are used for an update of the object itself,
// and ignored if they are invalid, as by kube-apiserver. Update never fails: instead,
// managedFields stays as in live.
func (t *Type) Update(live, next map[string]any, w Write) {
	before := Managed{Live: encodeManaged(live), Sent: encodeManaged(next)}
	setManaged(next, nil)
	b, _ := t.UpdateManaged(withoutManaged(live), next, before, w)
	if v, err := Decode(b); err == nil && len(b) > 0 {
		setManaged(next, v)
	}
}

// encodeManaged returns the JSON of o's managedFields, if it has any.
func encodeManaged(o map[string]any) []byte {
	v := managedOf(o)
	if v == nil {
		return nil
	}
	b, err := Encode(v)
	if err != nil {
		return nil
	}
	return b
}

// Managed is the JSON of metadata.managedFields before an update: of what is
// stored, and as the client sent it, which may be none.
type Managed struct {
	Live, Sent []byte

	// Known says that live, and with it Live, came of UpdateManaged with the same
	// type, which said so. Then it takes less time to look into it.
	Known bool
}

// UpdateManaged is Update with managedFields separate: live and next have none, and it
// returns those of next, in kube-apiserver's order. known is for the next update.
func (t *Type) UpdateManaged(live, next map[string]any, before Managed, w Write) (managed []byte, known bool) {
	m, sent := before.read(w.Subresource != "")
	if len(m.fields) == 0 && live != nil {
		return nil, false
	}
	if err := t.update(live, next, m, w, knows(before.Known, !sent)); err != nil {
		return before.Live, false
	}
	b, err := m.json(t.builtIn)
	if err != nil {
		return before.Live, false
	}
	return b, true
}

// known is what need not be looked at again.
type known struct {
	live bool // it is of the type
	sets bool // they fit the type, as it is now
}

func knows(live, sets bool) known { return known{live, live && sets} }

// update notes in m who owns what next has and live, nil for nothing, has not.
func (t *Type) update(live, next map[string]any, m *managed, w Write, is known) error {
	changed, ok := (*typed.Comparison)(nil), false
	if is.live || live == nil {
		changed, ok = t.compare(live, next)
	}
	if !ok {
		var err error
		if changed, err = t.compareTyped(live, next); err != nil {
			return err
		}
	}
	if !is.sets {
		if err := t.reconcile(m); err != nil {
			return err
		}
	}
	t.own(changed, m, w)
	return nil
}

// compareTyped is compare by the library.
func (t *Type) compareTyped(live, next map[string]any) (*typed.Comparison, error) {
	was, err := t.typed(live, typed.AllowDuplicates)
	if err != nil {
		return nil, err
	}
	is, err := t.typed(next, typed.AllowDuplicates)
	if err != nil {
		return nil, err
	}
	return was.Compare(is)
}

// reconcile fits the sets in m to t, which may have become another since they were
// made.
func (t *Type) reconcile(m *managed) error {
	if len(m.fields) == 0 {
		return nil
	}
	nothing, err := t.typed(nil, typed.AllowDuplicates)
	if err != nil {
		return err
	}
	for id, set := range m.fields {
		if t.otherGroup(set.APIVersion()) {
			continue
		}
		fitting, err := typed.ReconcileFieldSetWithSchema(set.Set(), nothing)
		if err != nil {
			return err
		}
		if fitting != nil {
			m.fields[id] = fieldpath.NewVersionedSet(fitting, set.APIVersion(), set.Applied())
		}
	}
	return nil
}

// own notes in m that w has changed these fields: who else owned one does so no
// more. It is what merge.Updater.Update does.
func (t *Type) own(changed *typed.Comparison, m *managed, w Write) {
	version := fieldpath.APIVersion(t.id.apiVersion())
	mine := changed
	if reset := t.resets(w); reset != nil {
		mine = &typed.Comparison{Added: changed.Added.RecursiveDifference(reset),
			Modified: changed.Modified.RecursiveDifference(reset), Removed: changed.Removed.RecursiveDifference(reset)}
	}
	set := union(mine.Modified, mine.Added).Difference(unowned())
	self := w.id(t, opUpdate)
	before, ok := m.fields[self].(*writtenSet)
	kept := ok && !set.Empty() && before.hasAll(set) && before.hasNone(mine.Removed)
	for id, fields := range m.fields {
		was := changed
		if fields.APIVersion() == version {
			was = mine
		}
		written, ok := fields.(*writtenSet)
		switch {
		case t.otherGroup(fields.APIVersion()):
			delete(m.fields, id)
			continue
		case id == self && kept, ok && written.hasNone(was.Modified) && written.hasNone(was.Added) && written.hasNone(was.Removed):
			continue
		}
		left := minus(minus(minus(fields.Set(), was.Modified), was.Added), was.Removed)
		if left.Empty() {
			delete(m.fields, id)
		} else if left != fields.Set() {
			m.fields[id] = fieldpath.NewVersionedSet(left, fields.APIVersion(), fields.Applied())
		}
	}
	if !set.Empty() {
		if before, ok := m.fields[self]; ok && !kept {
			set = union(set, before.Set())
		}
		if !kept {
			m.fields[self] = fieldpath.NewVersionedSet(set, version, false)
		}
		if w.Subresource != "scale" { // of which kube-apiserver forgets the time
			m.times[self] = w.now()
		}
	}
	m.cap()
}

// minus returns what is in set and not in other; set, if that is all.
func minus(set, other *fieldpath.Set) *fieldpath.Set {
	if other.Empty() || set.Intersection(other).Empty() {
		return set
	}
	return set.Difference(other)
}

// union returns what is in either set.
func union(a, b *fieldpath.Set) *fieldpath.Set {
	switch {
	case a.Empty():
		return b
	case b.Empty():
		return a
	}
	return a.Union(b)
}

// otherGroup reports whether a version is of another group than t. Nobody owns
// fields of it.
func (t *Type) otherGroup(version fieldpath.APIVersion) bool {
	group, _, found := strings.Cut(string(version), "/")
	return found && group != t.id.group || !found && t.id.group != ""
}

// read returns what managedFields a write begins with: those that the client sent,
// and whether it is they, or those of the live object if it sent none or nonsense.
func (b Managed) read(subresource bool) (m *managed, sent bool) {
	if len(b.Sent) > 0 && !subresource {
		if v, err := Decode(b.Sent); err == nil {
			if list, ok := v.([]any); ok && (len(list) == 0 || len(list) == 1 && isEmptyEntry(list[0])) {
				return newManaged(), true // the way to be rid of them
			}
		}
		if m, err := parseManaged(b.Sent, false); err == nil && len(m.fields) > 0 {
			return m, true
		}
	}
	m, err := parseManaged(b.Live, b.Known)
	if err != nil {
		return newManaged(), false
	}
	return m, false
}
