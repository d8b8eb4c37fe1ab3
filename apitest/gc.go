package apitest

import (
	"cmp"
	"encoding/json"
	"slices"
)

// Finalizers of the garbage collector, see
// https://kubernetes.io/docs/concepts/architecture/garbage-collection/.
const (
	foreground = "foregroundDeletion"
	orphan     = "orphan"
)

// CollectGarbage does what the garbage collector of a cluster does: it deletes
// objects none of whose owners exists, in the whole chain, and ends deletions in
// the foreground and those that orphan their dependents. With
// Options.CollectGarbage it happens after each deletion.
func (s *Server) CollectGarbage() {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	s.store.collect()
}

// settle does what controllers would do next. The caller holds mu.
func (st *store) settle(o Options) {
	if o.CollectGarbage {
		st.collect()
	}
	if o.Namespaces {
		st.settleNamespaces()
	}
}

// owner is what matters of an owner reference.
type owner struct {
	UID   string `json:"uid"`
	Block bool   `json:"blockOwnerDeletion"`
}

func (o *object) owners() []owner {
	if len(o.meta.OwnerReferences) == 0 {
		return nil
	}
	var refs []owner
	json.Unmarshal(o.meta.OwnerReferences, &refs) // what is not a list has no owners
	return refs
}

// place is where an object is.
type place struct {
	t *table
	o *object
}

// collect deletes until nothing changes. The caller holds mu.
func (st *store) collect() {
	for st.collectOnce() {
	}
}

func (st *store) collectOnce() (changed bool) {
	alive := map[string]bool{}         // by UID
	waiting := map[string]place{}      // deleted in the foreground, or orphaning
	dependents := map[string][]place{} // by the UID of an owner
	for _, t := range st.sortedTables() {
		for o := range t.sorted.all() {
			alive[o.meta.UID] = true
			if o.meta.DeletionTimestamp != "" && (slices.Contains(o.meta.Finalizers, foreground) || slices.Contains(o.meta.Finalizers, orphan)) {
				waiting[o.meta.UID] = place{t, o}
			}
			for _, ref := range o.owners() {
				dependents[ref.UID] = append(dependents[ref.UID], place{t, o})
			}
		}
	}
	for _, uid := range sortedKeys(dependents) {
		for _, d := range dependents[uid] {
			o := d.t.objects[d.o.key]
			if o == nil || o.meta.UID != d.o.meta.UID {
				continue
			}
			w, waits := waiting[uid]
			if waits && slices.Contains(w.o.meta.Finalizers, orphan) {
				st.disown(d.t, o, uid)
				changed = true
				continue
			}
			if slices.ContainsFunc(o.owners(), func(r owner) bool { _, w := waiting[r.UID]; return alive[r.UID] && !w }) {
				if !alive[uid] {
					st.disown(d.t, o, uid)
					changed = true
				}
				continue // somebody still wants it
			}
			if alive[uid] && !waits || o.meta.DeletionTimestamp != "" {
				continue
			}
			policy := ""
			if waits {
				policy = "Foreground"
				if len(dependents[o.meta.UID]) == 0 {
					policy = ""
				}
			}
			st.remove(d.t, o, deletion{policy: policy})
			changed = true
		}
	}
	for _, uid := range sortedKeys(waiting) {
		p := waiting[uid]
		o := p.t.objects[p.o.key]
		if o == nil || o.meta.UID != uid {
			continue
		}
		blocked := slices.ContainsFunc(dependents[uid], func(d place) bool {
			now := d.t.objects[d.o.key]
			return now != nil && slices.ContainsFunc(now.owners(), func(r owner) bool { return r.UID == uid && r.Block })
		})
		if slices.Contains(o.meta.Finalizers, foreground) && blocked {
			continue
		}
		st.release(p.t, o)
		changed = true
	}
	return changed
}

// release takes away the collector's finalizers, and with the last finalizer the
// object.
func (st *store) release(t *table, o *object) {
	rest := slices.DeleteFunc(slices.Clone(o.meta.Finalizers), func(f string) bool { return f == foreground || f == orphan })
	if len(rest) == 0 {
		st.commit(t, o.key, nil)
		return
	}
	freed := &object{key: o.key, meta: o.meta, fields: o.fields}
	freed.meta.Finalizers = rest
	st.commit(t, o.key, freed)
}

// disown takes an owner from o.
func (st *store) disown(t *table, o *object, uid string) {
	var refs []map[string]any
	json.Unmarshal(o.meta.OwnerReferences, &refs)
	refs = slices.DeleteFunc(refs, func(r map[string]any) bool { return r["uid"] == uid })
	freed := &object{key: o.key, meta: o.meta, fields: o.fields}
	freed.meta.OwnerReferences = nil
	if len(refs) > 0 {
		freed.meta.OwnerReferences = marshal(refs)
	}
	st.commit(t, o.key, freed)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// sortedTables returns the tables in an order that does not change from run to
// run.
func (st *store) sortedTables() []*table {
	list := make([]*table, 0, len(st.tables))
	for _, t := range st.tables {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *table) int {
		return cmp.Or(cmp.Compare(a.info.Group, b.info.Group), cmp.Compare(a.info.Plural, b.info.Plural))
	})
	return list
}
