package library_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/e2e/binaries"
	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
	"github.com/listwatch/listwatch/events"
	"github.com/listwatch/listwatch/kube"
)

// TestEvents: kubectl shows the Events of our recorder, with the objects they are
// about.
func TestEvents(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	setup.CreateNamespace(t, c, "shop")
	long := strings.Repeat("a", 250)
	for _, body := range []string{setup.Pod("web"), setup.Pod(long)} {
		setup.MustSend(t, c, http.MethodPost, "/api/v1/namespaces/shop/pods", "application/json", body)
	}
	setup.MustSend(t, c, http.MethodPost, "/api/v1/nodes", "application/json", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-1"}}`)
	role := kube.Resource{Group: "rbac.authorization.k8s.io", Version: "v1", Plural: "clusterroles", Kind: "ClusterRole"}
	kubectl := newEventViewer(t, c)

	writes := make(writes, 100)
	cl, err := client.New(client.Config{Server: c.URL(), Token: c.Token(), TLS: client.TLS{CAFile: c.CAFile()}, Wrap: writes.of})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.CloseIdleConnections()
	about := func(r kube.Resource, namespace, name string) events.Reference {
		t.Helper()
		o, err := client.Of[kube.Partial](cl, r).Get(t.Context(), kube.Key{Namespace: namespace, Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return events.About(r, o)
	}
	web, node := about(kube.Pods, "shop", "web"), about(kube.Nodes, "", "node-1")
	tellEvents(t, cl, func(r *events.Recorder) {
		r.Eventf(web, events.Normal, "Scheduled", "put on %s", "node-1")
		r.Eventf(web.Field("spec.containers{main}"), events.Warning, "Failed", "%s", strings.Repeat("日本語", 1000))
		for i := range 12 {
			r.Eventf(web, events.Normal, "Similar", "number %d", i)
		}
		r.Eventf(about(kube.Pods, "shop", long), events.Normal, "Named", "a long name")
		r.Eventf(node, events.Normal, "Ready", "up")
		r.Eventf(about(role, "", "system:node"), events.Normal, "Odd", "an odd name")
	}, events.Stats{Recorded: 17, Written: 17})

	for len(writes) > 0 {
		<-writes
	}
	tellEvents(t, cl, func(r *events.Recorder) {
		r.Eventf(node, events.Warning, "Lost", "down")
		writes.waitFor(t, http.MethodPost)
		r.Eventf(node, events.Warning, "Lost", "down")
		writes.waitFor(t, http.MethodPatch)
		r.Eventf(events.Reference{Kind: "Pod", Namespace: "nowhere", Name: "web"}, events.Normal, "Synced", "in no namespace")
	}, events.Stats{Recorded: 3, Written: 2, Refused: 1})

	clipped := strings.Repeat("日本語", 200)[:1020] + "..."
	kubectl.shows("describe pod web -n shop", "Normal Scheduled AGE recorder put on node-1",
		"Warning Failed AGE recorder spec.containers{main}: "+clipped,
		"Normal Similar AGE recorder number 8", "Normal Similar AGE (x3 over AGE) recorder (combined from similar events): number 11")
	kubectl.shows("describe pod "+long+" -n shop", "Normal Named AGE recorder a long name")
	kubectl.shows("describe node node-1", "Normal Ready AGE recorder up", "Warning Lost AGE (x2 over AGE) recorder down")
	kubectl.shows("events -n shop --for pod/web --types=Normal", "AGE Normal Scheduled Pod/web put on node-1",
		"AGE (x3 over AGE) Normal Similar Pod/web (combined from similar events): number 11")
	kubectl.shows("events --for clusterrole/system:node", "AGE Normal Odd ClusterRole/system:node an odd name")
	kubectl.shows("get events -n shop --field-selector reason=Scheduled", "AGE Normal Scheduled pod/web put on node-1")
}

// tellEvents runs a recorder until what f records is written.
func tellEvents(t *testing.T, c *client.Client, f func(*events.Recorder), want events.Stats) {
	t.Helper()
	r := events.New(c, events.Options{Component: "recorder"})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	f(r)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if diff := cmp.Diff(want, r.Stats()); diff != "" {
		t.Fatalf("counts (-want +got):\n%s", diff)
	}
}

// writes are the methods of requests that were answered.
type writes chan string

func (w writes) of(next http.RoundTripper) http.RoundTripper { return &tapped{next, w} }

type tapped struct {
	http.RoundTripper
	writes
}

func (p *tapped) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.RoundTripper.RoundTrip(r)
	if err == nil && r.Method != http.MethodGet {
		p.writes <- r.Method
	}
	return resp, err
}

// waitFor takes what was written up to a request of the method.
func (w writes) waitFor(t *testing.T, method string) {
	t.Helper()
	for {
		select {
		case m := <-w:
			if m == method {
				return
			}
		case <-time.After(setup.Patience):
			t.Fatalf("no %s", method)
		}
	}
}

// eventViewer shows what kubectl says of Events.
type eventViewer struct {
	*testing.T
	kubectl, kubeconfig string
}

func newEventViewer(t *testing.T, c *cluster.Cluster) *eventViewer {
	t.Helper()
	kubectl, err := binaries.Ensure(t.Context(), binaries.Kubectl, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return &eventViewer{t, kubectl, setup.Kubeconfig(t, c, c.URL())}
}

// kubectlAge is what kubectl prints of a time.
var kubectlAge = regexp.MustCompile(`\b[0-9]+m?[0-9]*s\b|<invalid>`)

// shows checks that the output of a command has lines, in whatever order.
func (v *eventViewer) shows(command string, want ...string) {
	v.Helper()
	ctx, cancel := context.WithTimeoutCause(v.Context(), setup.Patience, fmt.Errorf("not within %s", setup.Patience))
	defer cancel()
	cmd := exec.CommandContext(ctx, v.kubectl, append(strings.Fields(command), "--kubeconfig", v.kubeconfig)...)
	cmd.Env = []string{"HOME=" + v.TempDir()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		v.Errorf("kubectl %s: %v\n%s", command, err, out)
		return
	}
	lines := make(map[string]bool)
	for line := range strings.Lines(string(out)) {
		line = strings.Join(strings.Fields(line), " ")
		lines[kubectlAge.ReplaceAllString(line, "AGE")] = true
	}
	for _, line := range want {
		if !lines[line] {
			v.Errorf("kubectl %s does not print\n%s\nbut\n%s", command, line, out)
			return
		}
	}
}
