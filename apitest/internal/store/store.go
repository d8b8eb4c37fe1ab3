package store

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"sync"

	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// Store keeps every object, and the last events of each resource, from which earlier
// states are computed. One revision counts the writes to all resources.
type Store struct {
	options Options

	mu        sync.Mutex
	rev       uint64
	life      uint64            // number of previous servers whose saves this one continues
	first     uint64            // the revision at which the server started
	tables    map[string]*Table // by GroupResource
	dropped   []drop            // removed tables, the newest last
	unsettled bool              // Remove was called, and not for a dry run, since SettleRemoved
	random    *rand.Rand        // for UIDs and generated names: used by writes only
	aside     *rand.Rand        // for values that are not in objects
	changed   chan struct{}     // closed and replaced when rev changes
}

// Table is one resource. The fields are guarded by store.mu.
type Table struct {
	forms   []*object.Info              // other served versions; replaced, never changed
	Info    *object.Info                // replaced if its definition changes, never changed
	sorted  Collection                  // the objects
	objects map[kube.Key]*object.Object // the same, by key
	past    []moment                    // for lists in progress, the newest last
	log     []Event
	bytes   int    // of the states that only log keeps
	base    int    // how many events have been dropped before log[0]
	floor   uint64 // events up to this revision may be dropped
	recent  uint64 // like floor, for watches only: events before a restart
	born    uint64 // the revision at which it was added, empty
	defined bool   // by a CustomResourceDefinition
	watches map[*Watcher]struct{}

	forgotten int // index since the beginning of the first event that is not for watches only
}

// Event is one write. prev is nil for a creation, next for a deletion.
type Event struct {
	rv         uint64
	prev, next *object.Object
	gone       *object.Object // prev at rv, for deletions
}

// Options of a store.
type Options struct {
	Revision       uint64 // to begin with
	History        int    // events kept of each resource
	HistoryBytes   int    // of past states that all events keep
	WatchBuffer    int    // events that a watch may lag behind
	Seed           uint64 // of UIDs, generated names and chosen timeouts
	Namespaces     bool   // namespaces must exist; deleting one deletes its objects
	CollectGarbage bool   // collect garbage after each deletion by a client
}

// New returns a store without resources.
func New(o Options) *Store {
	st := &Store{
		options: o,
		rev:     o.Revision, first: o.Revision,
		tables:  make(map[string]*Table),
		changed: make(chan struct{}),
	}
	st.random, st.aside = st.generator(streamObjects), st.generator(streamAside)
	return st
}

// The streams of random numbers of a server.
const (
	streamObjects = iota
	streamAside
)

// generator returns a stream of random numbers, which differs for each server that
// continues a save.
func (st *Store) generator(stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(st.options.Seed, 0x9e3779b97f4a7c15+2*st.life+stream))
}

// Lock prevents writes of others, for a write that depends on the current state. The
// comments of methods say if the caller must hold it; other methods take it themselves.
func (st *Store) Lock() { st.mu.Lock() }

// Unlock releases the lock.
func (st *Store) Unlock() { st.mu.Unlock() }

// Table returns the table of a resource, nil if there is none. The caller holds the
// lock.
func (st *Store) Table(res kube.Resource) *Table { return st.tables[res.GroupResource()] }

// Keeper returns the table that has the objects of a resource, which may be that of another one;
// nil if there is none. The caller holds the lock.
func (st *Store) Keeper(res kube.Resource) *Table {
	t := st.Table(res)
	if t != nil && t.Info.Core.Plural != "" {
		t = st.Table(t.Info.Core)
	}
	return t
}

// Get returns an object, nil if there is none. The caller holds the lock.
func (t *Table) Get(key kube.Key) *object.Object { return t.objects[key] }

// Objects returns the objects of t. The caller holds the lock.
func (t *Table) Objects() Collection { return t.sorted }

// Now returns the revision of the last write. The caller holds the lock.
func (st *Store) Now() uint64 { return st.rev }

// Objects returns the objects of a resource, none if there is no such resource.
func (st *Store) Objects(res kube.Resource) (c Collection) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if t := st.Table(res); t != nil {
		c = t.sorted
	}
	return c
}

// NewUID returns a UID for a value that is not an object.
func (st *Store) NewUID() string {
	st.mu.Lock()
	defer st.mu.Unlock()
	return uid(st.aside)
}

