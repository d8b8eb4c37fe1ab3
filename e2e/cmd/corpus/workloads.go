package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/e2e/node"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
	"github.com/listwatch/listwatch/watch"
)

const shop = "shop"

// deployment is one of 3 replicas; it keeps one old ReplicaSet.
func deployment(image string) string {
	return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":3,
		"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},
		"spec":{"terminationGracePeriodSeconds":5,"containers":[{"name":"web","image":"` + image + `"}]}}}}`
}

// workload starts two Nodes and rolls out a Deployment.
func workload(ctx context.Context, s *stage) error {
	s.running.Go(func() {
		err := node.Run(s.ctx, s.admin, node.Options{Names: []string{"node-a", "node-b"}})
		if s.ctx.Err() == nil {
			s.stop() // nothing will move any more
			_ = s.writer.Mark("the nodes failed: " + err.Error())
		}
	})
	return do(
		s.write("POST", kube.Namespaces.Path(""), `{"metadata":{"name":"`+shop+`"}}`),
		s.write("POST", kube.Deployments.Path(shop), deployment("example.com/web:1")),
		s.rolledOut,
	)
}

// rolledOut waits until the Deployment is what it should be, and its Pods are
// ready and no others there.
func (s *stage) rolledOut() error {
	return s.until("the deployment is rolled out", func() (bool, error) {
		d, err := call[struct {
			Metadata kube.Meta `json:"metadata"`
			Status   struct {
				ObservedGeneration                                  int64
				Replicas, UpdatedReplicas, ReadyReplicas, Available int
			} `json:"status"`
		}](s.ctx, s.admin, client.Request{Path: kube.Deployments.ObjectPath(kube.Key{Namespace: shop, Name: "web"})})
		if err != nil {
			return false, err
		}
		pods, err := versions(s.ctx, s.admin, replay.Target{Resource: kube.Pods, Namespace: shop})
		now := d.Status
		return now.ObservedGeneration == d.Metadata.Generation && now.Replicas == 3 && now.UpdatedReplicas == 3 &&
			now.ReadyReplicas == 3 && len(pods) == 3, err
	})
}

func rollingUpdate(ctx context.Context, s *stage) error {
	if err := workload(ctx, s); err != nil {
		return err
	}
	s.follow(kube.Deployments, shop, watch.Options{})
	s.follow(kube.ReplicaSets, shop, watch.Options{})
	s.follow(kube.Pods, shop, watch.Options{})
	return do(
		s.caughtUp,
		s.mark("the image changes"),
		s.write("PATCH", kube.Deployments.ObjectPath(kube.Key{Namespace: shop, Name: "web"}),
			`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"example.com/web:2"}]}}}}`),
		s.rolledOut,
		s.caughtUp,
		s.mark("it is rolled out"),
	)
}

var budgets = kube.Resource{Group: "policy", Version: "v1", Plural: "poddisruptionbudgets", Kind: "PodDisruptionBudget", Namespaced: true}

func drain(ctx context.Context, s *stage) error {
	err := do(
		func() error { return workload(ctx, s) },
		s.write("POST", budgets.Path(shop), `{"metadata":{"name":"web"},"spec":{"minAvailable":2,"selector":{"matchLabels":{"app":"web"}}}}`),
	)
	if err != nil {
		return err
	}
	s.follow(kube.Nodes, "", watch.Options{})
	s.follow(kube.Pods, shop, watch.Options{})
	s.follow(budgets, shop, watch.Options{})
	return do(
		s.budgeted,
		s.caughtUp,
		s.mark("node-a is cordoned"),
		s.write("PATCH", kube.Nodes.ObjectPath(kube.Key{Name: "node-a"}), `{"spec":{"unschedulable":true}}`),
		s.caughtUp,
		s.mark("its pods are evicted"),
		func() error { return s.evict("node-a") },
		s.rolledOut,
		s.budgeted,
		s.caughtUp,
		s.mark("it is drained"),
	)
}

// budgeted waits until the disruption controller lets a Pod go.
func (s *stage) budgeted() error {
	return s.until("the budget allows a disruption", func() (bool, error) {
		b, err := call[struct {
			Status struct{ DisruptionsAllowed int } `json:"status"`
		}](s.ctx, s.admin, client.Request{Path: budgets.ObjectPath(kube.Key{Namespace: shop, Name: "web"})})
		return b.Status.DisruptionsAllowed == 1, err
	})
}

// evict evicts the Pods of a Node; what the budget forbids it tries again.
func (s *stage) evict(name string) error {
	return s.until("no pod is left on "+name, func() (bool, error) {
		pods, err := call[struct {
			Items []struct {
				Metadata kube.Meta                 `json:"metadata"`
				Spec     struct{ NodeName string } `json:"spec"`
			} `json:"items"`
		}](s.ctx, s.admin, client.Request{Path: kube.Pods.Path(shop)})
		if err != nil {
			return false, err
		}
		left := 0
		for _, p := range pods.Items {
			if p.Spec.NodeName != name {
				continue
			}
			left++
			if p.Metadata.DeletionTimestamp != nil {
				continue
			}
			body, _ := json.Marshal(map[string]any{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]string{"name": p.Metadata.Name}})
			_, err := call[struct{}](s.ctx, s.admin, client.Request{
				Method: "POST", Path: kube.Pods.ObjectPath(kube.Key{Namespace: shop, Name: p.Metadata.Name}, "eviction"), Body: body,
			})
			if err != nil && !errors.Is(err, kube.ErrThrottled) && !errors.Is(err, kube.ErrNotFound) {
				return false, err
			}
		}
		return left == 0, nil
	})
}

var widgets = kube.Resource{Group: "example.com", Version: "v1", Plural: "widgets", Kind: "Widget", Namespaced: true}

const widgetsCRD = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},
	"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget"},
	"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
	"properties":{"spec":{"type":"object","properties":{"size":{"type":"integer"}}}}}}}]}}`

