package operator

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/events"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// ErrForeign means that an object of this name exists that another object or nobody
// controls. The object was not changed. The owner is reconciled again when the object
// changes or is deleted, so a reconciler may report the error in its status, and return nil.
var ErrForeign = errors.New("the object exists and does not belong to the owner")

var zero time.Time

// Children are the objects of a resource that the objects of a reconciler control. C has
// the members that the program reads; use kube.Partial for the metadata only.
type Children[C, T kube.Object] struct {
	*cache.Informer[C]
	Resource kube.Resource

	owner *Objects[T]
	refs  func(C) []kube.OwnerReference
	owned *cache.Index[C, string]

	mu      sync.Mutex
	applied map[kube.Key]applied
	foreign map[kube.Key][]kube.Key // owners that wait for a child of others to change

	contests map[kube.Key]contest
	crowd    int // so many contests are searched for old ones
}

// applied is the last state of a child that is known to be as it was applied.
type applied struct {
	want    [sha256.Size]byte // hash of what was applied
	state   string
	refused bool // what was applied is invalid, also after a replacement
}

// Owns adds children of resource r. The owner is reconciled after each change of a child.
func Owns[C cache.Owned[R], R any, T kube.Object](owner *Objects[T], r kube.Resource) *Children[C, T] {
	toOurs := kube.OwnerReferencesOf[R]()
	s := &Children[C, T]{
		Informer: Watch[C](owner.op, r), Resource: r, owner: owner,
		refs:    func(c C) []kube.OwnerReference { return toOurs(c.GetOwnerReferences()) },
		applied: map[kube.Key]applied{}, foreign: map[kube.Key][]kube.Key{}, contests: map[kube.Key]contest{},
	}
	s.owned = cache.ByOwner(s.Store())
	s.Handle(func(d cache.Delta[C]) {
		if d.Type == watch.Deleted || d.Inferred { // a restored server counts the generations again
			s.mu.Lock()
			delete(s.applied, d.Key)
			s.mu.Unlock()
		}
	})
	controller.Owns(owner.Controller, owner.Resource, s.Informer)
	controller.Map(owner.Controller, s.Informer, s.waiting)
	return s
}

// waiting returns and forgets the owners that wait for a change of c.
func (s *Children[C, T]) waiting(c C) []kube.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := kube.KeyOf(c)
	owners := s.foreign[k]
	delete(s.foreign, k)
	return owners
}

// Apply creates or changes a child of owner by server-side apply: see [client.Collection.Apply].
// desired is a struct, a map or JSON with the members to set. The default name and namespace of
// the child are those of owner, which becomes its controller. Members of the metadata that only
// servers set, such as the uid, are left out. An object that owner does not control is not
// changed: see [ErrForeign]; nor is a child that is being deleted. Apply keeps members, and
// elements of lists with keys, that others add, unless the desired state is invalid together with
// them: then it replaces all lists of the desired state, except those of the metadata. If the
// object is still invalid, Apply replaces the lists again only after a change of the child or of
// the desired state. Apply a child once in a run: a second desired state would remove what only
// the first one has.
//
// If desired is what the last Apply of this process sent, and nobody has changed the child since,
// no request is sent. Apply detects a change by the generation and the metadata, so C need not have
// the desired members. For resources without generations it compares the resourceVersion: then a
// change of the status, too, leads to a request, which changes nothing.
//
// If others change the child back, or delete it, again and again, within seconds, the next run of
// owner begins after a pause, which grows to 5 s.
func (s *Children[C, T]) Apply(ctx context.Context, owner T, desired any) (C, error) {
	return s.apply(ctx, owner, desired, false)
}

// Create is Apply for a child that does not exist. It returns an existing child
// unchanged. Use it for generated passwords and the like.
func (s *Children[C, T]) Create(ctx context.Context, owner T, desired any) (C, error) {
	return s.apply(ctx, owner, desired, true)
}

func (s *Children[C, T]) apply(ctx context.Context, owner T, desired any, once bool) (none C, err error) {
	tree, k, err := s.tree(owner, desired)
	if err != nil {
		return none, fmt.Errorf("apply %s of %s: %w", s.Resource.Kind, owner.GetName(), err)
	}
	body, err := codec.Encode(tree)
	if err != nil {
		return none, err
	}
	want := sha256.Sum256(body)
	was, ok, err := s.get(ctx, owner, k)
	if err != nil {
		return none, err
	}
	if !ok {
		now, err := s.writes(owner).Apply(ctx, k, tree, client.ApplyOptions{Force: true, Create: true})
		switch {
		case err == nil:
			s.contested(owner, k, now)
		case errors.Is(err, kube.ErrConflict): // it exists: the next run knows whose it is
			s.late(ctx, owner, k)
		}
		return now, s.keep(owner, k, want, now, "created", err)
	}
	meta, err := s.metaOf(was)
	if err != nil || once || meta.DeletionTimestamp != nil {
		return was, err
	}
	last := s.last(k)
	if last == (applied{want, s.state(meta), false}) {
		return was, nil
	}
	now := was
	err = s.locked(ctx, owner, k, was, func(o C) error {
		was = o
		now, err = s.send(ctx, owner, k, tree, want, o)
		return err
	})
	outcome := "updated"
	switch {
	case err == nil && now.GetResourceVersion() == was.GetResourceVersion():
		outcome = ""
	case err == nil && last.want == want:
		s.contested(owner, k, now)
	}
	return now, s.keep(owner, k, want, now, outcome, err)
}

