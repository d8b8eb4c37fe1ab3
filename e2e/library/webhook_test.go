package library_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/webhook"
)

var (
	hookedWrites   = flag.Int("webhook-writes", 1000, "writes of TestWebhook, at least")
	hookedRate     = flag.Int("webhook-rate", 50, "writes of TestWebhook in a second")
	hookedLifetime = flag.Duration("webhook-lifetime", 18*time.Second, "lifetime of a certificate in TestWebhook; there is a rotation after two thirds of it")
)

// hooked is version v1 of a resource with webhooks, hookedBeta version v1beta1.
type hooked struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Size int `json:"size,omitempty"`
	} `json:"spec,omitzero"`
}

type hookedBeta struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Width int `json:"width,omitempty"`
	} `json:"spec,omitzero"`
}

var hookeds = kube.Resource{Group: "hooks.example.com", Version: "v1", Plural: "hookeds", Kind: "Hooked", Namespaced: true}

// TestWebhook writes to a real server through a mutating and a validating webhook and a
// conversion, all with failurePolicy Fail, while the CA and the certificate rotate twice
// and two replicas are replaced by others: no write is refused, and each is mutated. The
// replicas have the permissions of Server.Manifests and no others.
func TestWebhook(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	h := &hookStage{t: t, ctx: ctx, cluster: cluster.ForTest(t, cluster.Options{}), balancer: newBalancer(t)}
	h.admin = h.connect(h.cluster.Token())
	probe := h.server()
	def, err := crd.Of[hooked](hookeds, crd.Options{Also: []crd.Version{crd.VersionOf[hookedBeta]("v1beta1", crd.VersionOptions{})}})
	if err != nil {
		t.Fatal(err)
	}
	def.Spec.Conversion = probe.Conversion(hookeds)
	if err := crd.Ensure(ctx, h.admin, crd.EnsureOptions{}, def); err != nil {
		t.Fatal(err)
	}
	h.permit(probe)

	replicas := []*hookReplica{h.start(), h.start()}
	stop := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() { h.write(stop) })
	h.rotation()
	for i := range replicas { // a rolling restart: first the new one, then the old one ends
		fresh := h.start()
		h.end(replicas[i])
		replicas[i] = fresh
	}
	h.rotation()
	for h.count() < *hookedWrites && ctx.Err() == nil && !t.Failed() {
		<-time.After(100 * time.Millisecond)
	}
	close(stop)
	writing.Wait()
	h.refused()
	for _, r := range replicas {
		h.end(r)
	}
	h.report()
}

// hookStage is a cluster with webhooks behind a balancer.
type hookStage struct {
	t        *testing.T
	ctx      context.Context
	cluster  *cluster.Cluster
	admin    *client.Client
	balancer *balancer

	mu      sync.Mutex
	written int
	slowest time.Duration
	ends    []time.Time // of the certificates that were served
	began   time.Time
}

type hookReplica struct {
	*webhook.Server
	stop context.CancelFunc
	done chan error
}

func (h *hookStage) connect(token string) *client.Client {
	c, err := client.New(client.Config{Server: h.cluster.URL(), Token: token, TLS: client.TLS{CAFile: h.cluster.CAFile()}})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(c.CloseIdleConnections)
	return c
}

