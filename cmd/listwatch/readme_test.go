//go:build unix

package main

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// example is a command of README.md.
type example struct {
	line   string // without its comment
	wants  string // a line of stdout or stderr, after which the command is interrupted
	change string // what happens in the cluster until then: a pod or a deployment changes
	file   string // where stdout goes
	ends   bool   // by itself, with exit code 0
	swap   []string
}

// examples are all commands of README.md that begin with listwatch.
var examples = []example{
	{line: `listwatch watch pods`, wants: `^ADDED +a +1/1 +Running`},
	{line: `listwatch watch pods,deploy,foos.example.com -A`, wants: `^ADDED +shop +foo.example.com/f`},
	{line: `listwatch watch '*' -n shop`, wants: `^ADDED +foo.example.com/f`},
	{line: `listwatch watch pods -l app=web -o ndjson`, wants: `^\{"v":1,"seq":1,.*"type":"ADDED"`},
	{line: `listwatch watch pods --once`, wants: `^ADDED +c +1/1`, ends: true},
	{line: `listwatch watch events --for deploy/web --types Warning`, wants: `Warning +FailedCreate +deployment/web`},
	{line: `listwatch list nodes -o wide`, wants: `^n +Ready`, ends: true},
	{line: `listwatch watch pods -A --where '.status.phase == "Failed"'`, wants: `^ADDED +other +failed`},
	{line: `listwatch watch deploy --on-change .spec.replicas -o 'jsonpath={.metadata.name} {.spec.replicas}{"\n"}'`, wants: `^web [0-9]`},
	{line: `listwatch watch pods -o diff --diff paths`, wants: `^ +\.?metadata\.annotations`, change: "pod"},
	{line: `listwatch watch pods --skip-initial --debounce 2s`, wants: `^MODIFIED +a `, change: "pod"},
	{line: `listwatch rollout deploy/web --timeout 5m`, wants: `successfully rolled out`, ends: true},
	{line: `listwatch watch deploy -l app=web --until rollout`, wants: `^ADDED +web`, ends: true},
	{line: `listwatch watch deploy,pods -l app=web --until rollout --fail-on 'any(.status.containerStatuses[]?; .state.waiting.reason == "CrashLoopBackOff")'`, wants: `^ADDED +deployment.apps/web`, ends: true},
	{line: `listwatch watch pods --fail-on '.status.phase == "Failed"' --until 'count(.status.phase == "Running") >= 3'`, wants: `^ADDED +c `, ends: true},
	{line: `listwatch watch pods -l app=web --until condition=Ready --until 'count>=3' --fail-on 'jsonpath={.status.phase}=Failed' --timeout 5m`, wants: `^ADDED +c `, ends: true},
	{line: `listwatch ui`, wants: `http://127.0.0.1:`},
	{line: `listwatch ui --history ~/history`, wants: `http://127.0.0.1:`},
	{line: `listwatch ui --context eu,us`, wants: `http://127.0.0.1:`},
	{line: `listwatch watch pods --checkpoint pods.ckpt -o ndjson >> pods.ndjson`, wants: `"type":"SYNCED"`, file: "pods.ndjson"},
	{line: `listwatch watch deploy -A --skip-initial --on-change .spec.replicas -- ./notify.sh`, wants: `"name":"web"`, change: "deployment", file: "notified"},
	{line: `listwatch watch pods -A --listen 127.0.0.1:8080 --max-staleness 10m`, wants: `^ADDED +shop +a `, swap: []string{":8080", ":0"}},
	{line: `listwatch watch pods --checkpoint pods.ckpt -o ndjson --ack acks | ./consume 1<> acks`, wants: `"type":"SYNCED"`, file: "consumed"},
	{line: `listwatch auth check`, wants: `^rights +ok`, ends: true},
	{line: `listwatch fake serve --simulate -f deploy.yaml --kubeconfig-out fake.yaml`, wants: `current-context`, file: "fake.yaml"},
	{line: `listwatch fake test gone/in-stream`, wants: `http://127.0.0.1:`},
	// All scenarios together take a minute: TestScenariosAddUp and make compat.
	{line: `listwatch fake test -- node client.js`, wants: `http/500-once: pass`, ends: true, swap: []string{"--", "http/500-once tcp/closed --"}},
	{line: `listwatch record pods,deployments -n shop --file shop.lwrec.ndjson.gz`, wants: `recording`, swap: []string{"shop.lwrec", "new.lwrec"}},
	{line: `listwatch replay shop.lwrec.ndjson.gz --speed 10`, wants: `^MODIFIED +p `},
	{line: `listwatch list pods -n shop --at 14:03 --recording shop.lwrec.ndjson.gz`, wants: `^p +0/0 +Running`, ends: true},
	{line: `listwatch diff pods -n shop --from 14:00 --to 14:10 --recording shop.lwrec.ndjson.gz`, wants: `Failed`, ends: true},
}

