package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/kube"
)

// pair is two clusters, east and west, in memory.
type pair struct {
	t          *testing.T
	east, west *apitest.Server
	kubeconfig string
	contexts   string
	stdout     safeBuffer
	stderr     safeBuffer
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// take returns what was written since the last call.
func (b *safeBuffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := b.b.String()
	b.b.Reset()
	return text
}

func newPair(t *testing.T, dir string) *pair {
	p := &pair{t: t, kubeconfig: filepath.Join(dir, "config"), contexts: "east,west"}
	p.east, p.west = apitest.NewWith(t, apitest.Options{InMemory: true, Seed: 1}), apitest.NewWith(t, apitest.Options{InMemory: true, Seed: 1})
	config := `
clusters: [{name: east, cluster: {server: "http://east.test"}}, {name: west, cluster: {server: "http://west.test"}}]
contexts: [{name: east, context: {cluster: east, user: u}}, {name: west, context: {cluster: west, user: u}}]
users: [{name: u, user: {}}]
`
	if err := os.WriteFile(p.kubeconfig, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// start runs the program until stop is called, which returns its exit code.
func (p *pair) start(args ...string) (stop func() int) {
	ctx, cancel := context.WithCancelCause(p.t.Context())
	code := make(chan int, 1)
	program := &cli.Program{Env: func(string) string { return "" }, Stdout: &p.stdout, Stderr: &p.stderr,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			srv := p.east
			if strings.HasPrefix(address, "west.") {
				srv = p.west
			}
			return srv.Dial(ctx, network, address)
		},
		Args: append([]string{args[0], "--kubeconfig", p.kubeconfig, "--context", p.contexts}, args[1:]...)}
	go func() { code <- runCommand(ctx, program, strings.NewReader("")) }()
	return func() int {
		cancel(exit.ErrAskedFor)
		return <-code
	}
}

func (p *pair) put(srv *apitest.Server, name string, value int) {
	srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"default","name":%q},"data":{"x":"%d"}}`, name, value))
}

// events are the lines of -o ndjson that were printed since the last call, sorted: those of
// two clusters come in any order.
func (p *pair) events() (events []string) {
	p.t.Helper()
	for line := range strings.Lines(p.stdout.take()) {
		var l struct{ Type, Cluster, Resource, Name, Synthetic string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			p.t.Fatalf("%q: %v", line, err)
		}
		if l.Resource == "configmaps" {
			events = append(events, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", l.Cluster, l.Type, l.Name, l.Synthetic)))
		}
	}
	slices.Sort(events)
	return events
}

func (p *pair) expect(when string, want ...string) {
	p.t.Helper()
	if diff := cmp.Diff(want, p.events()); diff != "" {
		p.t.Errorf("%s (-want +got):\n%s\n%s", when, diff, p.stderr.take())
	}
}

func (p *pair) door(srv *apitest.Server, d apitest.Door) {
	p.t.Helper()
	if err := srv.SetDoor(d); err != nil {
		p.t.Fatal(err)
	}
}

const onlyObjects = "ADDED,MODIFIED,DELETED"

// TestTypesComeBackTogether: after an outage the first type that reaches the server has the
// others try it at once, whose pauses are longer by then.
func TestTypesComeBackTogether(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, dir)
		types := []kube.Resource{kube.ConfigMaps, kube.Secrets, kube.Services, kube.ServiceAccounts, kube.Pods, kube.Deployments, kube.Leases, kube.Events}
		stop := p.start("watch", "configmaps,secrets,services,serviceaccounts,pods,deployments,leases,events", "-o", "name", "--skip-initial")
		<-time.After(time.Minute)
		p.door(p.east, apitest.Refusing)
		p.east.DropWatches()
		<-time.After(10 * time.Minute)
		p.stdout.take()
		for _, r := range types {
			p.east.Put(r, `{"metadata":{"namespace":"default","name":"a"}}`)
		}
		p.door(p.east, apitest.Open)
		var lines string
		for lines == "" {
			<-time.After(10 * time.Millisecond)
			lines = p.stdout.take()
		}
		<-time.After(time.Second)
		lines += p.stdout.take()
		if n := strings.Count(lines, "\n"); n != len(types) {
			t.Errorf("%d of %d types a second after the first:\n%s", n, len(types), lines)
		}
		if code := stop(); code != 0 {
			t.Errorf("exit code %d\n%s", code, p.stderr.take())
		}
	})
}

// TestClusterDiesMidRun: a cluster that goes away in a run does not hold the others; when
// it is back, what happened meanwhile is printed, once.
func TestClusterDiesMidRun(t *testing.T) {
	for _, test := range []struct {
		name string
		door apitest.Door
		args []string
	}{
		{name: "refusing", door: apitest.Refusing, args: []string{"configmaps"}},
		{name: "silent", door: apitest.Hanging, args: []string{"configmaps"}},
		{name: "every type", door: apitest.Refusing, args: []string{"*"}},
		{name: "with a checkpoint", door: apitest.Refusing, args: []string{"configmaps", "--checkpoint", "CHECKPOINT"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				p := newPair(t, dir)
				p.put(p.east, "a", 1)
				p.put(p.west, "a", 1)
				p.put(p.west, "b", 1)
				args := slices.Clone(test.args)
				if i := slices.Index(args, "CHECKPOINT"); i >= 0 {
					args[i] = filepath.Join(dir, "state")
				}
				stop := p.start(append([]string{"watch", "-o", "ndjson", "--events", onlyObjects}, args...)...)
				<-time.After(2 * time.Minute)
				p.expect("at first", "east ADDED a", "west ADDED a", "west ADDED b")
				p.door(p.west, test.door)
				p.west.Cut()
				for i := range 20 {
					p.put(p.east, "a", 2+i)
					<-time.After(time.Second)
					p.expect("while west is away", "east MODIFIED a")
					<-time.After(time.Minute)
				}
				if printed := p.stderr.take(); !strings.Contains(printed, "listwatch: west: ") || strings.Contains(printed, "listwatch: east: configmaps: cannot") {
					t.Errorf("stderr does not say which cluster is away:\n%s", printed)
				}
				p.west.Delete(kube.ConfigMaps, kube.Key{Namespace: "default", Name: "b"})
				p.put(p.west, "a", 2)
				p.put(p.west, "c", 1)
				p.west.Expire()
				p.door(p.west, apitest.Open)
				<-time.After(5 * time.Minute)
				p.expect("when it is back", "west ADDED c relist", "west DELETED b relist", "west MODIFIED a relist")
				p.put(p.west, "a", 3)
				p.put(p.east, "z", 3)
				<-time.After(time.Second)
				p.expect("after that", "east ADDED z", "west MODIFIED a")
				if code := stop(); code != 0 {
					t.Errorf("exit code %d\n%s", code, p.stderr.take())
				}
			})
		})
	}
}

// TestClusterComesLater: a cluster that is away at the start is followed when it comes, by
// one stream for each type.
func TestClusterComesLater(t *testing.T) {
	for _, types := range []string{"configmaps", "*"} {
		for _, away := range []time.Duration{30 * time.Second, 10 * time.Minute} {
			t.Run(fmt.Sprintf("%s after %s", types, away), func(t *testing.T) {
				dir := t.TempDir()
				synctest.Test(t, func(t *testing.T) {
					p := newPair(t, dir)
					p.put(p.east, "a", 1)
					p.put(p.west, "a", 1)
					p.door(p.west, apitest.Refusing)
					stop := p.start("watch", types, "-o", "ndjson", "--events", onlyObjects)
					<-time.After(away)
					p.expect("at first", "east ADDED a")
					p.door(p.west, apitest.Open)
					<-time.After(5 * time.Minute)
					p.expect("when it has come", "west ADDED a")
					p.put(p.west, "a", 2)
					p.put(p.east, "a", 2)
					<-time.After(time.Second)
					p.expect("after that", "east MODIFIED a", "west MODIFIED a")
					if code := stop(); code != 0 {
						t.Errorf("exit code %d\n%s", code, p.stderr.take())
					}
				})
			})
		}
	}
}
