package operators_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/e2e/binaries"
	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
	"github.com/listwatch/listwatch/e2e/node"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// thing is what the tests of operators look at, of whatever resource.
type thing struct {
	kube.Meta `json:"metadata"`
	Type      string `json:"type"` // of an Event
	Reason    string `json:"reason"`
	Spec      struct {
		Replicas       int    `json:"replicas"`
		HolderIdentity string `json:"holderIdentity"`
		Template       struct {
			Spec struct {
				Containers []struct {
					Image string `json:"image"`
				} `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		Phase             string `json:"phase"`
		AvailableReplicas int    `json:"availableReplicas"`
		ReadyReplicas     int    `json:"readyReplicas"`
		Conditions        []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
			Reason string `json:"reason"`
		} `json:"conditions"`
		ObservedGeneration int64 `json:"observedGeneration"`
	} `json:"status"`
	InvolvedObject struct {
		Name string `json:"name"`
	} `json:"involvedObject"`
}

// ready returns the status and reason of the condition Ready.
func (o thing) ready() string {
	for _, c := range o.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status + " " + c.Reason
		}
	}
	return ""
}

func (o thing) image() string {
	if c := o.Spec.Template.Spec.Containers; len(c) == 1 {
		return c[0].Image
	}
	return ""
}

var (
	foos          = kube.Resource{Group: "example.com", Version: "v1", Plural: "foos", Kind: "Foo", Namespaced: true}
	cloudManagers = kube.Resource{Group: "example.com", Version: "v1", Plural: "cloudmanagers", Kind: "CloudManager", Namespaced: true}
	databases     = kube.Resource{Group: "example.com", Version: "v1", Plural: "databases", Kind: "Database", Namespaced: true}
	budgets       = kube.Resource{Group: "policy", Version: "v1", Plural: "poddisruptionbudgets", Kind: "PodDisruptionBudget", Namespaced: true}
)

// stage is a cluster with its controllers and nodes, all of which is watched.
type stage struct {
	*testing.T
	cluster *cluster.Cluster
	kubectl string
	config  string // kubeconfig of the administrator
	admin   *client.Client
	watched map[kube.Resource]*cache.Informer[thing]
	changed chan struct{} // of size 1
	*history
}

// history is what the watches have delivered.
type history struct {
	mu       sync.Mutex
	lived    map[kube.Resource]map[kube.Key]map[string]bool // by UID: all that there ever was
	majority map[kube.Key]kube.Revision                     // of StatefulSets: since when they have one
	made     map[kube.Key]kube.Revision                     // of Deployments
}

func newOperatorStage(t *testing.T) *stage {
	t.Helper()
	// The finalizer that claims have is taken away by a controller of its own.
	c := cluster.ForTest(t, cluster.Options{
		ControllerManager: true, ControllerManagerArgs: []string{"--controllers=persistentvolumeclaim-protection-controller"},
	})
	kubectl, err := binaries.Ensure(t.Context(), binaries.Kubectl, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(client.Config{Server: c.URL(), TLS: client.TLS{CAData: c.CAPEM()}, Token: c.Token()})
	if err != nil {
		t.Fatal(err)
	}
	return &stage{
		T: t, cluster: c, kubectl: kubectl, config: setup.Kubeconfig(t, c, c.URL()), admin: admin,
		watched: map[kube.Resource]*cache.Informer[thing]{}, changed: make(chan struct{}, 1),
		history: &history{
			lived:    map[kube.Resource]map[kube.Key]map[string]bool{},
			majority: map[kube.Key]kube.Revision{}, made: map[kube.Key]kube.Revision{},
		},
	}
}

// run runs the nodes, and the watches, until the test ends.
func (s *stage) run() {
	ctx, stop := context.WithCancel(s.Context())
	var running sync.WaitGroup
	s.Cleanup(func() {
		stop()
		running.Wait()
		s.admin.CloseIdleConnections()
	})
	running.Go(func() { _ = node.Run(ctx, s.admin, node.Options{Names: []string{"node-a", "node-b", "node-c"}}) })
	for _, r := range []kube.Resource{
		foos, cloudManagers, databases, budgets, kube.Services, kube.Deployments, kube.ReplicaSets, kube.StatefulSets, kube.Secrets, kube.PersistentVolumeClaims, kube.Pods, kube.Events, kube.Leases,
	} {
		in := cache.New(client.Of[thing](s.admin, r), cache.Options[thing]{
			Watch: watch.Options{Backoff: 100 * time.Millisecond, BackoffMax: time.Second},
		})
		s.watched[r], s.lived[r] = in, map[kube.Key]map[string]bool{}
		in.Handle(func(d cache.Delta[thing]) { s.note(r, d) })
		running.Go(func() { _ = in.Run(ctx) })
	}
	for r, in := range s.watched {
		if err := in.WaitSynced(ctx); err != nil {
			s.Fatalf("watch %s: %v", r, err)
		}
	}
}

func (s *stage) note(r kube.Resource, d cache.Delta[thing]) {
	s.mu.Lock()
	if s.lived[r][d.Key] == nil {
		s.lived[r][d.Key] = map[string]bool{}
	}
	s.lived[r][d.Key][d.UID] = true
	if r == kube.Deployments && d.Type == watch.Added {
		s.made[d.Key] = d.Revision
	}
	if _, ok := s.majority[d.Key]; r == kube.StatefulSets && !ok && 2*d.New.Status.ReadyReplicas > d.New.Spec.Replicas {
		s.majority[d.Key] = d.Revision
	}
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// lives returns how many objects of the key there ever were.
func (s *stage) lives(r kube.Resource, k kube.Key) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lived[r][k])
}

// until waits until the watches show something.
func (s *stage) until(what string, is func() bool) {
	s.Helper()
	s.progress(what, func() int {
		if is() {
			return 0
		}
		return 1
	})
}

// progress waits until the watches show that nothing is left of some work. It takes as
// long as the machine needs for it, but does not stand still.
func (s *stage) progress(what string, left func() int) {
	s.Helper()
	start := time.Now()
	patient := time.NewTimer(setup.Patience)
	defer patient.Stop()
	n := left()
	for n > 0 {
		select {
		case <-s.changed:
		case <-patient.C:
			s.Fatalf("wait until %s: no progress within %s", what, setup.Patience)
		}
		if now := left(); now != n {
			n = now
			patient.Reset(setup.Patience)
		}
	}
	if took := time.Since(start); took > time.Second {
		s.Logf("%.1f s until %s", took.Seconds(), what)
	}
}

func (s *stage) get(r kube.Resource, ns, name string) (thing, bool) {
	return s.watched[r].Store().Get(kube.Key{Namespace: ns, Name: name})
}

// names returns the objects of a namespace, sorted.
func (s *stage) names(r kube.Resource, ns string) []string {
	names := []string{}
	for k := range s.watched[r].Store().All() {
		if k.Namespace == ns {
			names = append(names, k.Name)
		}
	}
	slices.Sort(names)
	return names
}

// recorded reports whether there is an Event of the reason about an object.
func (s *stage) recorded(ns, name, typ, reason string) bool {
	for k, e := range s.watched[kube.Events].Store().All() {
		if k.Namespace == ns && e.InvolvedObject.Name == name && e.Type == typ && e.Reason == reason {
			return true
		}
	}
	return false
}

// kube runs kubectl as the administrator.
func (s *stage) kube(args ...string) string {
	s.Helper()
	p := &setup.Program{Home: s.TempDir()}
	return p.Output(s.T, s.kubectl, append([]string{"--kubeconfig", s.config}, args...)...)
}

func (s *stage) patch(r kube.Resource, ns, name, patch string) {
	s.Helper()
	t := client.StrategicMergePatch
	if r.Group == foos.Group {
		t = client.MergePatch
	}
	if _, err := client.Of[thing](s.admin, r).Patch(s.Context(), kube.Key{Namespace: ns, Name: name}, t, patch); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) create(r kube.Resource, ns, object string) {
	s.Helper()
	setup.MustSend(s.T, s.cluster, http.MethodPost, r.Path(ns), "application/json", object)
}

func (s *stage) deleteAll(r kube.Resource, ns string) {
	s.Helper()
	if err := client.Of[thing](s.admin, r).In(ns).DeleteAll(s.Context(), client.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) namespace(name string) string {
	s.Helper()
	setup.CreateNamespace(s.T, s.cluster, name)
	return name
}

func example(name, file string) string {
	return filepath.Join("..", "..", "examples", name, "manifests", file)
}

// deploy applies the manifests of an operator, all but the sample, and waits until
// its own Deployment would run. Nothing runs: the test does it, see replica.
func (s *stage) deploy(name string) {
	s.Helper()
	s.kube("apply", "--validate=strict", "-f", example(name, "rbac.yaml"), "-f", example(name, "crd.yaml"), "-f", example(name, "deployment.yaml"))
	s.kube("wait", "--for=condition=Established", "--timeout=60s", "crd", name+"s.example.com")
}

// serviceKubeconfig is one of the operator's service account, and of no other rights.
func (s *stage) serviceKubeconfig(name string) (path, token string) {
	s.Helper()
	return s.accountKubeconfig(name+"-system", name+"-operator")
}

func (s *stage) accountKubeconfig(ns, account string) (path, token string) {
	s.Helper()
	answer := setup.MustSend(s.T, s.cluster, http.MethodPost, kube.ServiceAccounts.ObjectPath(kube.Key{Namespace: ns, Name: account}, "token"),
		"application/json", `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":3600}}`)
	var request struct {
		Status struct {
			Token string `json:"token"`
		} `json:"status"`
	}
	if err := json.Unmarshal(answer, &request); err != nil {
		s.Fatal(err)
	}
	token = request.Status.Token
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"pod","clusters":[{"name":"e2e","cluster":{"server":%q,"certificate-authority":%q}}],
		"users":[{"name":%q,"user":{"token":%q}}],"contexts":[{"name":"pod","context":{"cluster":"e2e","user":%q,"namespace":%q}}]}`,
		s.cluster.URL(), s.cluster.CAFile(), account, token, account, ns)
	path = filepath.Join(s.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	return path, token
}

// forbidden checks that the token may not do something.
func (s *stage) forbidden(token, method, path, body string) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), method, s.cluster.URL()+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.cluster.Transport().RoundTrip(req)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		s.Errorf("%s %s with the operator's token: HTTP %d, want 403", method, path, resp.StatusCode)
	}
}

// locked is a buffer for several goroutines.
type locked struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
