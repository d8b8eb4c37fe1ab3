package livepage

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/kube"
)

// played is a cluster that is played in this process.
type played struct {
	srv    *apitest.Server
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

const namespace = "shop"

// play starts a cluster with a rollout, a crash loop, a drain and a lost connection, over
// and over.
func play(ctx context.Context, speed float64) (*played, error) {
	srv, err := apitest.Start(apitest.Options{Seed: 7, CollectGarbage: true, NoValidation: true})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	p := &played{srv: srv, cancel: cancel}
	p.begin()
	p.wg.Go(func() { _ = simulate.New(srv, simulate.Options{Nodes: 4, Seed: 7, Speed: speed}).Run(ctx) }) // it ends with ctx only
	p.wg.Go(func() { p.run(ctx, speed) })
	return p, nil
}

// close ends it.
func (p *played) close() {
	p.cancel()
	p.wg.Wait()
	p.srv.Close()
}

func deployment(name, version string, replicas int) string {
	return fmt.Sprintf(`{"metadata":{"name":%[1]q,"namespace":%[4]q,"labels":{"app":%[1]q}},"spec":{"replicas":%[3]d,"selector":{"matchLabels":{"app":%[1]q}},
		"template":{"metadata":{"labels":{"app":%[1]q}},"spec":{"containers":[{"name":"app","image":"shop/%[1]s:%[2]s"}]}}}}`, name, version, replicas, namespace)
}

// begin sets the scene.
func (p *played) begin() {
	for _, d := range []struct {
		name     string
		replicas int
	}{{"web", 4}, {"cart", 3}, {"search", 2}, {"payments", 2}} {
		p.srv.Put(kube.Deployments, deployment(d.name, "1.0.0", d.replicas))
		p.srv.Put(kube.Services, fmt.Sprintf(`{"metadata":{"name":%[1]q,"namespace":%[2]q},"spec":{"selector":{"app":%[1]q},"ports":[{"port":80}]}}`, d.name, namespace))
	}
	p.srv.Put(kube.StatefulSets, fmt.Sprintf(`{"metadata":{"name":"ledger","namespace":%q},"spec":{"serviceName":"ledger","replicas":3,"selector":{"matchLabels":{"app":"ledger"}},
		"template":{"metadata":{"labels":{"app":"ledger"}},"spec":{"containers":[{"name":"db","image":"postgres:17"}]}}}}`, namespace))
	p.srv.Put(kube.DaemonSets, `{"metadata":{"name":"fluent-bit","namespace":"infra"},"spec":{"selector":{"matchLabels":{"app":"fluent-bit"}},
		"template":{"metadata":{"labels":{"app":"fluent-bit"}},"spec":{"containers":[{"name":"app","image":"fluent/fluent-bit:4.0"}]}}}}`)
	p.srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"name":"flags","namespace":%q},"data":{"checkout":"old","banner":"off"}}`, namespace))
	p.srv.Put(kube.Secrets, fmt.Sprintf(`{"metadata":{"name":"payments","namespace":%q},"type":"Opaque","data":{"token":"aHVudGVyMg=="}}`, namespace))
}

// run plays the story again and again.
func (p *played) run(ctx context.Context, speed float64) {
	pause := func(d time.Duration) bool {
		t := time.NewTimer(time.Duration(float64(d) / speed))
		defer t.Stop()
		select {
		case <-ctx.Done():
			return false
		case <-t.C:
			return true
		}
	}
	for round := 1; pause(2 * time.Second); round++ {
		p.srv.Put(kube.Deployments, deployment("web", fmt.Sprintf("1.%d.0", round), 4))
		p.event("web", "deployments", "Normal", "ScalingReplicaSet", "Scaled up the replica set of the new version", round)
		if !pause(9 * time.Second) {
			return
		}
		victim := p.pod("cart")
		for n := 1; n <= 4 && victim != ""; n++ {
			p.crash(victim, n, "CrashLoopBackOff")
			p.event(victim, "pods", "Warning", "BackOff", "Back-off restarting failed container app", n)
			if !pause(3 * time.Second) {
				return
			}
		}
		p.crash(victim, 4, "")
		p.srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"name":"flags","namespace":%q},"data":{"checkout":"new","banner":"round %d"}}`, namespace, round))
		if !pause(3 * time.Second) {
			return
		}
		p.drain("node-2")
		if !pause(8 * time.Second) {
			return
		}
		p.cordon("node-2", false)
		if err := p.srv.SetDoor(apitest.Refusing); err == nil { // an error: there are no doors
			p.srv.CutWatches()
			p.srv.Put(kube.Deployments, deployment("search", fmt.Sprintf("2.%d.0", round), 2+round%2))
			if !pause(4 * time.Second) {
				return
			}
			if round%2 == 1 {
				p.srv.Expire()
			}
			_ = p.srv.SetDoor(apitest.Open) // as before
		}
		if !pause(8 * time.Second) {
			return
		}
	}
}

