package main

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
)

// settled fails unless each of n Greetings has its ConfigMap.
func settled(t *testing.T, srv *apitest.Server, n int) {
	t.Helper()
	list := apitest.Objects[Greeting](srv, greetings)
	if len(list) != n {
		t.Errorf("%d Greetings, want %d", len(list), n)
	}
	for _, g := range list {
		if m, _ := apitest.Object[ConfigMap](srv, kube.ConfigMaps, kube.KeyOf(g)); m.Data["text"] != g.Spec.Text {
			t.Errorf("the ConfigMap of %s has %q, want %q", g.Name, m.Data["text"], g.Spec.Text)
		}
	}
}

// TestWhateverFails: requests and watches fail at random while Greetings and ConfigMaps are
// written. In the end the cluster is as it should be.
func TestWhateverFails(t *testing.T) {
	for seed := range uint64(5) {
		run(t, func(t *testing.T, srv *apitest.Server, _ *client.Client) {
			random, err := faults.NewRandom(seed, faults.RandomOptions{})
			if err != nil {
				t.Fatal(err)
			}
			fault := faults.Randomize(srv, random)
			for n := range 50 {
				srv.Put(greetings, fmt.Sprintf(`{"metadata":{"namespace":"a","name":"g-%d"},"spec":{"text":"text %d"}}`, n%5, n))
				switch victim := (kube.Key{Namespace: "a", Name: fmt.Sprintf("g-%d", n%3)}); {
				case n%7 == 0:
					srv.Delete(kube.ConfigMaps, victim)
				case srv.Get(kube.ConfigMaps, victim) != nil:
					srv.Edit(kube.ConfigMaps, victim, func(old []byte) any { return bytes.ReplaceAll(old, []byte("text "), []byte("not this ")) })
				}
				<-time.After(time.Second)
			}
			fault.Remove()
			<-time.After(time.Hour) // the delays of what failed often are long
			settled(t, srv, 5)
			if t.Failed() {
				t.Logf("seed %d; these faults repeat it:\n%s", seed, random)
			}
		})
	}
}

// TestMomentOfACluster: a moment of a recorded cluster, in which somebody has deleted a
// ConfigMap, is the beginning.
func TestMomentOfACluster(t *testing.T) {
	rec, err := replay.Open("testdata/incident.lwrec.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	run(t, func(t *testing.T, srv *apitest.Server, _ *client.Client) {
		for _, object := range rec.ObjectsAt(7109 * time.Millisecond) {
			srv.PutYAML(string(object))
		}
		<-time.After(time.Minute)
		settled(t, srv, 2)
	})
}
