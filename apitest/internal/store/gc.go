package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// Finalizers of the garbage collector, see
// https://kubernetes.io/docs/concepts/architecture/garbage-collection/.
const (
	foreground = "foregroundDeletion"
	orphan     = "orphan"
)

// Settle does the next work of controllers. The caller holds the lock.
func (st *Store) Settle() {
	if st.options.CollectGarbage {
		st.collect()
	}
	if st.options.Namespaces {
		st.settleNamespaces()
	}
}

// SettleRemoved is Settle after Remove, if that was not for a dry run. The caller holds the lock.
func (st *Store) SettleRemoved() {
	if st.unsettled {
		st.unsettled = false
		st.Settle()
	}
}

// SettleAll is SettleRemoved for callers that do not hold the lock.
func (st *Store) SettleAll() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.SettleRemoved()
}

// SettleWritten does the next work of controllers after a write of o, nil before it was
// created: a garbage collector also looks at who has other owners than before, or is created
// after one of them is gone. The caller holds the lock.
func (st *Store) SettleWritten(old, o *object.Object) {
	switch {
	case old != nil && len(o.Meta.Finalizers) < len(old.Meta.Finalizers):
		st.Settle()
	case !st.options.CollectGarbage:
	case old == nil && slices.ContainsFunc(ownersOf(o), func(ref owner) bool { return st.missing(o, ref) }),
		old != nil && !bytes.Equal(old.Meta.OwnerReferences, o.Meta.OwnerReferences):
		st.collect()
	}
}

// missing reports whether an owner of o is not found by its name.
func (st *Store) missing(o *object.Object, ref owner) bool {
	t := st.TableOf(ref.APIVersion, ref.Kind)
	return t == nil || !slices.ContainsFunc([]string{o.Key.Namespace, ""}, func(namespace string) bool {
		found := t.objects[kube.Key{Namespace: namespace, Name: ref.Name}]
		return found != nil && found.Meta.UID == ref.UID
	})
}

// owner is the needed part of an owner reference.
type owner struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Block      bool   `json:"blockOwnerDeletion"`
}

func ownersOf(o *object.Object) []owner {
	if len(o.Meta.OwnerReferences) == 0 {
		return nil
	}
	var refs []owner
	json.Unmarshal(o.Meta.OwnerReferences, &refs) // values other than lists have no owners
	return refs
}

// place is the location of an object.
type place struct {
	t   *Table
	key kube.Key
	uid string
}

// now returns the current object, nil if it was deleted.
func (p place) now() *object.Object {
	if o := p.t.objects[p.key]; o != nil && o.Meta.UID == p.uid {
		return o
	}
	return nil
}

// CollectAll is collect for callers that do not hold mu.
func (st *Store) CollectAll() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.collect()
}

// collect deletes objects until nothing changes. The caller holds the lock.
func (st *Store) collect() {
	for newCollector(st).run() {
	}
}

// collector is one run of the garbage collector: the graph of owners, and the owners
// that have not been processed yet.
type collector struct {
	st         *Store
	alive      map[string]int     // objects, by UID
	waiting    map[string]place   // deleted in the foreground, or orphaning, by UID
	dependents map[string][]place // by the UID of an owner
	queue      []string           // UIDs of owners that were deleted or wait
	queued     map[string]bool
	changed    bool
}

func newCollector(st *Store) *collector {
	c := &collector{st: st, alive: map[string]int{}, waiting: map[string]place{}, dependents: map[string][]place{}, queued: map[string]bool{}}
	for _, t := range st.sortedTables() {
		for o := range t.sorted.All() {
			p := place{t, o.Key, o.Meta.UID}
			c.alive[p.uid]++
			if mustWait(o) {
				c.waiting[p.uid] = p
			}
			for _, ref := range ownersOf(o) {
				c.dependents[ref.UID] = append(c.dependents[ref.UID], p)
			}
		}
	}
	for _, uid := range object.SortedKeys(c.dependents) {
		if c.alive[uid] == 0 {
			c.push(uid)
		}
	}
	for _, uid := range object.SortedKeys(c.waiting) {
		c.push(uid)
	}
	return c
}

// mustWait reports whether o is being deleted and waits for its dependents.
func mustWait(o *object.Object) bool {
	return o.Meta.DeletionTimestamp != "" && (slices.Contains(o.Meta.Finalizers, foreground) || slices.Contains(o.Meta.Finalizers, orphan))
}

// push queues the owner with this UID.
func (c *collector) push(uid string) {
	if !c.queued[uid] {
		c.queued[uid] = true
		c.queue = append(c.queue, uid)
	}
}

// run reports whether it has changed anything.
func (c *collector) run() bool {
	for len(c.queue) > 0 {
		uid := c.queue[0]
		c.queue = c.queue[1:]
		c.queued[uid] = false
		for _, p := range c.dependents[uid] {
			if o := p.now(); o != nil && slices.ContainsFunc(ownersOf(o), func(r owner) bool { return r.UID == uid }) {
				c.dependent(uid, p, o)
			}
		}
		if p, waits := c.waiting[uid]; waits {
			c.release(p)
		}
	}
	return c.changed
}