// Random returns a number in [0,n), from the sequence for values that are not objects.
func (st *Store) Random(n int64) int64 {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.aside.Int64N(n)
}

// Add adds a resource; it returns false if the resource exists.
func (st *Store) Add(info object.Info) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.addLocked(info)
}

func (st *Store) addLocked(info object.Info) bool {
	name := info.GroupResource()
	if st.tables[name] != nil {
		return false
	}
	st.tables[name] = &Table{
		Info: &info, objects: make(map[kube.Key]*object.Object), watches: make(map[*Watcher]struct{}),
		floor: st.rev, recent: st.rev, born: st.rev,
	}
	return true
}

// Find returns the table of a resource, its current info, and the form in which the
// resource is served; nil if there is none. The caller does not hold the lock.
func (st *Store) Find(group, version, plural string) (t *Table, info, form *object.Info) {
	st.mu.Lock()
	defer st.mu.Unlock()
	t = st.tables[kube.Resource{Group: group, Plural: plural}.GroupResource()]
	if t == nil {
		return nil, nil, nil
	}
	if form = t.form(version); form == nil {
		return nil, nil, nil
	}
	if form.Core.Plural != "" {
		t = st.tables[form.Core.GroupResource()]
	}
	return t, t.Info, form
}

// Commit stores next, or deletes the object if next is nil, with a new revision, and
// wakes the watches. The caller holds the lock and has validated the write.
func (st *Store) Commit(t *Table, key kube.Key, next *object.Object) uint64 {
	e := st.write(t, key, next)
	if t.Info.Resource == kube.CustomResourceDefinitions {
		st.define(e.prev, next)
	}
	if t.defined && next == nil && len(t.objects) == 0 {
		st.retired(t)
	}
	return e.rv
}

// write is Commit without what follows from it in other tables.
func (st *Store) write(t *Table, key kube.Key, next *object.Object) Event {
	st.rev++
	e := Event{rv: st.rev, prev: t.objects[key], next: next}
	if next == nil {
		e.gone = e.prev.Stamped(t.Info, st.rev)
		delete(t.objects, key)
		t.sorted = t.sorted.without(key)
	} else {
		next.Seal(t.Info, st.rev)
		t.objects[key] = next
		t.sorted = t.sorted.with(next)
	}
	t.log = append(t.log, e)
	t.bytes += e.past()
	if drop := len(t.log) - st.options.History; drop > 0 {
		t.forget(drop) // some of them again, if a watch has yet to send them
	}
	for w := range t.watches {
		if w.overrun(t, st.options.WatchBuffer) {
			w.overtaken()
		}
		w.wake()
	}
	st.trim()
	st.notify()
	return e
}

func (st *Store) notify() {
	close(st.changed)
	st.changed = make(chan struct{})
}

// uid returns the next UID of a seeded sequence, in the form of version 4.
func uid(random *rand.Rand) string {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], random.Uint64())
	binary.BigEndian.PutUint64(id[8:], random.Uint64())
	id[6], id[8] = id[6]&0xf|0x40, id[8]&0x3f|0x80
	var text [36]byte
	for from, at := 0, 0; from < len(id); from++ {
		if from == 4 || from == 6 || from == 8 || from == 10 {
			text[at] = '-'
			at++
		}
		at += hex.Encode(text[at:], id[from:from+1])
	}
	return string(text[:])
}

const nameLetters = "bcdfghjklmnpqrstvwxz2456789"

// Suffix returns the suffix that the server appends to generateName.
func (st *Store) Suffix() string {
	var b [5]byte
	for i := range b {
		b[i] = nameLetters[st.random.IntN(len(nameLetters))]
	}
	return string(b[:])
}

// PrepareCreate sets the server's fields of a new object.
func (st *Store) PrepareCreate(info *object.Info, o *object.Object) {
	if o.Meta.UID == "" {
		o.Meta.UID = uid(st.random)
	}
	if o.Meta.CreationTimestamp == "" {
		o.Meta.CreationTimestamp = object.Timestamp()
	}
	if kinds.CountsGeneration(info, o) {
		o.Meta.Generation = max(o.Meta.Generation, 1)
	}
}