// TestREADMEExamples runs each command of README.md in a shell, as it is written there.
func TestREADMEExamples(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed, shown []string
	for _, m := range regexp.MustCompile(`(?m)^    (listwatch .*?)(?: +# .*)?$`).FindAllStringSubmatch(string(readme), -1) {
		shown = append(shown, m[1])
	}
	for _, e := range examples {
		listed = append(listed, e.line)
		if !slices.Contains(shown, e.line) {
			t.Errorf("README.md does not show %s", e.line)
		}
		t.Run(e.line, func(t *testing.T) {
			t.Parallel()
			e.run(t)
		})
	}
	for _, line := range shown {
		if !slices.Contains(listed, line) {
			t.Errorf("README.md shows %s, which is not run here", line)
		}
	}
}

func (e example) run(t *testing.T) {
	srv := apitest.New(t)
	exampleObjects(srv)
	dir := exampleFolder(t, srv.URL)
	line := e.line
	if e.swap != nil {
		line = strings.ReplaceAll(line, e.swap[0], e.swap[1])
	}
	c := &child{t: t, stdout: newTail(), stderr: newTail(), done: make(chan struct{})}
	c.cmd = exec.CommandContext(t.Context(), "sh", "-c", line)
	c.cmd.Dir = dir
	c.cmd.Env = []string{"LISTWATCH_TEST_MAIN=1", "HOME=" + dir, "KUBECONFIG=" + filepath.Join(dir, "config"), "PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH")}
	c.cmd.Stdout, c.cmd.Stderr = c.stdout, c.stdout
	c.cmd.WaitDelay = 10 * time.Second
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.cmd.Cancel = func() error { return syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) }
	c.start()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	wants := regexp.MustCompile(`(?m)` + e.wants)
	tick := time.NewTicker(5 * time.Second) // longer than --debounce, and more often than ctx ends
	defer tick.Stop()
	for n := 2; ; n++ {
		look, stop := context.WithTimeout(ctx, 50*time.Millisecond)
		found := c.stdout.wait(look, c.done, wants)
		stop()
		if b, err := os.ReadFile(filepath.Join(dir, e.file)); e.file != "" && err == nil && wants.Match(b) {
			found = true
		}
		if found {
			break
		}
		select {
		case <-tick.C:
			switch e.change {
			case "pod":
				srv.Put(kube.Pods, examplePod("shop", "a", "Running", n))
			case "deployment":
				srv.Put(kube.Deployments, exampleDeployment(n))
			}
			continue
		case <-ctx.Done():
		case <-c.done:
			if c.stdout.wait(ctx, c.done, wants) {
				break
			}
			ctx, cancel = context.WithCancel(ctx)
			cancel()
		default:
			continue
		}
		if ctx.Err() != nil {
			t.Fatalf("nothing matches %s:\n%s", e.wants, c.stdout)
		}
		break
	}
	if !e.ends {
		if err := syscall.Kill(-c.cmd.Process.Pid, syscall.SIGINT); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Error(err)
		}
	}
	<-c.done
	if code := c.cmd.ProcessState.ExitCode(); e.ends && code != 0 {
		t.Errorf("exit code %d\n%s", code, c.stdout)
	}
}

func examplePod(ns, name, phase string, n int) string {
	return fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q,"labels":{"app":"web"},"annotations":{"n":"%d"}},"spec":{"containers":[{"name":"c","image":"i"}]},
		"status":{"phase":%q,"conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"c","ready":true,"restartCount":0,"image":"i","imageID":"","state":{"running":{}}}]}}`, ns, name, n, phase)
}