// dependent handles o, which is at p, after its owner uid was deleted.
func (c *collector) dependent(uid string, p place, o *object.Object) {
	w, waits := c.waiting[uid]
	if c.alive[uid] > 0 && !waits {
		return
	}
	orphans := false
	if waits {
		if owner := w.now(); owner != nil {
			orphans = slices.Contains(owner.Meta.Finalizers, orphan)
		}
	}
	solid := func(r owner) bool { _, waits := c.waiting[r.UID]; return c.alive[r.UID] > 0 && !waits }
	deleted := o.Meta.DeletionTimestamp != ""
	switch {
	case orphans, !deleted && slices.ContainsFunc(ownersOf(o), solid): // another owner still exists
		c.st.disown(p.t, o, uid)
		c.changed = true
		return
	case deleted:
		return
	}
	policy := ""
	if waits {
		for _, d := range c.dependents[p.uid] {
			now := d.now()
			if now == nil {
				continue
			}
			policy = "Foreground"
			if _, deleted := c.waiting[d.uid]; deleted && slices.Contains(now.Meta.Finalizers, foreground) {
				o = c.st.unblock(p.t, o) // owners and dependents may be a cycle
			}
		}
	}
	c.changed = true
	c.st.Remove(p.t, o, Deletion{Policy: policy})
	switch now := p.now(); {
	case now == nil:
		c.gone(p.uid, o)
	case mustWait(now):
		c.waiting[p.uid] = p
		c.push(p.uid)
	}
}

// release releases the object at p, which waits, unless a dependent blocks it.
func (c *collector) release(p place) {
	o := p.now()
	if o == nil {
		return
	}
	blocks := func(d place) bool {
		now := d.now()
		return now != nil && slices.ContainsFunc(ownersOf(now), func(r owner) bool { return r.UID == p.uid && r.Block })
	}
	if slices.Contains(o.Meta.Finalizers, foreground) && slices.ContainsFunc(c.dependents[p.uid], blocks) {
		return
	}
	c.changed = true
	delete(c.waiting, p.uid)
	c.st.release(p.t, o)
	if p.now() == nil {
		c.gone(p.uid, o)
	}
}

// gone notes that o was deleted: its dependents have lost an owner, and owners that
// wait may be released.
func (c *collector) gone(uid string, o *object.Object) {
	delete(c.waiting, uid)
	if c.alive[uid]--; c.alive[uid] == 0 {
		c.push(uid)
	}
	for _, ref := range ownersOf(o) {
		if _, waits := c.waiting[ref.UID]; waits {
			c.push(ref.UID)
		}
	}
}

// release removes the collector's finalizers, and deletes the object with the last
// finalizer, unless it is a namespace with objects.
func (st *Store) release(t *Table, o *object.Object) {
	rest := slices.DeleteFunc(slices.Clone(o.Meta.Finalizers), func(f string) bool { return f == foreground || f == orphan })
	if len(rest) == 0 && !Emptying(t.Info.Resource, o) {
		st.Commit(t, o.Key, nil)
		return
	}
	freed := &object.Object{Key: o.Key, Meta: o.Meta, Fields: o.Fields}
	freed.Meta.Finalizers = rest
	st.Commit(t, o.Key, freed)
}

// disown removes an owner from o.
func (st *Store) disown(t *Table, o *object.Object, uid string) {
	st.setOwners(t, o, func(refs []map[string]any) []map[string]any {
		return slices.DeleteFunc(refs, func(r map[string]any) bool { return r["uid"] == uid })
	})
}

// unblock lets the owners of o be deleted before it, and returns the stored object.
func (st *Store) unblock(t *Table, o *object.Object) *object.Object {
	if !slices.ContainsFunc(ownersOf(o), func(r owner) bool { return r.Block }) {
		return o
	}
	return st.setOwners(t, o, func(refs []map[string]any) []map[string]any {
		for _, r := range refs {
			r["blockOwnerDeletion"] = false
		}
		return refs
	})
}

// setOwners stores o with its owners as change modifies them.
func (st *Store) setOwners(t *Table, o *object.Object, change func([]map[string]any) []map[string]any) *object.Object {
	var refs []map[string]any
	json.Unmarshal(o.Meta.OwnerReferences, &refs) // values other than lists have no owners
	refs = change(refs)
	next := &object.Object{Key: o.Key, Meta: o.Meta, Fields: o.Fields}
	next.Meta.OwnerReferences = nil
	if len(refs) > 0 {
		next.Meta.OwnerReferences = object.Marshal(refs)
	}
	st.Commit(t, o.Key, next)
	return next
}

// sortedTables returns the tables in an order that does not change from run to run.
func (st *Store) sortedTables() []*Table {
	list := make([]*Table, 0, len(st.tables))
	for _, t := range st.tables {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *Table) int {
		return cmp.Or(cmp.Compare(a.Info.Group, b.Info.Group), cmp.Compare(a.Info.Plural, b.Info.Plural))
	})
	return list
}
