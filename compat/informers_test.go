package compat_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

// many is more than a page of a reflector has.
const many = 510

func informerStories() []story {
	return []story{
		{name: "InformersStreaming", play: func(t *testing.T, s *server) *transcript { return playInformers(t, s, true) }},
		{name: "InformersPaged", play: func(t *testing.T, s *server) *transcript { return playInformers(t, s, false) }},
	}
}

// playInformers lets informers of three kinds follow one namespace through
// writes, watches that the server ends, broken connections, and the loss of
// history while they are away.
func playInformers(t *testing.T, s *server, streaming bool) *transcript {
	featurestesting.SetFeatureDuringTest(t, features.WatchListClient, streaming)
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	ns := strings.ToLower(t.Name()[strings.LastIndex(t.Name(), "Informers"):])
	ns = ns[:strings.Index(ns, "/")]
	w := newWorld(t, s, ns)
	for i := range many {
		w.create(ctx, fmt.Sprintf("a-%03d", i))
	}
	r := &transcript{}
	followers := startFollowers(ctx, t, s, ns)
	step := func(name string) {
		t.Helper()
		truth := w.truth(ctx)
		for _, f := range followers {
			f.settle(ctx, t, name, truth)
			r.add(name+", "+f.name, f.delivered()...)
		}
	}
	step("start")

	w.create(ctx, "b")
	w.update(ctx, "b")
	w.update(ctx, "a-000")
	w.delete(ctx, "a-001")
	step("writes")

	for _, f := range followers {
		f.tap.shortenWatches(1)
		f.tap.hold()
		f.tap.release()
	}
	w.update(ctx, "b")
	step("watches broken")
	w.create(ctx, "c")
	for _, f := range followers {
		if !eventually(ctx, f.tap.hasEnded) {
			t.Errorf("the server did not end the watch of the %s informer, which had a short timeout", f.name)
		}
	}
	step("watches ended by the server")
	w.update(ctx, "c")
	w.delete(ctx, "b")
	step("writes after that")

	for _, f := range followers {
		f.tap.hold()
	}
	w.delete(ctx, "a-002")
	w.update(ctx, "a-003")
	w.create(ctx, "d")
	w.recreate(ctx, "a-004")
	s.expire(t)
	for _, f := range followers {
		f.tap.release()
	}
	step("history lost")
	w.update(ctx, "d")
	w.delete(ctx, "c")
	step("writes at the end")
	for _, f := range followers {
		r.add("requests of "+f.name, f.tap.lines()...)
	}
	return r
}

// follower is an informer and what its handler received.
type follower struct {
	name     string
	tap      *tap
	informer cache.SharedIndexInformer

	mu   sync.Mutex
	view map[string]string // name -> UID and revision
	log  []string
}

// startFollowers starts an informer of each kind. They end with the test.
func startFollowers(ctx context.Context, t *testing.T, s *server, ns string) []*follower {
	configMaps := corev1.SchemeGroupVersion.WithResource("configmaps")
	var all []*follower
	add := func(name string, build func(*tap) (cache.SharedIndexInformer, error)) {
		f := &follower{name: name, tap: newTap(), view: make(map[string]string)}
		var err error
		if f.informer, err = build(f.tap); err != nil {
			t.Fatal(err)
		}
		if _, err := f.informer.AddEventHandler(f.handler()); err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	add("typed", func(p *tap) (cache.SharedIndexInformer, error) {
		c, err := kubernetes.NewForConfig(s.config(t, p))
		if err != nil {
			return nil, err
		}
		return informers.NewSharedInformerFactoryWithOptions(c, 0, informers.WithNamespace(ns)).Core().V1().ConfigMaps().Informer(), nil
	})
	add("dynamic", func(p *tap) (cache.SharedIndexInformer, error) {
		c, err := dynamic.NewForConfig(s.config(t, p))
		if err != nil {
			return nil, err
		}
		return dynamicinformer.NewFilteredDynamicSharedInformerFactory(c, 0, ns, nil).ForResource(configMaps).Informer(), nil
	})
	add("metadata", func(p *tap) (cache.SharedIndexInformer, error) {
		c, err := metadata.NewForConfig(s.config(t, p))
		if err != nil {
			return nil, err
		}
		return metadatainformer.NewFilteredSharedInformerFactory(c, 0, ns, func(o *metav1.ListOptions) {
			o.LabelSelector = "app=compat"
		}).ForResource(configMaps).Informer(), nil
	})
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	for _, f := range all {
		running.Go(func() { f.informer.RunWithContext(ctx) })
	}
	return all
}

// handler keeps the view and logs what changes it: an update that is none comes
// with each new list, how often, is not the same each time.
func (f *follower) handler() cache.ResourceEventHandler {
	note := func(verb string, obj any) {
		o, err := meta.Accessor(obj)
		if err != nil {
			f.log = append(f.log, err.Error())
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		is := string(o.GetUID()) + " " + o.GetResourceVersion()
		if verb != "deleted" && f.view[o.GetName()] == is {
			return
		}
		f.log = append(f.log, verb+" "+o.GetName())
		f.view[o.GetName()] = is
		if verb == "deleted" {
			delete(f.view, o.GetName())
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { note("added", obj) },
		UpdateFunc: func(_, obj any) { note("updated", obj) },
		DeleteFunc: func(obj any) {
			if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = last.Obj
			}
			note("deleted", obj)
		},
	}
}

// settle waits until the handler's view is the truth.
func (f *follower) settle(ctx context.Context, t *testing.T, step string, truth map[string]string) {
	t.Helper()
	var diff string
	ok := eventually(ctx, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		diff = different(truth, f.view)
		return diff == ""
	})
	if !ok {
		t.Errorf("%s: the handler of the %s informer does not see what is: %s\nrequests:\n%s", step, f.name, diff, strings.Join(f.tap.lines(), "\n"))
	}
}

// delivered returns what the handler received since the last call, sorted.
func (f *follower) delivered() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	log := f.log
	f.log = nil
	slices.Sort(log)
	return log
}
