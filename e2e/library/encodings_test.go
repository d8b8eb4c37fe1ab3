package library_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/protobuf"
	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
	"github.com/listwatch/listwatch/e2e/load"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// encoded is a struct that both encodings fill.
type encoded struct {
	kube.Meta `json:"metadata"`
	Data      map[string]string `json:"data"`
}

// TestEncodings breaks connections, kills the apiserver and drops its history while
// ConfigMaps are written, and wants informers in JSON and in protobuf, streamed and paged, to
// end up with what was written, and with the same data.
func TestEncodings(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	if _, ok := protobuf.DecoderOf[encoded]("v1", "ConfigMap"); !ok {
		t.Fatal("the struct has no form in protobuf")
	}
	c := cluster.ForTest(t, cluster.Options{})
	proxy, err := cluster.NewProxy(c.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	var written atomic.Int64
	progress := make(chan struct{}, 1)
	config := load.Config{URL: c.URL(), HTTP: c.HTTPClient(), Seed: informerSeed, Writes: 900, Resources: []string{"configmaps"},
		Payload: 1500, Retry: 3 * time.Minute, Wrote: func(load.Write) {
			written.Add(1)
			select {
			case progress <- struct{}{}:
			default:
			}
		}}
	if err := load.Setup(ctx, config); err != nil {
		t.Fatal(err)
	}
	var all []*follower
	for _, encoding := range []client.Encoding{client.EncodingJSON, client.EncodingAuto} {
		for _, initial := range []watch.Initial{watch.Stream, watch.Paged} {
			all = append(all, follow(ctx, t, c, proxy, encoding, initial))
		}
	}
	type loaded struct {
		record *load.Record
		err    error
	}
	ended := make(chan loaded, 1)
	go func() {
		record, err := load.Run(ctx, config)
		ended <- loaded{record, err}
	}()
	until := func(n int64) {
		t.Helper()
		for written.Load() < n {
			select {
			case <-progress:
			case <-ctx.Done():
				t.Fatalf("%d of %d writes: %v", written.Load(), n, context.Cause(ctx))
			}
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, strike := range []func(){
		proxy.CutAll,
		func() { proxy.CutAfter(20_000) },
		func() { // out of reach, and the history between is gone
			proxy.Refuse()
			proxy.CutAll()
			until(270)
			_, err := c.Compact(ctx)
			must(err)
			must(proxy.Accept())
		},
		func() { proxy.CutAfter(3_000) },
		func() {
			must(c.KillAPIServer())
			_, err := c.Advance(ctx)
			must(err)
			must(c.StartAPIServer(ctx))
		},
		proxy.CutAll,
	} {
		until(int64(i+1) * 80)
		strike()
	}
	done := <-ended
	must(done.err)
	want := state{}
	for ref, v := range done.record.FinalOf("configmaps") {
		want[ref.Namespace+"/"+ref.Name] = v.UID + "@" + v.RV
	}
	for _, f := range all {
		f.settle(ctx, t, want)
		if diff := cmp.Diff(all[0].data(), f.data()); diff != "" {
			t.Errorf("%s has other data than %s:\n%s", f.name, all[0].name, diff)
		}
		t.Logf("%s: %d deltas, %d errors survived", f.name, f.deltas.Load(), f.errors.Load())
	}
}

// follower is an informer of the load's ConfigMaps.
type follower struct {
	name           string
	store          *cache.Store[encoded]
	deltas, errors atomic.Int64
	moved          chan struct{}
}

// follow starts an informer that ends with the test.
func follow(ctx context.Context, t *testing.T, c *cluster.Cluster, proxy *cluster.Proxy, encoding client.Encoding, initial watch.Initial) *follower {
	cl, err := client.New(client.Config{Server: proxy.URL(), Token: c.Token(), TLS: client.TLS{CAFile: c.CAFile()}, Encoding: encoding})
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{name: fmt.Sprintf("encoding %q, %v", encoding, initial), moved: make(chan struct{}, 1)}
	inf := cache.New(client.Of[encoded](cl, kube.ConfigMaps), cache.Options[encoded]{
		Watch: watch.Options{Initial: initial, Limit: 7},
		OnError: func(err error) {
			f.errors.Add(1)
			if bad := (*codec.ItemError)(nil); errors.As(err, &bad) {
				t.Errorf("%s: %v", f.name, err)
			}
		},
	})
	f.store = inf.Store()
	inf.Handle(func(cache.Delta[encoded]) {
		f.deltas.Add(1)
		select {
		case f.moved <- struct{}{}:
		default:
		}
	})
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s ended: %v", f.name, err)
		}
		cl.CloseIdleConnections()
	})
	return f
}

// now is what it has of the load's namespaces.
func (f *follower) now() state {
	s := state{}
	for k, o := range f.store.All() {
		if o.Labels["app"] == "load" {
			s[k.String()] = o.UID + "@" + o.ResourceVersion
		}
	}
	return s
}

func (f *follower) data() map[string]map[string]string {
	all := map[string]map[string]string{}
	for k, o := range f.store.All() {
		if o.Labels["app"] == "load" {
			all[k.String()] = o.Data
		}
	}
	return all
}

// settle waits until it has what was written.
func (f *follower) settle(ctx context.Context, t *testing.T, want state) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, setup.Patience)
	defer cancel()
	for !maps.Equal(f.now(), want) {
		select {
		case <-f.moved:
		case <-ctx.Done():
			t.Errorf("%s (-written +store):\n%s", f.name, cmp.Diff(want, f.now()))
			return
		}
	}
}