func exampleDeployment(n int) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"web","uid":"u-web","generation":1,"labels":{"app":"web"}},"spec":{"replicas":%d,"selector":{"matchLabels":{"app":"web"}},
		"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}}},
		"status":{"observedGeneration":1,"replicas":%[1]d,"updatedReplicas":%[1]d,"readyReplicas":%[1]d,"availableReplicas":%[1]d,"conditions":[{"type":"Available","status":"True"}]}}`, n)
}

// exampleObjects puts what the examples are about.
func exampleObjects(srv *apitest.Server) {
	foos := kube.Resource{Group: "example.com", Version: "v1", Plural: "foos", Kind: "Foo", Namespaced: true}
	srv.AddResource(apitest.ResourceInfo{Resource: foos})
	srv.Put(foos, `{"metadata":{"namespace":"shop","name":"f"}}`)
	for _, name := range []string{"a", "b", "c"} {
		srv.Put(kube.Pods, examplePod("shop", name, "Running", 1))
	}
	srv.Put(kube.Pods, examplePod("other", "failed", "Failed", 1))
	srv.Put(kube.Deployments, exampleDeployment(3))
	srv.Put(kube.Nodes, `{"metadata":{"name":"n"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
	srv.Put(kube.Events, `{"metadata":{"namespace":"shop","name":"e"},"involvedObject":{"kind":"Deployment","apiVersion":"apps/v1","namespace":"shop","name":"web"},"type":"Warning","reason":"FailedCreate","message":"no"}`)
}

// exampleFolder has the files and commands that the examples name.
func exampleFolder(t *testing.T, server string) string {
	t.Helper()
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := cmp.Or(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	write("config", fmt.Sprintf(`{clusters: [{name: c, cluster: {server: %q}}], users: [{name: u, user: {}}], current-context: eu,
contexts: [{name: eu, context: {cluster: c, user: u, namespace: shop}}, {name: us, context: {cluster: c, user: u, namespace: shop}}]}`, server))
	write("notify.sh", "#!/bin/sh\nexec cat >>notified\n")
	write("consume", "#!/bin/sh\nwhile read -r line; do echo \"$line\" >>consumed; echo \"$line\" | sed 's/.*\"seq\":\\([0-9]*\\).*/\\1/'; done\n")
	write("bin/node", "#!/bin/sh\nexec listwatch watch configmaps -n default -q -o none\n")
	write("deploy.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}\n")
	if err := cmp.Or(os.Symlink(exe, filepath.Join(dir, "bin/listwatch")), syscall.Mkfifo(filepath.Join(dir, "acks"), 0o600)); err != nil {
		t.Fatal(err)
	}
	// A clock time without a day is the last one.
	now := time.Now()
	begin := time.Date(now.Year(), now.Month(), now.Day(), 13, 59, 0, 0, time.Local)
	if begin.Add(20 * time.Minute).After(now) {
		begin = begin.AddDate(0, 0, -1)
	}
	f, err := os.Create(filepath.Join(dir, "shop.lwrec.ndjson.gz"))
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	at := begin.UTC().Format(time.RFC3339)
	pod := `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"shop","uid":"u-p","resourceVersion":"%d"},"status":{"phase":%q}}`
	fmt.Fprintf(z, `{"t":"header","format":"lwrec","version":1,"created":%q,"timeBase":%[1]q,"redaction":{"secrets":true,"env":false}}
{"t":"stream","at":0,"id":1,"target":{"version":"v1","plural":"pods","kind":"Pod","namespaced":true,"namespace":"shop"}}
{"t":"ev","at":0,"id":1,"type":"RESTART","rv":""}
{"t":"ev","at":1000000000,"id":1,"type":"ADDED","rv":"101","object":`+fmt.Sprintf(pod, 101, "Running")+`}
{"t":"ev","at":1000000000,"id":1,"type":"SYNCED","rv":"101"}
{"t":"ev","at":2000000000,"id":1,"type":"MODIFIED","rv":"102","object":`+fmt.Sprintf(pod, 102, "Running")+`}
{"t":"ev","at":600000000000,"id":1,"type":"MODIFIED","rv":"103","object":`+fmt.Sprintf(pod, 103, "Failed")+`}
{"t":"ev","at":900000000000,"id":1,"type":"BOOKMARK","rv":"104"}
`, at)
	if err := cmp.Or(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}
