package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
)

// A soak is the program at work for long, while everything fails now and then. It is
// short in "make test", and of full length in "make soak".
var (
	soakSeed    = flag.Uint64("soak.seed", 1, "of what chance decides in a soak")
	soakHours   = flag.Float64("soak.hours", 0.2, "virtual hours of TestSoakOfADay")
	soakMinutes = flag.Float64("soak.minutes", 0.06, "minutes of TestSoakOfProcesses")
)

// soakTypes are what a soak watches: built-in types and one that was defined.
var soakTypes = []kube.Resource{kube.ConfigMaps, kube.Pods, {Group: "stable.example.com", Version: "v1", Plural: "crontabs", Kind: "CronTab", Namespaced: true}}

// connected are arguments for watch or record.
func connected(command string, srv *apitest.Server, ca string) []string {
	return []string{command, "configmaps,pods,crontabs.v1.stable.example.com", "-A", "--certificate-authority", ca, "-s", srv.URL}
}

// weather are faults at random: those that package faults recommends, and others that may
// cost a client nothing but time. What gives a false picture, such as an event that
// is left out, or a server that was restored, is not among them: nobody could tell
// the exact history then.
func weather(t testing.TB, srv *apitest.Server, requests, streams float64, events int) (strikes func() int, over func()) {
	t.Helper()
	more := []faults.WeightedAction{
		{Weight: 2, Action: "skew 1h"}, {Weight: 2, Action: "skew -24h"}, {Weight: 1, Action: "throttle-until 5s"}, {Weight: 1, Action: "early-hints"},
		{Weight: 2, Action: "status 410"}, {Weight: 1, Action: "status 504"}, {Weight: 1, Action: "status 503"}, {Weight: 1, Action: "html 200"}, {Weight: 1, Action: "redirect 302 /healthz"},
		{Weight: 1, Action: "content-type text/html"}, {Weight: 1, Action: "expire-page"}, {Weight: 1, Action: "expire-page-for-good"}, {Weight: 1, Action: "ignore-initial"},
		{Weight: 2, Action: "forget"}, {Weight: 1, Action: "crash"}, {Weight: 1, Action: "error 429"}, {Weight: 1, Action: "error 504"}, {Weight: 1, Action: "cut 0"}, {Weight: 1, Action: "trickle 1 1ms"},
	}
	var all []*faults.Random
	var set []*apitest.Fault
	for i, o := range []faults.RandomOptions{{Requests: requests, Streams: streams, Events: events}, {Requests: requests / 2, Streams: streams / 2, Events: events, Actions: more}} {
		r, err := faults.NewRandom(*soakSeed+uint64(i), o)
		if err != nil {
			t.Fatal(err)
		}
		set = append(set, faults.Randomize(srv, r))
		all = append(all, r)
	}
	strikes = func() (n int) {
		for _, r := range all {
			n += len(r.Strikes())
		}
		return n
	}
	return strikes, func() {
		for _, f := range set {
			f.Remove()
		}
		open(srv) // one may have shut the door
	}
}

// trouble is what no single request meets: outages, lost histories, restarts. It
// returns how often.
func trouble(ctx context.Context, srv *apitest.Server, every, outage time.Duration) (n int) {
	rnd := rand.New(rand.NewPCG(*soakSeed, 4))
	for wait.For(ctx, every/8+time.Duration(rnd.ExpFloat64()*float64(every))) == nil {
		n++
		switch what := rnd.IntN(10); what {
		case 0, 1, 2:
			srv.SetGone([]apitest.Gone{apitest.GoneEvent, apitest.GoneStatus, apitest.GoneSilent}[what])
			srv.Expire()
		case 3:
			srv.Compact(srv.Revision())
		case 4:
			srv.Restart()
		case 5:
			srv.CloseWatches()
		case 6:
			srv.CutWatches()
		case 7:
			srv.DropWatches()
		default:
			_ = srv.SetDoor([]apitest.Door{apitest.Refusing, apitest.Hanging, apitest.Resetting, apitest.Untrusted, apitest.Outdated, apitest.HTTP1}[rnd.IntN(6)])
			srv.Cut()
			_ = wait.For(ctx, time.Duration(rnd.ExpFloat64()*float64(outage)))
			if rnd.IntN(2) == 0 {
				srv.Compact(srv.Tick())
			}
			open(srv)
		}
	}
	return n
}

// open lets everybody in again.
func open(srv *apitest.Server) {
	for srv.SetDoor(apitest.Open) != nil { // somebody has the port
		_ = wait.For(context.Background(), 10*time.Millisecond)
	}
}

// mouth is the stdout of a program: a judge listens. It may die in the middle of a
// word, and what is said later nobody hears.
type mouth struct {
	j    *judge
	dies func() // what else happens when it does

	mu   sync.Mutex
	rest []byte // of a line
	left int    // bytes until it dies; negative = it does not
	dead bool
}

func (m *mouth) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return 0, &os.PathError{Op: "write", Path: "stdout", Err: syscall.EPIPE}
	}
	heard := b
	if m.left >= 0 {
		heard = b[:min(m.left, len(b))]
		m.left -= len(heard)
	}
	m.rest = append(m.rest, heard...)
	for {
		at := slices.Index(m.rest, '\n')
		if at < 0 {
			break
		}
		m.j.read(string(m.rest[:at+1]))
		m.rest = m.rest[at+1:]
	}
	if m.left == 0 {
		m.end()
		return 0, &os.PathError{Op: "write", Path: "stdout", Err: syscall.EPIPE}
	}
	return len(b), nil
}

// end kills it. The caller holds mu.
func (m *mouth) end() {
	if !m.dead {
		m.dead = true
		m.dies()
	}
}

// notes counts what is said on stderr, by what is said.
type notes struct {
	mu    sync.Mutex
	lines int
	kinds map[string]int
	last  string
	torn  string
}

var digits = regexp.MustCompile(`\d[\d.]*(ms|µs|s|m|h)?(\d[\d.]*s)?|c\d\d|"[^"]*"`)

func (n *notes) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.kinds == nil {
		n.kinds = map[string]int{}
	}
	for text := range strings.Lines(string(b)) {
		n.lines++
		n.kinds[digits.ReplaceAllString(strings.TrimSpace(text), "N")]++
		n.last = text
		if !strings.HasPrefix(text, "listwatch: ") || !strings.HasSuffix(text, "\n") || len(text) > 2000 {
			n.torn = text
		}
	}
	return len(b), nil
}

// String is what was said most often.
func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	kinds := slices.Collect(maps.Keys(n.kinds))
	slices.SortFunc(kinds, func(a, b string) int { return n.kinds[b] - n.kinds[a] })
	text := ""
	for _, k := range kinds[:min(len(kinds), 60)] {
		text += fmt.Sprintf("%6d %s\n", n.kinds[k], k)
	}
	return text
}