// PrepareUpdate keeps immutable fields and counts generations.
func PrepareUpdate(info *object.Info, old, o *object.Object) {
	o.Meta.UID = old.Meta.UID
	o.Meta.CreationTimestamp = old.Meta.CreationTimestamp
	o.Meta.DeletionTimestamp = old.Meta.DeletionTimestamp
	o.Meta.DeletionGracePeriodSeconds = old.Meta.DeletionGracePeriodSeconds
	if len(o.Meta.ManagedFields) == 0 {
		o.Meta.ManagedFields = old.Meta.ManagedFields
	}
	o.Meta.Generation = old.Meta.Generation
	if kinds.CountsGeneration(info, o) && kinds.MovesGeneration(info, old, o) {
		o.Meta.Generation++
	}
}

// form returns the resource in a served version, nil if it is not served.
func (t *Table) form(version string) *object.Info {
	for _, r := range t.served() {
		if r.Version == version {
			return r
		}
	}
	return nil
}

// Form returns the served resource, nil if it is not served in this version.
func (st *Store) Form(res kube.Resource) *object.Info {
	st.mu.Lock()
	defer st.mu.Unlock()
	if t := st.Table(res); t != nil {
		return t.form(res.Version)
	}
	return nil
}

// served returns the served versions.
func (t *Table) served() []*object.Info {
	if t.Info.Unserved {
		return t.forms
	}
	return append([]*object.Info{t.Info}, t.forms...)
}

// Served returns the served resources, in every version.
func (st *Store) Served() (list []*object.Info) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, t := range st.tables {
		list = append(list, t.served()...)
	}
	return list
}

// Mirror makes a change of another server: it stores the object that read returns as it is, or
// deletes the object key if read is nil. It adds the resource first, unless it exists. An object
// of this name with another UID is deleted before. It returns 0 if there is nothing to delete, if
// the resource waits for its names or has another kind or scope, and an error if an object lacks
// a namespace.
func (st *Store) Mirror(info object.Info, key kube.Key, read func(*Table) (*object.Object, error)) (uint64, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if read != nil && !st.waits(info.Resource) {
		st.addLocked(info)
	}
	t := st.Keeper(info.Resource)
	if t == nil || t.Info.Kind != info.Kind || t.Info.Namespaced != info.Namespaced || read == nil && t.objects[key] == nil {
		return 0, nil
	}
	if read == nil {
		return st.Commit(t, key, nil), nil
	}
	o, err := read(t)
	switch {
	case err != nil:
		return 0, err
	case t.Info.Namespaced && o.Key.Namespace == "":
		return 0, errors.New("want an object with a namespace: it has none")
	}
	if old := t.objects[o.Key]; old != nil && cmp.Or(o.Meta.UID, old.Meta.UID) != old.Meta.UID {
		st.write(t, o.Key, nil) // a definition's objects stay
	} else if old != nil {
		o.Meta.UID = old.Meta.UID
		o.Meta.CreationTimestamp = cmp.Or(o.Meta.CreationTimestamp, old.Meta.CreationTimestamp)
	}
	generation := o.Meta.Generation
	st.PrepareCreate(t.Info, o)
	o.Meta.Generation = generation
	return st.Commit(t, o.Key, o), nil
}

// Put stores a parsed object. The caller holds the lock.
func (st *Store) Put(t *Table, o *object.Object) uint64 {
	old := t.objects[o.Key]
	if old == nil {
		st.PrepareCreate(t.Info, o)
		return st.Commit(t, o.Key, o)
	}
	deleted := o.Meta.DeletionTimestamp
	PrepareUpdate(t.Info, old, o)
	o.Meta.DeletionTimestamp = cmp.Or(deleted, o.Meta.DeletionTimestamp)
	if old.Same(o) {
		return old.Revision
	}
	return st.Commit(t, o.Key, o)
}

// Recreate does so with the first object that key, which may be of a collection,
// stands for.
func (st *Store) Recreate(t *Table, key kube.Key) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for old := range t.sorted.from(key) {
		k := old.Key
		if key.Namespace != "" && k.Namespace != key.Namespace || key.Name != "" && k.Name != key.Name {
			continue
		}
		o := &object.Object{Key: k, Meta: old.Meta, Fields: old.Fields}
		o.Meta.UID, o.Meta.CreationTimestamp, o.Meta.Generation = "", "", 0
		o.Meta.DeletionTimestamp, o.Meta.DeletionGracePeriodSeconds = "", nil
		st.Commit(t, k, nil)
		st.PrepareCreate(t.Info, o)
		st.Commit(t, k, o)
		return
	}
}
