package operator

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
)

// Objects are the objects that a reconciler works on: the informer that holds them, the
// controller, and writes that the next run of an object sees.
type Objects[T kube.Object] struct {
	*cache.Informer[T]
	Controller *controller.Controller[kube.Key]
	Resource   kube.Resource

	op    *Operator
	work  Reconciler[T]
	whole func() bool

	mu   sync.Mutex
	runs map[kube.Key]*written[T] // that are in progress
}

// written is what a run has written of its object.
type written[T kube.Object] struct {
	was []string // resourceVersions of the previous states
	now T
}

// For adds a reconciler of the objects of r; call it once for each r. The name of its
// controller is the plural of r.
func For[T interface {
	kube.Object
	GetGeneration() int64
}](op *Operator, r kube.Resource, work Reconciler[T]) *Objects[T] {
	if work.Reconcile == nil || (work.Finalizer == "") != (work.Finalize == nil) {
		panic(fmt.Sprintf("operator: the reconciler of %s has no Reconcile, or one of Finalizer and Finalize", r))
	}
	s := &Objects[T]{Informer: Watch[T](op, r), Resource: r, op: op, work: work, runs: map[kube.Key]*written[T]{}}
	s.whole = sync.OnceValue(func() bool { return whole[T](op, r) }) // when Setup has ended
	s.Controller = controller.New(r.Plural, s.run, work.options())
	controller.For(s.Controller, s.Informer, controller.GenerationChanged)
	op.Manager.AddLed(s.Controller)
	return s
}

// run calls the functions of the reconciler.
func (s *Objects[T]) run(ctx context.Context, k kube.Key) (none controller.Result, err error) {
	o, ok := s.Store().Get(k)
	if !ok {
		return none, nil
	}
	meta, err := metaOf(o)
	if err != nil {
		return none, err
	}
	s.begin(k, &written[T]{})
	defer s.begin(k, nil)
	held := s.work.Finalizer != "" && slices.Contains(meta.Finalizers, s.work.Finalizer)
	switch {
	case meta.DeletionTimestamp == nil && s.work.Finalizer != "" && !held:
		if o, err = s.finalizers(ctx, o, append(slices.Clone(meta.Finalizers), s.work.Finalizer)); err != nil {
			return none, err
		}
		return s.work.Reconcile(ctx, o)
	case meta.DeletionTimestamp == nil:
		return s.work.Reconcile(ctx, o)
	case !held:
		return none, nil
	}
	done, err := s.work.Finalize(ctx, o)
	if err != nil || !done {
		return none, err
	}
	_, err = s.finalizers(ctx, o, slices.DeleteFunc(slices.Clone(meta.Finalizers), func(f string) bool { return f == s.work.Finalizer }))
	if errors.Is(err, kube.ErrNotFound) {
		err = nil
	}
	return none, err
}

// finalizers sets those of o, if nobody changes o meanwhile.
func (s *Objects[T]) finalizers(ctx context.Context, o T, all []string) (T, error) {
	patch := map[string]any{"metadata": map[string]any{"resourceVersion": o.GetResourceVersion(), "finalizers": all}}
	return s.Writes(o).Patch(ctx, kube.KeyOf(o), client.MergePatch, patch)
}

// Writes returns the collection of the resource for writes in a run of o: the next run of o sees
// these writes.
func (s *Objects[T]) Writes(o T) client.Collection[T] {
	c := of[T](s.op, s.Resource).With(client.WriteOptions{FieldManager: s.op.o.suffixed(), Whole: s.whole()})
	return controller.Awaited(s.Controller, kube.KeyOf(o), c, s.Informer)
}

// Patch lets change modify a copy of o, and sends the difference, if there is one: see
// [client.Collection.PatchFrom]. If Patch or PatchStatus have changed o before in this run,
// change gets a copy of the state that they returned.
func (s *Objects[T]) Patch(ctx context.Context, o T, change func(*T)) (T, error) {
	return s.patch(ctx, o, change, client.Collection[T].PatchFrom)
}

// PatchStatus is Patch of the status. If o was deleted meanwhile, PatchStatus does
// nothing. If the resource has no status subresource, it returns an error.
func (s *Objects[T]) PatchStatus(ctx context.Context, o T, change func(*T)) error {
	_, err := s.patch(ctx, o, change, client.Collection[T].PatchStatusFrom)
	if !errors.Is(err, kube.ErrNotFound) {
		return err
	}
	now, failed := s.Writes(o).Get(ctx, kube.KeyOf(o)) // servers answer alike for both
	switch {
	case errors.Is(failed, kube.ErrNotFound), errors.Is(failed, kube.ErrForbidden):
		return nil
	case failed != nil:
		return errors.Join(err, failed)
	case s.uid(now) != s.uid(o):
		return nil
	}
	return fmt.Errorf("%s has no status subresource, or was created meanwhile: %w", s.Resource, err)
}

func (s *Objects[T]) uid(o T) string { return kube.NewControllerReference(s.Resource, o).UID }

func (s *Objects[T]) patch(ctx context.Context, o T, change func(*T), send func(client.Collection[T], context.Context, T, T, client.PatchOptions) (T, error)) (T, error) {
	k := kube.KeyOf(o)
	s.mu.Lock()
	run := s.runs[k]
	if run != nil && slices.Contains(run.was, o.GetResourceVersion()) {
		o = run.now
	}
	s.mu.Unlock()
	after := kube.Clone(o)
	change(&after)
	now, err := send(s.Writes(o), ctx, o, after, client.PatchOptions{})
	if err == nil && run != nil && now.GetResourceVersion() != o.GetResourceVersion() {
		s.mu.Lock()
		run.was, run.now = append(run.was, o.GetResourceVersion()), now
		s.mu.Unlock()
	}
	return now, err
}

// begin notes the run of k, nil at its end.
func (s *Objects[T]) begin(k kube.Key, run *written[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs[k] = run; run == nil {
		delete(s.runs, k)
	}
}

// metaOf returns the metadata of an object that has the members of metadata as fields, as
// types with kube.Meta and those of k8s.io/api do.
func metaOf(o kube.Object) (m kube.Meta, err error) {
	v := reflect.Indirect(reflect.ValueOf(o))
	if v.Kind() != reflect.Struct {
		return m, fmt.Errorf("operator: %T is no struct with metadata", o)
	}
	to := reflect.ValueOf(&m).Elem()
	for _, name := range []string{"UID", "ResourceVersion", "Generation", "Labels", "Annotations", "Finalizers"} {
		from, f := v.FieldByName(name), to.FieldByName(name)
		if !from.IsValid() || !from.CanConvert(f.Type()) {
			return m, fmt.Errorf("operator: %T has no metadata: field %s", o, name)
		}
		f.Set(from.Convert(f.Type()))
	}
	if d := v.FieldByName("DeletionTimestamp"); d.IsValid() && d.Kind() == reflect.Pointer && !d.IsNil() {
		m.DeletionTimestamp = &zero
	}
	return m, nil
}
