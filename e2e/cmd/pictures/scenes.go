package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/e2e/binaries"
	"github.com/listwatch/listwatch/kube"
)

// scene is what is recorded.
type scene struct {
	name, title string
	width       int
	heights     []int                         // of the panes
	prepare     func(*actor, *apitest.Server) // before it is recorded
	play        func(*actor, *apitest.Server)
}

var scenes = []scene{
	{"connection", "kubectl get --watch and listwatch watch on one server: a connection is lost, a history expires", 104, []int{8, 15}, putPods, playConnection},
	{"live", "listwatch watch --live during a rolling update", 104, []int{22}, putDeployments, playLive},
	{"diff", "listwatch watch -o diff: what each event changes", 104, []int{3, 19}, putDeployments, playDiff},
}

// record plays a scene and returns what was seen.
func record(ctx context.Context, s scene, stderr io.Writer) (*recording, error) {
	kubectl, err := binaries.Ensure(ctx, binaries.Kubectl, stderr)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pictures")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	build := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, "listwatch"), "./cmd/listwatch")
	build.Dir, build.Stdout, build.Stderr = "..", stderr, stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("build listwatch: %w", err)
	}
	if err := os.Symlink(kubectl, filepath.Join(dir, "kubectl")); err != nil {
		return nil, err
	}
	srv, err := apitest.Start(apitest.Options{CollectGarbage: true})
	if err != nil {
		return nil, err
	}
	defer srv.Close()
	kubeconfig := fmt.Sprintf(`{"clusters": [{"name": "shop", "cluster": {"server": %q}}], "users": [{"name": "me", "user": {}}], "current-context": "shop",
		"contexts": [{"name": "shop", "context": {"cluster": "shop", "user": "me", "namespace": "shop"}}]}`, srv.URL)
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(kubeconfig), 0o600); err != nil {
		return nil, err
	}
	env := []string{"HOME=" + dir, "KUBECONFIG=" + filepath.Join(dir, "config"), "PATH=" + dir + ":" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TERM=xterm-256color", "BASH_SILENCE_DEPRECATION_WARNING=1"}
	t, err := open(ctx, dir, env, s.width, s.heights)
	if err != nil {
		return nil, err
	}
	defer t.close()

	a := &actor{terminal: t, stop: func() {}}
	defer a.played.Wait()
	defer func() { a.stop() }()
	for pane := range s.heights {
		a.until(pane, `^\$`)
		a.do("clear-history", "-t", fmt.Sprint(pane))
	}
	s.prepare(a, srv)
	r := &recording{width: s.width, height: t.height, title: s.title}
	filming, cut := context.WithCancel(ctx)
	defer cut()
	var wg sync.WaitGroup
	var lost error
	wg.Go(func() { lost = t.capture(filming, r) })
	s.play(a, srv)
	cut()
	wg.Wait()
	if a.err != nil {
		return nil, a.err
	}
	return r, lost
}

// pod returns a pod that no controller owns.
func pod(name string, ready bool, restarts int, why string) map[string]any {
	state := map[string]any{"running": map[string]any{"startedAt": time.Now().UTC().Format(time.RFC3339)}}
	if why != "" {
		state = map[string]any{"waiting": map[string]any{"reason": why}}
	}
	return map[string]any{"metadata": map[string]any{"namespace": "shop", "name": name}, "spec": map[string]any{"nodeName": "node-1", "containers": []any{map[string]any{"name": "c", "image": "i"}}},
		"status": map[string]any{"phase": "Running", "containerStatuses": []any{map[string]any{"name": "c", "image": "i", "imageID": "", "ready": ready, "restartCount": restarts, "state": state}}}}
}

// putPods makes pods, of a cluster without kubelets.
func putPods(_ *actor, srv *apitest.Server) {
	for _, name := range []string{"web-1", "web-2", "web-3"} {
		srv.Put(kube.Pods, pod(name, true, 0, ""))
	}
}

func playConnection(a *actor, srv *apitest.Server) {
	a.title(0, "kubectl")
	a.title(1, "listwatch")
	a.say("two watches of the same pods, on the same server")
	a.enter(0, "kubectl get pods --watch")
	a.until(0, `^web-3`)
	a.enter(1, "listwatch watch pods")
	a.until(1, `^ADDED +web-3`)
	a.pause(2)
	a.say("web-2 fails")
	srv.Put(kube.Pods, pod("web-2", false, 1, "CrashLoopBackOff"))
	a.pause(3)
	a.say("the connection is lost")
	srv.DropWatches()
	a.until(1, `watching again`)
	a.pause(1)
	a.say("kubectl has ended, without a message, and with success")
	a.enter(0, `echo "exit code $?"`)
	a.pause(3)
	a.say("listwatch has resumed: web-2 recovers, web-4 is new")
	srv.Put(kube.Pods, pod("web-2", true, 1, ""))
	srv.Put(kube.Pods, pod("web-4", true, 0, ""))
	a.pause(3)
	a.say("the connection is lost again; meanwhile web-1 is deleted, and the server forgets its history")
	srv.DropWatches()
	srv.Delete(kube.Pods, kube.Key{Namespace: "shop", Name: "web-1"})
	srv.Expire()
	a.until(1, `history expired`)
	a.pause(2.5)
	a.say("listwatch has listed again, and has reported what was deleted meanwhile")
	a.pause(2.5)
	srv.Put(kube.Pods, pod("web-3", false, 1, "CrashLoopBackOff"))
	a.pause(0.5)
}

// putDeployments makes deployments that are played, and waits for their pods.
func putDeployments(a *actor, srv *apitest.Server) {
	for name, replicas := range map[string]int{"web": 4, "cart": 3} {
		srv.Put(kube.Deployments, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":%[1]q},"spec":{"replicas":%[2]d,"selector":{"matchLabels":{"app":%[1]q}},
			"template":{"metadata":{"labels":{"app":%[1]q}},"spec":{"containers":[{"name":"c","image":"%[1]s:1"}]}}}}`, name, replicas))
	}
	ctx, stop := context.WithCancel(a.ctx)
	a.stop = stop
	a.played.Go(func() { simulate.New(srv, simulate.Options{}).Run(ctx) }) // it ends with ctx
	a.pause(8)
}

func playLive(a *actor, _ *apitest.Server) {
	a.title(0, "listwatch")
	a.say("one table, updated in place")
	a.enter(0, "listwatch watch pods --live")
	a.until(0, `web-`)
	a.pause(2)
	a.say("kubectl set image deploy/web c=web:2        ~ changed, + new, - deleted")
	a.run("kubectl", "set", "image", "deploy/web", "c=web:2")
	a.pause(7)
	a.say("j and k select a row; Enter shows its Events and changes")
	a.keys(0, "j", "j", "j", "j")
	a.pause(0.5)
	a.keys(0, "Enter")
	a.pause(4)
	a.keys(0, "Escape")
	a.say("/ filters, by text or by a jq expression")
	a.keys(0, "/", "c", "a", "r", "t", "Enter")
	a.pause(2)
}

func playDiff(a *actor, _ *apitest.Server) {
	a.title(0, "kubectl")
	a.title(1, "listwatch")
	a.say("what each event changes")
	a.enter(1, "listwatch watch deploy/web -o diff --skip-initial")
	a.pause(2)
	a.enter(0, "kubectl scale deploy/web --replicas=5")
	a.pause(6)
	a.enter(0, "kubectl set image deploy/web c=web:2")
	a.pause(4)
}
