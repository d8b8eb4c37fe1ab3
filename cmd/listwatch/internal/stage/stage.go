// Package stage plays the cluster of the demonstration.
package stage

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
)

// Namespace is that of the pods.
const Namespace = "shop"

// Stage plays a cluster.
type Stage struct {
	srv   *apitest.Server
	talk  *messages.Writer
	speed float64
	seen  chan record.Record // by the watch
	pods  int
	web   []pod // at first
}

// New sets the scene on srv. The play runs speed times as fast as usual.
func New(srv *apitest.Server, talk *messages.Writer, speed float64) *Stage {
	s := &Stage{srv: srv, talk: talk, speed: speed, seen: make(chan record.Record, 4096)}
	s.begin()
	return s
}

// See takes what the watch has delivered, for which the play waits.
func (s *Stage) See(r record.Record) {
	select {
	case s.seen <- r:
	default: // a story is never that long
	}
}

// pod is a pod of the play.
type pod struct {
	name, node, image string
	phase             string
	ready             bool
	restarts          int
}

func (d pod) json() map[string]any {
	meta := map[string]any{"name": d.name, "namespace": Namespace, "labels": map[string]string{"app": "web"},
		"finalizers": []string{"example.com/drained"}} // with which a deletion is seen to begin
	status := map[string]any{"ready": d.ready, "restartCount": d.restarts, "name": "web", "image": d.image,
		"state": map[string]any{"running": map[string]any{}}}
	if d.phase == "Pending" {
		status["state"] = map[string]any{"waiting": map[string]any{"reason": "ContainerCreating"}}
	}
	return map[string]any{
		"metadata": meta,
		"spec":     map[string]any{"nodeName": d.node, "containers": []any{map[string]any{"name": "web", "image": d.image}}},
		"status":   map[string]any{"phase": d.phase, "containerStatuses": []any{status}},
	}
}

func (s *Stage) put(d pod) { s.srv.Put(kube.Pods, d.json()) }

// running returns a new pod that is up.
func (s *Stage) running(set, node string) pod {
	s.pods++
	suffix := fmt.Sprintf("%c%c%c%c", 'b'+s.pods%7, 'd'+s.pods%5, '2'+s.pods%8, 'q'+s.pods%9)
	return pod{name: "web-" + set + "-" + suffix, node: node, image: "shop/web:" + set, phase: "Running", ready: true}
}

// begin sets the scene.
func (s *Stage) begin() {
	for _, n := range []string{"node-1", "node-2", "node-3"} {
		s.srv.Put(kube.Nodes, map[string]any{"metadata": map[string]any{"name": n}})
	}
	s.srv.Put(kube.Deployments, map[string]any{"metadata": map[string]any{"name": "web", "namespace": Namespace}, "spec": map[string]any{"replicas": 3}})
	s.web = []pod{s.running("v1", "node-1"), s.running("v1", "node-2"), s.running("v1", "node-3")}
	for _, d := range s.web {
		s.put(d)
	}
}

// Play returns nil when the story is over and seen.
func (s *Stage) Play(ctx context.Context) error {
	old := s.web
	if err := s.await(ctx, "SYNCED", ""); err != nil {
		return err
	}
	s.Announce("a rolling update of deployment web, from v1 to v2")
	var web []pod
	for _, d := range old {
		n := s.running("v2", d.node)
		if err := s.replace(ctx, d, n); err != nil {
			return err
		}
		web = append(web, n)
	}

	s.Announce("the connection is cut; a pod restarts meanwhile")
	s.forget()
	web[0].restarts++
	if err := s.away(func() { s.put(web[0]) }); err != nil {
		return err
	}
	if err := s.await(ctx, "MODIFIED", web[0].name); err != nil {
		return err
	}

	moved := s.running("v2", "node-3")
	s.Announce(fmt.Sprintf("node-2 is drained: %s comes to node-3 in place of %s", moved.name, web[1].name))
	s.srv.Put(kube.Nodes, map[string]any{"metadata": map[string]any{"name": "node-2"}, "spec": map[string]any{"unschedulable": true}})
	if err := s.replace(ctx, web[1], moved); err != nil {
		return err
	}
	web[1] = moved

	s.Announce("the connection is cut for so long that the server forgets its history; a pod is deleted meanwhile")
	if err := s.away(func() {
		s.srv.Delete(kube.Pods, key(web[2]))
		s.srv.Expire()
	}); err != nil {
		return err
	}
	if err := s.await(ctx, record.RelistedType, ""); err != nil {
		return err
	}

	s.Announce("the deployment is deleted")
	s.srv.Delete(kube.Deployments, kube.Key{Namespace: Namespace, Name: "web"})
	for _, d := range web[:2] {
		if err := s.leave(ctx, d); err != nil {
			return err
		}
	}
	return s.await(ctx, "DELETED", web[1].name)
}

// away cuts the connection, and lets no other in until f has returned.
func (s *Stage) away(f func()) error {
	if err := s.srv.SetDoor(apitest.Refusing); err != nil {
		return err
	}
	s.srv.DropWatches()
	f()
	return s.srv.SetDoor(apitest.Open)
}

func key(d pod) kube.Key { return kube.Key{Namespace: Namespace, Name: d.name} }

// replace starts n, and when it runs, stops d.
func (s *Stage) replace(ctx context.Context, d, n pod) error {
	starting := n
	starting.phase, starting.ready = "Pending", false
	s.put(starting)
	if err := s.pause(ctx, 400*time.Millisecond); err != nil {
		return err
	}
	s.put(n)
	if err := s.pause(ctx, 200*time.Millisecond); err != nil {
		return err
	}
	return s.leave(ctx, d)
}

// leave stops d.
func (s *Stage) leave(ctx context.Context, d pod) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, s.srv.URL+kube.Pods.ObjectPath(key(d)), nil)
	if err != nil {
		return err
	}
	resp, err := s.srv.Client().Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if err := s.pause(ctx, 300*time.Millisecond); err != nil {
		return err
	}
	s.srv.Delete(kube.Pods, key(d))
	return s.pause(ctx, 200*time.Millisecond)
}

// Announce prints a message of the play.
func (s *Stage) Announce(text string) { s.talk.Info("demo", text, "scene", "text", text) }

func (s *Stage) pause(ctx context.Context, d time.Duration) error {
	return wait.For(ctx, time.Duration(float64(d)/s.speed))
}

// forget drops what the watch has delivered so far.
func (s *Stage) forget() {
	for len(s.seen) > 0 {
		<-s.seen
	}
}

// await returns a moment after the watch has delivered a record.
func (s *Stage) await(ctx context.Context, what, name string) error {
	for {
		select {
		case r := <-s.seen:
			if r.Type == what && (name == "" || r.ID.Name == name) {
				return s.pause(ctx, 500*time.Millisecond)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