// get returns the child k of owner; an error if it belongs to others.
func (s *Children[C, T]) get(ctx context.Context, owner T, k kube.Key) (C, bool, error) {
	c, ok := s.Store().Get(k)
	if !ok || s.belongs(s.refs(c), owner) {
		return c, ok, nil
	}
	s.wait(owner, k)
	if c, ok = s.Store().Get(k); !ok || s.belongs(s.refs(c), owner) { // it changed before the key was noted
		return c, ok, nil
	}
	return c, true, fmt.Errorf("%s %s: %w", s.Resource.Kind, k.Name, ErrForeign)
}

// wait makes owner wait for a change of k.
func (s *Children[C, T]) wait(owner T, k kube.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := kube.KeyOf(owner); !slices.Contains(s.foreign[k], o) {
		s.foreign[k] = append(s.foreign[k], o)
	}
}

func (s *Children[C, T]) belongs(refs []kube.OwnerReference, owner T) bool {
	ref, ok := kube.ControllerOf(refs)
	return ok && ref.UID == kube.NewControllerReference(s.owner.Resource, owner).UID
}

// late makes the next run of owner wait until the cache shows the object k.
func (s *Children[C, T]) late(ctx context.Context, owner T, k kube.Key) {
	if o, err := client.Of[kube.Partial](s.owner.op.Client, s.Resource).Get(ctx, k); err == nil {
		s.owner.Controller.Await(kube.KeyOf(owner), s.Informer, o)
	}
}

// keep remembers what was applied, and records an Event about owner.
func (s *Children[C, T]) keep(owner T, k kube.Key, want [sha256.Size]byte, now C, outcome string, err error) error {
	if err != nil {
		return err
	}
	meta, err := s.metaOf(now)
	if err != nil {
		return err
	}
	s.note(k, applied{want, s.state(meta), false})
	if outcome != "" {
		s.owner.op.Events.Eventf(events.About(s.owner.Resource, owner), events.Normal, "Synced", "%s %s %s", s.Resource.Kind, k.Name, outcome)
	}
	return nil
}

func (s *Children[C, T]) last(k kube.Key) applied {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.applied[k]
}

func (s *Children[C, T]) note(k kube.Key, a applied) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.applied[k] = a
}

// state is equal for two states of an object whose desired state is equal: those that
// differ in the status only, where the resource counts generations.
func (s *Children[C, T]) state(m kube.Meta) string {
	if m.Generation == 0 || s.Resource.Plural == "priorityclasses" { // those keep their first generation
		return m.UID + " " + m.ResourceVersion
	}
	// Strings and booleans are always encoded, and maps are printed in order.
	owners, _ := json.Marshal(m.OwnerReferences)
	return fmt.Sprintf("%s %d %q %q %q %s", m.UID, m.Generation, m.Labels, m.Annotations, m.Finalizers, owners)
}

func (s *Children[C, T]) metaOf(c C) (kube.Meta, error) {
	m, err := metaOf(c)
	m.OwnerReferences = s.refs(c)
	return m, err
}

// Delete deletes a child, and reports whether the cache shows that owner has no child of
// this name. A name alone is that of the children in all namespaces, "namespace/name" that of
// one. The owner is reconciled again when the child is gone.
func (s *Children[C, T]) Delete(ctx context.Context, owner T, name string, o client.DeleteOptions) (gone bool, err error) {
	left, err := s.remove(ctx, owner, o, func(k kube.Key) bool { return k.Name == name || k.String() == name })
	return left == 0, err
}

func (s *Children[C, T]) delete(ctx context.Context, owner T, c C, o client.DeleteOptions) error {
	meta, err := metaOf(c)
	if err != nil || meta.DeletionTimestamp != nil {
		return err
	}
	k := kube.KeyOf(c)
	err = s.locked(ctx, owner, k, c, func(c C) error {
		o.UID, o.ResourceVersion = "", kube.Revision(c.GetResourceVersion()) // which no other object has had
		return s.writes(owner).Delete(ctx, k, o)
	})
	if err == nil {
		s.owner.op.Events.Eventf(events.About(s.owner.Resource, owner), events.Normal, "Deleted", "%s %s", s.Resource.Kind, c.GetName())
	}
	if errors.Is(err, kube.ErrNotFound) || errors.Is(err, ErrForeign) {
		return nil
	}
	return err
}

// Prune deletes the children of owner whose names are not in keep, and returns how many
// of these the cache still shows. A name alone keeps the children in all namespaces,
// "namespace/name" one. Objects that Create has made are children, too.
func (s *Children[C, T]) Prune(ctx context.Context, owner T, o client.DeleteOptions, keep ...string) (left int, err error) {
	return s.remove(ctx, owner, o, func(k kube.Key) bool { return !slices.Contains(keep, k.Name) && !slices.Contains(keep, k.String()) })
}

// remove deletes the children of owner with such keys, and returns how many there are.
func (s *Children[C, T]) remove(ctx context.Context, owner T, o client.DeleteOptions, which func(kube.Key) bool) (left int, err error) {
	id := kube.NewControllerReference(s.owner.Resource, owner).UID
	for k, c := range s.owned.Get(id) {
		if !which(k) || !s.belongs(s.refs(c), owner) {
			continue
		}
		left++
		if err := s.delete(ctx, owner, c, o); err != nil {
			return left, err
		}
	}
	return left, nil
}
