package compat_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/e2e/cluster"
)

var (
	operations = flag.Int("operations", 500, "random operations that both servers must answer alike")
	seed       = flag.Uint64("seed", 1, "of the random operations")
	epoch      = flag.Int("epoch", -1, "play this epoch of the random operations only, and tell each operation")
)

// perEpoch is how many operations follow on an empty world. What one of them does
// differently has no effect on those of the next epoch.
const perEpoch = 50

// mostReported is how many epochs with a difference are told in full.
const mostReported = 12

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

// playEpoch reports the operations that the servers answer differently. After a
// write that they do, their worlds differ, and the epoch ends.
func playEpoch(t *testing.T, n int, f, r *peer, report func(name, text string)) {
	dice := rand.New(rand.NewPCG(*seed, uint64(n)))
	f.forget(t)
	r.forget(t)
	g := &generator{dice: dice}
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
		report(op.name, fmt.Sprintf("%s\n(-kube-apiserver +apitest):\n%s", op, cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n"))))
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