// pod is the name of one of an app.
func (p *played) pod(app string) string {
	list, _ := p.srv.List(kube.Pods)
	for _, b := range list {
		var o struct {
			Metadata struct {
				Name   string
				Labels map[string]string
			}
		}
		if json.Unmarshal(b, &o) == nil && o.Metadata.Labels["app"] == app {
			return o.Metadata.Name
		}
	}
	return ""
}

// crash lets the container of a pod wait for its next start, or run again.
func (p *played) crash(name string, restarts int, reason string) {
	k := kube.Key{Namespace: namespace, Name: name}
	if p.srv.Get(kube.Pods, k) == nil {
		return
	}
	p.srv.Edit(kube.Pods, k, func(old []byte) any {
		var o map[string]any
		if json.Unmarshal(old, &o) != nil {
			return old
		}
		status, _ := o["status"].(map[string]any)
		list, _ := status["containerStatuses"].([]any)
		for _, e := range list {
			c, _ := e.(map[string]any)
			c["restartCount"], c["ready"] = restarts, reason == ""
			c["state"] = map[string]any{"running": map[string]any{}}
			if reason != "" {
				c["state"] = map[string]any{"waiting": map[string]any{"reason": reason}}
			}
		}
		return o
	})
}

func (p *played) cordon(node string, on bool) {
	p.srv.Edit(kube.Nodes, kube.Key{Name: node}, func(old []byte) any {
		var o map[string]any
		if json.Unmarshal(old, &o) != nil {
			return old
		}
		spec, _ := o["spec"].(map[string]any)
		if spec == nil {
			spec = map[string]any{}
		}
		spec["unschedulable"] = on
		o["spec"] = spec
		return o
	})
}

// drain deletes the pods of a node.
func (p *played) drain(node string) {
	if p.srv.Get(kube.Nodes, kube.Key{Name: node}) == nil {
		return
	}
	p.cordon(node, true)
	list, _ := p.srv.List(kube.Pods)
	for _, b := range list {
		var o struct {
			Metadata struct{ Name, Namespace string }
			Spec     struct{ NodeName string }
		}
		if json.Unmarshal(b, &o) == nil && o.Spec.NodeName == node && o.Metadata.Namespace == namespace {
			p.srv.Delete(kube.Pods, kube.Key{Namespace: namespace, Name: o.Metadata.Name})
		}
	}
}

// event writes an Event about an object.
func (p *played) event(name, plural, kind, reason, message string, count int) {
	at := time.Now().UTC().Format(time.RFC3339)
	k := map[string]string{"pods": "Pod", "deployments": "Deployment"}[plural]
	p.srv.Put(kube.Events, fmt.Sprintf(`{"metadata":{"name":"%s.%s","namespace":%q},"involvedObject":{"kind":%q,"name":%q,"namespace":%q},"type":%q,"reason":%q,"message":%q,"count":%d,"firstTimestamp":%q,"lastTimestamp":%q,"source":{"component":"demo"}}`,
		name, reason, namespace, k, name, namespace, kind, reason, message, count, at, at))
}