// server returns a replica that does not run.
func (h *hookStage) server() *webhook.Server {
	third := *hookedLifetime / 3
	s, err := webhook.New(h.connect(h.cluster.UserToken()), webhook.Options{
		Secret: kube.Key{Namespace: "default", Name: "hooked"}, URL: "https://" + h.balancer.addr(), Listen: "127.0.0.1:0",
		Install: true, Lifetime: *hookedLifetime, Settle: third / 2, Check: third / 6, Drain: 4 * time.Second,
		Trace: webhook.Trace{Serving: func(until time.Time) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if !slices.ContainsFunc(h.ends, until.Equal) {
				h.ends = append(h.ends, until)
			}
		}, Failed: func(err error) { h.t.Logf("certificates: %v", err) }},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	webhook.Mutate(s, hookeds, webhook.Rule{}, func(_ context.Context, r *webhook.Request[hooked]) error {
		if r.Object.Labels == nil {
			r.Object.Labels = make(map[string]string)
		}
		r.Object.Labels["mutated"] = "yes"
		return nil
	})
	webhook.Validate(s, hookeds, webhook.Rule{}, func(_ context.Context, r *webhook.Request[hooked]) error {
		if r.Object.Spec.Size < 0 {
			return &webhook.FieldError{Field: "spec.size", Message: "must not be negative"}
		}
		return nil
	})
	webhook.Convert(s, hookeds, "v1beta1",
		func(b hookedBeta) (hooked, error) {
			o := hooked{Meta: b.Meta}
			o.Spec.Size = b.Spec.Width
			return o, nil
		},
		func(o hooked) (hookedBeta, error) {
			b := hookedBeta{Meta: o.Meta}
			b.Spec.Width = o.Spec.Size
			return b, nil
		})
	return s
}

// permit gives the user of the replicas the roles of s.
func (h *hookStage) permit(s *webhook.Server) {
	h.t.Helper()
	text, err := s.Manifests()
	if err != nil {
		h.t.Fatal(err)
	}
	const rbac = "rbac.authorization.k8s.io"
	for _, kind := range []string{"ClusterRole", "Role"} {
		roles := kube.Resource{Group: rbac, Version: "v1", Plural: strings.ToLower(kind) + "s", Kind: kind, Namespaced: kind == "Role"}
		bindings := kube.Resource{Group: rbac, Version: "v1", Plural: strings.ToLower(kind) + "bindings", Kind: kind + "Binding", Namespaced: kind == "Role"}
		key := kube.Key{Name: "hooked"}
		if kind == "Role" {
			key.Namespace = "default"
		}
		binding := map[string]any{"roleRef": map[string]any{"apiGroup": rbac, "kind": kind, "name": "hooked"}, "subjects": []any{map[string]any{"kind": "User", "apiGroup": rbac, "name": "jane"}}}
		found := false
		for document := range strings.SplitSeq(string(text), "---\n") {
			if !strings.Contains(document, "kind: "+kind+"\n") {
				continue
			}
			found = true
			if _, err := h.admin.Do(h.ctx, &client.Request{Method: "PATCH", Path: roles.ObjectPath(key), Query: map[string][]string{"fieldManager": {"test"}}, ContentType: "application/apply-patch+yaml", Body: []byte(document)}); err != nil {
				h.t.Fatal(err)
			}
		}
		if !found {
			h.t.Fatalf("the manifests have no %s:\n%s", kind, text)
		}
		if _, err := client.Of[codec.Raw](h.admin, bindings).With(client.WriteOptions{FieldManager: "test"}).Apply(h.ctx, key, binding, client.ApplyOptions{}); err != nil {
			h.t.Fatal(err)
		}
	}
}

// start starts a replica, and adds it to the balancer once it is ready.
func (h *hookStage) start() *hookReplica {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.ctx)
	r := &hookReplica{h.server(), cancel, make(chan error, 1)}
	go func() { r.done <- r.Run(ctx) }()
	h.until("a replica is ready", func() error { return r.Ready() })
	h.balancer.add(r.Address())
	return r
}

// end ends a replica as a node does: it is asked to end, and connections are sent to it
// for some time after that.
func (h *hookStage) end(r *hookReplica) {
	h.t.Helper()
	address := r.Address()
	r.stop()
	time.AfterFunc(2*time.Second, func() { h.balancer.remove(address) })
	if err := <-r.done; err != nil {
		h.t.Error(err)
	}
}

// rotation waits until another certificate is served.
func (h *hookStage) rotation() {
	h.t.Helper()
	h.mu.Lock()
	before := len(h.ends)
	h.mu.Unlock()
	h.until("another certificate is served", func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		if len(h.ends) == before {
			return fmt.Errorf("%d were served so far", before)
		}
		return nil
	})
}

