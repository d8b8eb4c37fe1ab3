package controller

import (
	"context"
	"maps"
	"strings"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// Input is a cache that calls handlers with changes: a *cache.Informer or a
// *cache.SharedInformer. cache.From makes an Input of any other source of events.
type Input[T kube.Object] interface {
	Handle(func(cache.Delta[T])) *cache.Handler[T]
	WaitSynced(context.Context) error
	Name() string // in causes, logs and errors
}

// For adds the key of each changed object of the input, if all predicates return true for the
// change. Like Owns and Map it may be called while the controller runs: see [Source].
func For[T kube.Object](c *Controller[kube.Key], in Input[T], only ...func(cache.Delta[T]) bool) *Source {
	return wire(c, in, only, each[T])
}

// Owns adds, for each changed object of the input, the key of its controlling owner, if that is an
// object of the resource given as owner. If the object changes from one owner to another, it adds
// both keys.
func Owns[T cache.Owned[R], R any](c *Controller[kube.Key], owner kube.Resource, in Input[T], only ...func(cache.Delta[T]) bool) *Source {
	return wire(c, in, only, owners[T, R](owner))
}

// each adds the key of the object.
func each[T kube.Object](d cache.Delta[T], add func(kube.Key)) { add(d.Key) }

// owners adds the keys of the controlling owners.
func owners[T cache.Owned[R], R any](owner kube.Resource) func(cache.Delta[T], func(kube.Key)) {
	refs := kube.OwnerReferencesOf[R]()
	return func(d cache.Delta[T], add func(kube.Key)) {
		now, ok := ownerKey(owner, d.Key, refs(d.New.GetOwnerReferences()))
		if ok {
			add(now)
		}
		if d.Type == watch.Modified {
			if was, had := ownerKey(owner, d.Key, refs(d.Old.GetOwnerReferences())); had && (!ok || was != now) {
				add(was)
			}
		}
	}
}

// ownerKey returns the key of the controlling owner of the object k among refs if that is
// of the resource, in any version.
func ownerKey(owner kube.Resource, k kube.Key, refs []kube.OwnerReference) (kube.Key, bool) {
	ref, ok := kube.ControllerOf(refs)
	if !ok || ref.Kind != owner.Kind {
		return kube.Key{}, false
	}
	if group, _, found := strings.Cut(ref.APIVersion, "/"); found && group != owner.Group || !found && owner.Group != "" {
		return kube.Key{}, false
	}
	if !owner.Namespaced {
		return kube.Key{Name: ref.Name}, true
	}
	return kube.Key{Namespace: k.Namespace, Name: ref.Name}, true
}

// Map adds the keys that f returns for each changed object of the input. For a modified object it
// also adds the keys that f returns for its previous state, so that keys that no longer depend on
// the object run too. f must be fast: the cache waits for it.
func Map[K comparable, T kube.Object](c *Controller[K], in Input[T], f func(T) []K, only ...func(cache.Delta[T]) bool) *Source {
	if f == nil {
		panic("controller " + c.name + ": the function of Map is nil")
	}
	return wire(c, in, only, mapped(f))
}

// mapped adds the keys that f returns.
func mapped[K comparable, T kube.Object](f func(T) []K) func(cache.Delta[T], func(K)) {
	return func(d cache.Delta[T], add func(K)) {
		if d.Type == watch.Modified && !d.Resync {
			for _, k := range f(d.Old) {
				add(k)
			}
		}
		for _, k := range f(d.New) {
			add(k)
		}
	}
}

// GenerationChanged passes creations, deletions, resyncs, and updates that change
// metadata.generation. The server decides which updates change it. For a custom resource with a
// status subresource these are all updates, except those of only status or metadata; without this
// subresource, a change of status counts too. For a Deployment, a change of annotations counts too.
// A new deletionTimestamp always counts. GenerationChanged also passes each update that a later
// list shows, because a restored server counts the generations again, and each update of objects
// without a generation, such as Services.
func GenerationChanged[T interface {
	kube.Object
	GetGeneration() int64
}](d cache.Delta[T]) bool {
	now := d.New.GetGeneration()
	return d.Type != watch.Modified || d.Resync || d.Inferred || now == 0 || now != d.Old.GetGeneration()
}

// LabelsChanged passes creations, deletions, resyncs, and updates that change labels.
func LabelsChanged[T cache.Labeled](d cache.Delta[T]) bool {
	return d.Type != watch.Modified || d.Resync || !maps.Equal(d.Old.GetLabels(), d.New.GetLabels())
}

// AnnotationsChanged passes creations, deletions, resyncs, and updates that change
// annotations.
func AnnotationsChanged[T interface {
	kube.Object
	GetAnnotations() map[string]string
}](d cache.Delta[T]) bool {
	return d.Type != watch.Modified || d.Resync || !maps.Equal(d.Old.GetAnnotations(), d.New.GetAnnotations())
}

// Any returns a predicate that passes the changes that at least one of preds passes.
func Any[T kube.Object](preds ...func(cache.Delta[T]) bool) func(cache.Delta[T]) bool {
	return func(d cache.Delta[T]) bool {
		for _, pass := range preds {
			if pass(d) {
				return true
			}
		}
		return false
	}
}
