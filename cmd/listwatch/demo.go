package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// demoFlags are the flags of demo.
type demoFlags struct {
	watchFlags
	speed float64
}

func (p *program) demoCommand() *cobra.Command {
	o := &demoFlags{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a cluster that is played in this process",
		Long: `Watch the pods of a cluster that is played in this process: a rolling update, a
broken connection, the drain of a node, an expired history, a deletion. It takes
about ten seconds and needs nothing.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.demo(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.Float64Var(&o.speed, "speed", 1, "how many times faster than usual")
	f.StringSliceVar(&o.events, "events", nil, "print these only, such as ADDED,DELETED")
	f.StringVar(&o.eventColumn, "event-column", "auto", "print what happened to each object: auto (yes), true or false")
	o.printing.register(f)
	return cmd
}

func (p *program) demo(ctx context.Context, o *demoFlags) error {
	out, err := o.printing.parse(p)
	if err != nil {
		return err
	}
	if out.types, err = parseEvents(o.events); err != nil {
		return err
	}
	if o.speed < 0.1 || o.speed > 1000 {
		return usage("--speed %v: want 0.1 to 1000", o.speed)
	}
	srv, err := apitest.Start(apitest.Options{Seed: 7})
	if err != nil {
		return failed(err)
	}
	defer srv.Close()
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		return failed(err)
	}
	defer c.CloseIdleConnections()

	t := p.newTalk(&o.printing)
	stage := &stage{srv: srv, talk: t, speed: o.speed, seen: make(chan record, 4096)}
	stage.begin()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	o.maxFailures, o.idle = -1, time.Minute
	o.backoff = max(100*time.Millisecond, time.Duration(float64(500*time.Millisecond)/o.speed))
	s := &session{watchFlags: &o.watchFlags, output: out, client: c, talk: t, targets: []target{{resource: kube.Pods, namespace: demoNamespace}}}
	s.tap = func(r record) {
		select {
		case stage.seen <- r:
		default: // a story is never that long
		}
	}
	played := make(chan struct{})
	go func() {
		defer close(played)
		if stage.play(ctx) == nil {
			end(errAskedFor)
		}
	}()
	err = s.run(ctx, p)
	end(nil)
	<-played
	if errors.Is(err, errAskedFor) {
		stage.tell("what you saw is one watch: it resumed where its connection broke, and after the 410 it listed again and told what was deleted meanwhile.")
		stage.tell(`on a cluster of your own: listwatch watch pods -A, and "listwatch watch --help" for the rest.`)
	}
	return err
}

const demoNamespace = "shop"

// stage plays a cluster.
type stage struct {
	srv   *apitest.Server
	talk  *talk
	speed float64
	seen  chan record // by the watch
	pods  int
	web   []demoPod // at first
}

// demoPod is a pod of the play.
type demoPod struct {
	name, node, image string
	phase             string
	ready             bool
	restarts          int
}

func (d demoPod) json() map[string]any {
	meta := map[string]any{"name": d.name, "namespace": demoNamespace, "labels": map[string]string{"app": "web"},
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

func (s *stage) put(d demoPod) { s.srv.Put(kube.Pods, d.json()) }

// running returns a new pod that is up.
func (s *stage) running(set, node string) demoPod {
	s.pods++
	suffix := fmt.Sprintf("%c%c%c%c", 'b'+s.pods%7, 'd'+s.pods%5, '2'+s.pods%8, 'q'+s.pods%9)
	return demoPod{name: "web-" + set + "-" + suffix, node: node, image: "shop/web:" + set, phase: "Running", ready: true}
}

// begin sets the scene.
func (s *stage) begin() {
	for _, n := range []string{"node-1", "node-2", "node-3"} {
		s.srv.Put(kube.Nodes, map[string]any{"metadata": map[string]any{"name": n}})
	}
	s.srv.Put(kube.Deployments, map[string]any{"metadata": map[string]any{"name": "web", "namespace": demoNamespace}, "spec": map[string]any{"replicas": 3}})
	s.web = []demoPod{s.running("v1", "node-1"), s.running("v1", "node-2"), s.running("v1", "node-3")}
	for _, d := range s.web {
		s.put(d)
	}
}

// play returns nil when the story is over and seen.
func (s *stage) play(ctx context.Context) error {
	old := s.web
	if err := s.await(ctx, "SYNCED", ""); err != nil {
		return err
	}
	s.tell("a rolling update of deployment web, from v1 to v2")
	var web []demoPod
	for _, d := range old {
		n := s.running("v2", d.node)
		if err := s.replace(ctx, d, n); err != nil {
			return err
		}
		web = append(web, n)
	}

	s.tell("the connection is cut; a pod restarts meanwhile")
	s.forget()
	s.srv.DropWatches()
	web[0].restarts++
	s.put(web[0])
	if err := s.await(ctx, "MODIFIED", web[0].name); err != nil {
		return err
	}

	moved := s.running("v2", "node-3")
	s.tell(fmt.Sprintf("node-2 is drained: %s comes to node-3 in place of %s", moved.name, web[1].name))
	s.srv.Put(kube.Nodes, map[string]any{"metadata": map[string]any{"name": "node-2"}, "spec": map[string]any{"unschedulable": true}})
	if err := s.replace(ctx, web[1], moved); err != nil {
		return err
	}
	web[1] = moved

	s.tell("the connection is cut for so long that the server forgets its history; a pod is deleted meanwhile")
	s.srv.DropWatches()
	s.srv.Delete(kube.Pods, key(web[2]))
	s.srv.Expire()
	if err := s.await(ctx, relistedType, ""); err != nil {
		return err
	}

	s.tell("the deployment is deleted")
	s.srv.Delete(kube.Deployments, kube.Key{Namespace: demoNamespace, Name: "web"})
	for _, d := range web[:2] {
		if err := s.leave(ctx, d); err != nil {
			return err
		}
	}
	return s.await(ctx, "DELETED", web[1].name)
}

func key(d demoPod) kube.Key { return kube.Key{Namespace: demoNamespace, Name: d.name} }

// replace starts n, and when it runs, stops d.
func (s *stage) replace(ctx context.Context, d, n demoPod) error {
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
func (s *stage) leave(ctx context.Context, d demoPod) error {
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

func (s *stage) tell(text string) { s.talk.info("demo", text, "scene", "text", text) }

func (s *stage) pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(time.Duration(float64(d) / s.speed))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// forget drops what the watch has told so far.
func (s *stage) forget() {
	for len(s.seen) > 0 {
		<-s.seen
	}
}

// await returns when the watch has told of a record, and a moment later.
func (s *stage) await(ctx context.Context, what, name string) error {
	for {
		select {
		case r := <-s.seen:
			if r.Type == what && (name == "" || r.id.Name == name) {
				return s.pause(ctx, 500*time.Millisecond)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