func (h *hookStage) until(what string, ok func() error) {
	h.t.Helper()
	for {
		err := ok()
		if err == nil {
			return
		}
		select {
		case <-h.ctx.Done():
			h.t.Fatalf("%s: %v", what, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (h *hookStage) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.written
}

// write writes objects at the rate of the flag until stop.
func (h *hookStage) write(stop <-chan struct{}) {
	h.began = time.Now()
	tick := time.NewTicker(time.Second / time.Duration(*hookedRate))
	defer tick.Stop()
	var all sync.WaitGroup
	defer all.Wait()
	some := make(chan struct{}, 50)
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		some <- struct{}{}
		all.Go(func() {
			defer func() { <-some }()
			h.one(n)
		})
	}
}

// one creates object n, in one version or the other.
func (h *hookStage) one(n int) {
	began := time.Now()
	meta := kube.Meta{Namespace: "default", Name: fmt.Sprintf("o%06d", n)}
	var labels map[string]string
	var err error
	if n%2 == 0 {
		o := hooked{Meta: meta}
		o.Spec.Size = n
		o, err = client.Of[hooked](h.admin, hookeds).Create(h.ctx, o)
		labels = o.Labels
	} else {
		beta := hookeds
		beta.Version = "v1beta1"
		o := hookedBeta{Meta: meta}
		o.Spec.Width = n
		o, err = client.Of[hookedBeta](h.admin, beta).Create(h.ctx, o)
		labels = o.Labels
		if err == nil && o.Spec.Width != n {
			err = errors.New("the width is lost")
		}
	}
	if err == nil && labels["mutated"] != "yes" {
		err = errors.New("it is not mutated")
	}
	if err != nil {
		h.t.Errorf("write %d, %v after the first: %v", n, time.Since(h.began), err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.written++
	h.slowest = max(h.slowest, time.Since(began))
}

// refused checks that the server refuses what the validating webhook refuses, with the
// cause, in both versions.
func (h *hookStage) refused() {
	h.t.Helper()
	bad := hookedBeta{Meta: kube.Meta{Namespace: "default", Name: "bad"}}
	bad.Spec.Width = -1
	beta := hookeds
	beta.Version = "v1beta1"
	_, err := client.Of[hookedBeta](h.admin, beta).Create(h.ctx, bad)
	want := []kube.StatusCause{{Reason: "FieldValueInvalid", Message: "Invalid value: must not be negative", Field: "spec.size"}}
	var st *kube.Status
	if !errors.As(err, &st) || st.Code != 422 || st.Details == nil {
		h.t.Errorf("a bad object: %v", err)
	} else if diff := cmp.Diff(want, st.Details.Causes); diff != "" {
		h.t.Errorf("causes (-want +got):\n%s", diff)
	}
}

// report logs the numbers.
func (h *hookStage) report() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.ends) < 3 {
		h.t.Errorf("%d certificates were served, want three", len(h.ends))
	}
	took := time.Since(h.began)
	h.t.Logf("%d writes in %v (%.0f/s), %d certificates, slowest write %v", h.written, took.Round(time.Millisecond), float64(h.written)/took.Seconds(), len(h.ends), h.slowest)
}

// balancer sends each connection to the next address.
type balancer struct {
	l    net.Listener
	all  sync.WaitGroup
	mu   sync.Mutex
	next int
	to   []string
	open map[net.Conn]bool
}

func newBalancer(t *testing.T) *balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{l: l, open: make(map[net.Conn]bool)}
	b.all.Go(b.run)
	t.Cleanup(func() {
		l.Close()
		b.mu.Lock()
		for c := range b.open {
			c.Close()
		}
		b.mu.Unlock()
		b.all.Wait()
	})
	return b
}

func (b *balancer) addr() string { return b.l.Addr().String() }

func (b *balancer) add(address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.to = append(b.to, address)
}

func (b *balancer) remove(address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.to = slices.DeleteFunc(slices.Clone(b.to), func(a string) bool { return a == address })
}

func (b *balancer) run() {
	for {
		c, err := b.l.Accept()
		if err != nil {
			return
		}
		b.mu.Lock()
		to := ""
		if len(b.to) > 0 {
			b.next++
			to = b.to[b.next%len(b.to)]
		}
		b.mu.Unlock()
		b.all.Go(func() { b.join(c, to) })
	}
}

// join copies in both directions until one side ends.
func (b *balancer) join(c net.Conn, to string) {
	defer c.Close()
	d, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer d.Close()
	b.mu.Lock()
	b.open[c] = true
	b.mu.Unlock()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{c, d}, {d, c}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			way[0].(*net.TCPConn).CloseWrite()
		})
	}
	both.Wait()
	b.mu.Lock()
	delete(b.open, c)
	b.mu.Unlock()
}