func widget(name string, size int) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":%q},"spec":{"size":%d}}`, name, size)
}

func crdAdded(ctx context.Context, s *stage) error {
	definition := kube.CustomResourceDefinitions.ObjectPath(kube.Key{Name: "widgets.example.com"})
	one := func(name string) string {
		return widgets.ObjectPath(kube.Key{Namespace: "default", Name: name})
	}
	s.follow(kube.CustomResourceDefinitions, "", watch.Options{})
	if err := s.caughtUp(); err != nil {
		return err
	}
	if ok, err := s.discovered(); ok {
		return fmt.Errorf("widgets are there already: %w", err)
	}
	f := s.follow(widgets, "default", watch.Options{})
	served := func() error { return s.until("widgets are served", s.discovered) }
	return do(
		func() error { return s.breaks(f, 2) },
		s.mark("the CRD is made"),
		s.write("POST", kube.CustomResourceDefinitions.Path(""), widgetsCRD),
		served,
		s.caughtUp,
		s.mark("widgets are made, changed and deleted"),
		s.write("POST", widgets.Path("default"), widget("a", 1)),
		s.write("POST", widgets.Path("default"), widget("b", 2)),
		s.write("POST", widgets.Path("default"), widget("c", 3)),
		s.write("PATCH", one("a"), `{"spec":{"size":10}}`),
		s.write("DELETE", one("b"), ""),
		s.caughtUp,
		s.mark("the CRD is deleted"),
		s.write("DELETE", definition, ""),
		func() error {
			return s.until("widgets are served no more", func() (bool, error) {
				ok, err := s.discovered()
				return !ok && errors.Is(err, kube.ErrNotFound), nil
			})
		},
		func() error { return s.breaks(f, 3) },
		s.mark("the CRD is made again"),
		s.write("POST", kube.CustomResourceDefinitions.Path(""), widgetsCRD),
		served,
		s.write("POST", widgets.Path("default"), widget("a", 100)),
		s.caughtUp,
		s.mark("there is a new widget of an old name"),
	)
}

// discovered asks whether widgets are served; this is recorded.
func (s *stage) discovered() (bool, error) {
	list, err := call[struct {
		Resources []struct{ Name string } `json:"resources"`
	}](s.ctx, s.watched, client.Request{Path: strings.TrimSuffix(widgets.Path(""), "/widgets")})
	for _, r := range list.Resources {
		if r.Name == "widgets" {
			return true, nil
		}
	}
	return false, err
}
