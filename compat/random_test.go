package compat_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/kube"
)

var (
	operations = flag.Int("operations", 500, "random operations that both servers must answer alike")
	seed       = flag.Uint64("seed", 1, "of the random operations")
	epoch      = flag.Int("epoch", -1, "play this epoch of the random operations only, and print each operation")
)

// perEpoch is how many operations follow on an empty world. What one of them does
// differently has no effect on those of the next epoch.
const perEpoch = 50

// mostReported is how many epochs with a difference are printed in full.
const mostReported = 40

// testRandom sends the same random operations to both servers and compares what
// they answer, until the first difference of each epoch.
func testRandom(t *testing.T, start func() (*cluster.Cluster, error)) {
	c, err := start()
	if err != nil {
		t.Fatalf("start a cluster: %v", err)
	}
	fakeServer, realServer := startFake(t), realServer(t, c)
	f, r := newPeer(fakeServer), newPeer(realServer)
	for _, s := range []*server{fakeServer, realServer} {
		makeNamespace(t, clientset(t, s), "random")
		defineWidgets(t.Context(), t, s)
	}
	adopt(t, fakeServer, f, r)
	first, last := 0, (*operations+perEpoch-1)/perEpoch
	if *epoch >= 0 {
		first, last = *epoch, *epoch+1
	}
	differences := make(map[string]int) // by the operation's name
	reported := 0
	for n := first; n < last; n++ {
		playEpoch(t, n, f, r, func(name, report string) {
			if differences[name]++; differences[name] == 1 || reported < mostReported && differences[name] < 3 {
				reported++
				t.Errorf("seed %d, epoch %d, %s:\n%s", *seed, n, name, report)
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(differences)) {
		t.Logf("%q: %d differences in %d epochs", name, differences[name], last-first)
	}
}

// adopt puts what the real server has from the start into the fake one.
func adopt(t *testing.T, fakeServer *server, f, r *peer) {
	t.Helper()
	f.foreign, r.foreign = make(map[string][]string), make(map[string][]string)
	for _, k := range randomKinds {
		if !k.cluster {
			continue
		}
		var list struct{ Items []json.RawMessage }
		if err := json.Unmarshal(r.must(t, "GET", k.path(), "", ""), &list); err != nil {
			t.Fatal(err)
		}
		group, version, _ := strings.Cut(k.apiVersion, "/")
		if k.group == "" {
			group, version = "", k.apiVersion
		}
		for _, o := range list.Items {
			fakeServer.put(kube.Resource{Group: group, Version: version, Plural: k.plural, Kind: k.kind}, string(o))
		}
		for _, p := range []*peer{f, r} {
			for _, o := range p.all(t, k) {
				p.foreign[k.path()] = append(p.foreign[k.path()], o.Metadata.Name)
			}
		}
	}
}

// playEpoch reports the operations that the servers answer differently. After a
// write that they do, their worlds differ, and the epoch ends.
func playEpoch(t *testing.T, n int, f, r *peer, report func(name, text string)) {
	dice := rand.New(rand.NewPCG(*seed, uint64(n)))
	g := newGenerator(dice)
	f.forget(t, g.kinds)
	r.forget(t, g.kinds)
	defer func() { // of these kinds nothing stays
		f.forget(t, g.kinds)
		r.forget(t, g.kinds)
	}()
	for range perEpoch {
		op := g.next()
		var got, want string
		var both sync.WaitGroup
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		both.Go(func() { got = op.run(ctx, f) })
		want = op.run(ctx, r)
		both.Wait()
		cancel()
		if *epoch >= 0 {
			t.Logf("%s\n%s\n%s", op.name, op, want)
		}
		want, got = acceptText("Random", op.name, want), acceptText("Random", op.name, got)
		if want == got {
			continue
		}
		report(op.name, fmt.Sprintf("%s\n(-kube-apiserver +apitest):\n%s", op, lineDiff(want, got)))
		if !op.reads() {
			return
		}
	}
}

func acceptText(story, step, text string) string {
	return strings.Join(accept(story, step, strings.Split(text, "\n")), "\n")
}

// operation is one or more requests whose answers count together.
type operation struct {
	name     string
	requests []request
}

// reads reports whether the operation changes nothing.
func (o operation) reads() bool {
	return !slices.ContainsFunc(o.requests, func(r request) bool { return r.method != "GET" })
}

func (o operation) String() string {
	var lines []string
	for _, r := range o.requests {
		lines = append(lines, r.String())
	}
	return strings.Join(lines, "\n")
}

func (o operation) run(ctx context.Context, p *peer) string {
	var texts []string
	for _, r := range o.requests {
		texts = append(texts, p.do(ctx, r))
	}
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "\n---\n")
}
