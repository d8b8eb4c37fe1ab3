package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

const storm = "storm"

func configMap(name, value string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"data":{"value":%q}}`, name, value)
}

// event is one of core v1, which the apiserver keeps no watch cache of: lists and
// watches of events meet etcd's own history.
func event(name, message string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"involvedObject":{"kind":"ConfigMap","namespace":%q,"name":"a"},"reason":"Told","message":%q,"type":"Normal"}`,
		name, storm, message)
}

func (s *stage) configMap(method, namespace, name, value string) func() error {
	path := kube.ConfigMaps.ObjectPath(kube.Key{Namespace: namespace, Name: name})
	switch method {
	case "POST":
		return s.write(method, kube.ConfigMaps.Path(namespace), configMap(name, value))
	case "PATCH":
		return s.write(method, path, configMap(name, value))
	}
	return s.write(method, path, "")
}

func goneStorm(ctx context.Context, s *stage) error {
	steps := []func() error{s.write("POST", kube.Namespaces.Path(""), `{"metadata":{"name":"`+storm+`"}}`)}
	for _, name := range strings.Split("abcdefgh", "") {
		steps = append(steps, s.write("POST", kube.Events.Path(storm), event(name, "first")))
	}
	steps = append(steps, s.configMap("POST", storm, "a", "first"), s.configMap("POST", storm, "b", "first"))
	if err := do(steps...); err != nil {
		return err
	}
	// While it is armed, etcd is compacted behind the first page of a list of
	// events, so that its continue token leads nowhere.
	var armed atomic.Bool
	var n atomic.Int32
	compact := func() error {
		// Where nothing was written, the snapshot of the list is the newest.
		return do(s.write("POST", kube.Events.Path(storm), event(fmt.Sprintf("x%d", n.Add(1)), "storm")), s.compact)
	}
	var failure atomic.Pointer[error]
	events := s.follow(kube.Events, storm, watch.Options{Initial: watch.Paged, Limit: 3, Trace: watch.Trace{Listed: func(p list.Progress) {
		if p.Pages == 1 && armed.CompareAndSwap(true, false) {
			if err := compact(); err != nil {
				failure.Store(&err)
			}
		}
	}}})
	s.follow(kube.ConfigMaps, storm, watch.Options{})
	if err := s.caughtUp(); err != nil {
		return err
	}
	for round := range 3 {
		value := fmt.Sprintf("round %d", round+1)
		name := strings.Split("abc", "")[round]
		err := do(
			s.mark(value+": cut, changed, compacted"),
			func() error {
				s.proxy.Refuse()
				s.proxy.CutAll()
				return s.breaks(events, 2)
			},
			s.write("PATCH", kube.Events.ObjectPath(kube.Key{Namespace: storm, Name: "e"}), `{"message":"`+value+`"}`),
			s.write("DELETE", kube.Events.ObjectPath(kube.Key{Namespace: storm, Name: name}), ""),
			s.configMap("PATCH", storm, "a", value),
			s.compact,
			func() error {
				armed.Store(round > 0) // the first round is a plain one
				return s.proxy.Accept()
			},
			s.caughtUp,
		)
		if e := failure.Load(); e != nil {
			err = *e
		}
		if err != nil {
			return err
		}
	}
	return do(
		s.mark("an old list is asked for"),
		s.oldList,
		s.mark("the apiserver loses its watch caches"),
		func() error {
			s.proxy.Refuse()
			if err := s.cluster.KillAPIServer(); err != nil {
				return err
			}
			if _, err := s.cluster.Advance(s.ctx); err != nil {
				return err
			}
			return s.cluster.StartAPIServer(s.ctx)
		},
		s.configMap("DELETE", storm, "b", ""),
		s.configMap("POST", storm, "c", "last"),
		s.compact,
		s.proxy.Accept,
		s.caughtUp,
		s.mark("the storm is over"),
	)
}

func (s *stage) compact() error {
	_, err := s.cluster.Compact(s.ctx)
	return err
}

// oldList asks for a list of a revision that is gone; the answer is recorded.
func (s *stage) oldList() error {
	_, err := call[struct{}](s.ctx, s.watched, client.Request{Path: kube.Events.Path(storm), Query: map[string][]string{
		"resourceVersion": {"2"}, "resourceVersionMatch": {"Exact"},
	}})
	if !errors.Is(err, kube.ErrGone) {
		return fmt.Errorf("a list at revision 2: %v, want 410", err)
	}
	return nil
}

func restart(ctx context.Context, s *stage) error {
	const ns = "restart"
	service := func(method, name, body string) func() error {
		if method == "POST" {
			return s.write(method, kube.Services.Path(ns), body)
		}
		return s.write(method, kube.Services.ObjectPath(kube.Key{Namespace: ns, Name: name}), body)
	}
	newService := func(name string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"clusterIP":"None","selector":{"app":%q}}}`, name, name)
	}
	err := do(
		s.write("POST", kube.Namespaces.Path(""), `{"metadata":{"name":"`+ns+`"}}`),
		s.configMap("POST", ns, "a", "first"),
		s.configMap("POST", ns, "b", "first"),
		service("POST", "", newService("front")),
		service("POST", "", newService("back")),
	)
	if err != nil {
		return err
	}
	streamed := s.follow(kube.ConfigMaps, ns, watch.Options{})
	paged := s.follow(kube.Services, ns, watch.Options{Initial: watch.Paged, Limit: 10})
	start := func() error { return s.cluster.StartAPIServer(s.ctx) }
	return do(
		s.caughtUp,
		s.mark("the apiserver is killed"),
		s.cluster.KillAPIServer,
		func() error { return s.breaks(streamed, 2) },
		func() error { return s.breaks(paged, 2) },
		start,
		s.caughtUp,
		s.configMap("PATCH", ns, "a", "after"),
		service("PATCH", "front", `{"spec":{"selector":{"app":"other"}}}`),
		s.caughtUp,

		s.mark("it is killed again, and much changes before it is reached"),
		s.cluster.KillAPIServer,
		func() error {
			s.proxy.Refuse()
			return start()
		},
		s.configMap("PATCH", ns, "a", "away"),
		s.configMap("DELETE", ns, "b", ""),
		s.configMap("POST", ns, "c", "away"),
		service("DELETE", "back", ""),
		s.proxy.Accept,
		s.caughtUp,

		s.mark("it is stopped in good order"),
		func() error { return s.cluster.StopAPIServer(s.ctx) },
		start,
		s.caughtUp,
		s.configMap("POST", ns, "d", "last"),
		s.caughtUp,
		s.mark("all is well again"),
	)
}
