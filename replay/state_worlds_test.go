package replay_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/connect"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
	"github.com/listwatch/listwatch/watch"
)

// TestStateServesWhatRandomWorldsRecord: whatever happened to the server, restores too, each change
// is one event, and the objects are those of the recording.
func TestStateServesWhatRandomWorldsRecord(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			rec := recordWorld(t, rand.New(rand.NewPCG(seed, 1)))
			s, srv, events := servedOf(t, rec, kube.ConfigMaps, kube.Secrets)
			if s.Len() != len(events) {
				t.Errorf("seed %d: Len is %d, but %d are served", seed, s.Len(), len(events))
			}
			var got, want []string
			for _, res := range []kube.Resource{kube.ConfigMaps, kube.Secrets} {
				objects, _ := srv.List(res)
				for _, o := range objects {
					got = append(got, identity(t, o))
				}
			}
			for _, o := range rec.ObjectsAt(time.Hour) {
				want = append(want, identity(t, o))
			}
			slices.Sort(got)
			slices.Sort(want)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("seed %d: objects (-recorded +served)\n%s", seed, d)
			}
		})
	}
}

// recordWorld records three streams of two types while a server writes, expires and is restored.
func recordWorld(t *testing.T, r *rand.Rand) *replay.Recording {
	srv := apitest.NewInMemory(t)
	var b bytes.Buffer
	w := newWriter(t, &b, replay.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var streams sync.WaitGroup
	for _, target := range []replay.Target{{Resource: kube.ConfigMaps, Namespace: "a"}, {Resource: kube.ConfigMaps, Namespace: "b"}, {Resource: kube.Secrets}} {
		c := newClient(t, connect.Config(srv))
		watcher := watch.New(client.Of[codec.RawFull](c, target.Resource).In(target.Namespace), watch.Options{})
		stream := w.Stream(target)
		streams.Go(func() {
			for range replay.Record(stream, watcher.Events(ctx)) {
			}
		})
	}
	for i := range 150 {
		if r.IntN(6) == 0 {
			pass(time.Duration(r.IntN(20)) * time.Second)
		}
		res := []kube.Resource{kube.ConfigMaps, kube.Secrets}[r.IntN(2)]
		key := kube.Key{Namespace: []string{"a", "b"}[r.IntN(2)], Name: fmt.Sprint("o", r.IntN(4))}
		switch r.IntN(24) {
		case 0:
			srv.Rewind(r.IntN(12))
		case 1:
			srv.RestoreTo(srv.RevisionBefore(r.IntN(12)))
		case 2:
			srv.Expire()
		case 3, 4, 5, 6:
			srv.Delete(res, key)
		default:
			srv.Put(res, fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q,"generation":%d},"data":{"x":"YWJj%03d="}}`, key.Namespace, key.Name, r.IntN(3), i))
		}
	}
	pass(time.Minute)
	cancel()
	streams.Wait()
	closed(t, w)
	return load(t, b.Bytes())
}

// identity returns an object without its resourceVersion.
func identity(t *testing.T, object []byte) string {
	o, err := codec.Skim(object)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(object), `"resourceVersion":"`+o.ResourceVersion+`"`, "")
}
