package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/signals"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/wait"
)

// TestSoakOfADay plays a day of the program in virtual time, against a server of
// which everything fails now and then. It is ended, dies as by kill -9 and is begun
// again with the same checkpoint every few minutes to an hour; another one beside it
// lives all day. What was printed must rebuild the server's history, see judge; and
// neither memory nor goroutines nor talk may grow.
func TestSoakOfADay(t *testing.T) { soakOfADay(t, newJudge) }

// TestSoakOfADayWithWhere is the same with --where: what the checkpoint has is what matched.
func TestSoakOfADayWithWhere(t *testing.T) { soakOfADay(t, selected) }

func soakOfADay(t *testing.T, judging func(testing.TB, *restless) *judge) {
	synctest.Test(t, func(t *testing.T) {
		d := newDay(t, time.Duration(*soakHours*float64(time.Hour)), judging)
		var others sync.WaitGroup
		ctx, stop := context.WithCancel(t.Context())
		d.steady(ctx)
		others.Go(func() { d.change(ctx) })
		others.Go(func() { d.outages = trouble(ctx, d.srv, 8*time.Minute, 2*time.Minute) })
		for time.Since(d.began) < d.length {
			d.live(ctx)
			d.measure(false)
		}
		d.measure(true)
		stop()
		others.Wait()
		d.last()
		d.sum()
	})
}

// day is what such a soak consists of.
type day struct {
	t       *testing.T
	srv     *apitest.Server
	w       *restless
	j       *judge
	steadyj *judge   // of the one that lives all day
	rest    chan int // how it ended
	end     context.CancelCauseFunc
	rnd     *rand.Rand
	state   string // the checkpoint
	ca      string
	began   time.Time
	length  time.Duration
	stderr  notes
	steadys notes // what the one that lives all day says, which stderr has too
	strikes func() int
	over    func() // all is well

	runs, refused, deaths, ends int
	watches, requests, outages  int
	early, late                 uint64 // bytes of heap
	goroutines                  int
}

func newDay(t *testing.T, length time.Duration, judging func(testing.TB, *restless) *judge) *day {
	dir := t.TempDir()
	d := &day{t: t, rnd: rand.New(rand.NewPCG(*soakSeed, 1)), state: filepath.Join(dir, "state"), ca: filepath.Join(dir, "ca.pem"), began: time.Now(), length: length}
	d.srv = apitest.NewWith(t, apitest.Options{InMemory: true, TLS: true, Seed: *soakSeed, History: 300, NoManagedFields: true,
		Resources: []apitest.ResourceInfo{{Resource: soakTypes[2]}}})
	if err := os.WriteFile(d.ca, d.srv.CAPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	d.w = newRestless(d.srv, *soakSeed, 20, soakTypes...)
	d.j, d.steadyj, d.rest = judging(t, d.w), judging(t, d.w), make(chan int, 1)
	for range 60 {
		d.w.act()
	}
	return d
}

// steady begins the program that lives all day, and then the bad weather.
func (d *day) steady(ctx context.Context) {
	d.steadyj.begin("", "")
	ctx, d.end = context.WithCancelCause(context.WithoutCancel(ctx))
	p := &cli.Program{Env: func(string) string { return "" }, Args: append(append(connected("watch", d.srv, d.ca), "-o", "ndjson"), d.steadyj.flags()...),
		Stdout: &mouth{j: d.steadyj, left: -1}, Stderr: io.MultiWriter(&d.stderr, &d.steadys), Dial: d.srv.Dial}
	go func() { d.rest <- runCommand(ctx, p, strings.NewReader("")) }()
	if err := d.srv.WaitForWatches(ctx, len(soakTypes)); err != nil {
		d.t.Fatal(err)
	}
	d.strikes, d.over = weather(d.t, d.srv, 0.04, 0.4, 40)
}

// change changes objects, a few at once and then none for a while.
func (d *day) change(ctx context.Context) {
	rnd := rand.New(rand.NewPCG(*soakSeed, 3))
	for wait.For(ctx, time.Duration(rnd.ExpFloat64()*float64(5*time.Second))) == nil {
		for range 1 + rnd.IntN(8) {
			d.w.act()
			if wait.For(ctx, time.Duration(rnd.IntN(30))*time.Millisecond) != nil {
				return
			}
		}
	}
}

// live is one life of the program.
func (d *day) live(ctx context.Context) {
	file := d.state
	if _, err := os.Stat(file); err != nil {
		file = ""
	}
	d.j.begin(file, d.srv.URL)
	d.runs++
	var corpse []byte // the checkpoint when it died
	m := &mouth{j: d.j, left: -1}
	m.dies = func() {
		d.deaths++
		corpse, _ = os.ReadFile(d.state) // none, perhaps
	}
	how := d.rnd.IntN(4)
	span := 10*time.Second + time.Duration(d.rnd.ExpFloat64()*float64(8*time.Minute))
	if how == 0 {
		m.left = 1 + d.rnd.IntN(100_000)
	}
	flags := []string{"--initial-list", "auto"}
	switch d.rnd.IntN(3) {
	case 0:
		flags = []string{"--initial-list", "paged"}
	case 1:
		flags = []string{"--initial-list", "paged", "--chunk-size", "7"}
	}
	defer func() { m.dies = nil }() // with the flags cobra keeps m, and that the corpse
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	done := make(chan int)
	go func() { done <- d.program(ctx, m, flags...) }()
	select {
	case <-time.After(min(span, max(time.Second, d.length-time.Since(d.began)))):
	case code := <-done:
		d.ended(m, corpse, code)
		return
	}
	if how == 1 { // kill -9 while nothing happens
		synctest.Wait()
		m.mu.Lock()
		m.end()
		m.mu.Unlock()
	}
	stop(signals.Signal{Sig: []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}[d.rnd.IntN(2)]})
	d.ended(m, corpse, <-done)
}

// ended looks at what a program left.
func (d *day) ended(m *mouth, corpse []byte, code int) {
	switch {
	case m.dead:
		if err := os.WriteFile(d.state, corpse, 0o600); err != nil || len(corpse) == 0 {
			if err = errors.Join(err, os.Remove(d.state)); err != nil {
				d.t.Fatal(err)
			}
		}
		if d.rnd.IntN(3) == 0 { // the next run cannot resume
			for range d.rnd.IntN(40) {
				d.w.act()
			}
			d.srv.Compact(d.srv.Tick())
		}
	case code == 143 || code == 130:
		d.ends++
		if len(m.rest) > 0 {
			d.t.Errorf("run %d ended in the middle of a line: %s", d.runs, m.rest)
		}
		if _, err := os.Stat(d.state); err == nil {
			d.j.settled(d.state, d.srv.URL)
		}
	case code == exit.CodeFailed: // at the start there is no patience
		d.refused++
		<-time.After(5 * time.Second)
	default:
		d.t.Fatalf("run %d: exit code %d: %s", d.runs, code, d.stderr.last)
	}
}

// program runs it to its end.
func (d *day) program(ctx context.Context, m *mouth, flags ...string) int {
	args := append(append(connected("watch", d.srv, d.ca), "-o", "ndjson", "--checkpoint", d.state), append(flags, d.j.flags()...)...)
	p := &cli.Program{Env: func(string) string { return "" }, Args: args, Stdout: m, Stderr: &d.stderr, Dial: d.srv.Dial}
	return runCommand(ctx, p, strings.NewReader(""))
}

// last is a run with a server that is well, for what nobody was told yet.
func (d *day) last() {
	d.count()
	d.over()
	for tries := 0; ; tries++ {
		d.j.begin(d.state, d.srv.URL)
		code := d.program(d.t.Context(), &mouth{j: d.j, left: -1}, "--once")
		if code == 0 {
			break
		}
		if tries > 20 {
			d.t.Fatalf("the last run: exit code %d: %s", code, d.stderr.last)
		}
	}
	d.j.end()
	<-time.After(10 * time.Minute) // the other one finds out that all is well
	d.end(signals.Signal{Sig: syscall.SIGTERM})
	if code := <-d.rest; code != 143 {
		d.t.Errorf("the one that lived all day: exit code %d: %s", code, d.steadys.last)
	}
	d.steadyj.end()
}

// count counts what was asked for, which the server cannot keep for long.
func (d *day) count() {
	for _, r := range d.srv.Requests() {
		d.requests++
		if r.Verb == "watch" {
			d.watches++
		}
	}
	d.srv.ForgetRequests()
}

// measure looks at what may not grow: once after an hour, and at the end.
func (d *day) measure(end bool) {
	d.count()
	d.steadyj.prune()
	hour := d.early == 0 && time.Since(d.began) > time.Hour
	if !hour && !end {
		return
	}
	synctest.Wait()
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	if hour {
		d.early, d.goroutines = m.HeapAlloc, runtime.NumGoroutine()
		return
	}
	d.late = m.HeapAlloc
	// Cobra keeps the flags of each program that this process was for good.
	if d.early > 0 && (d.late > 2*d.early+uint64(d.runs)*48<<10 || runtime.NumGoroutine() > d.goroutines+20) {
		d.t.Errorf("heap: %d bytes after an hour, %d at the end; goroutines: %d and %d", d.early, d.late, d.goroutines, runtime.NumGoroutine())
	}
}

func (d *day) sum() {
	t, j := d.t, d.j
	t.Logf("%v of virtual time, seed %d: %d acts; %d requests, %d of them watches; %d faults, %d outages and losses of history", d.length, *soakSeed, d.w.acts, d.requests, d.watches, d.strikes(), d.outages)
	t.Logf("%d runs: %d ended in good order, %d died, %d gave up at the start; %d reconnects within runs, %d lists again, of which %d of several moments", d.runs, d.ends, d.deaths, d.refused, j.reconnects, j.relists, j.ragged)
	t.Logf("%d lines: %d events told, %d of them repeated, %d deletions found by comparing, %d of them of what may have been told; %d lines on stderr; heap %d kB after an hour, %d kB at the end",
		j.lines, j.events, j.repeats, j.away, j.unknown, d.stderr.lines, d.early>>10, d.late>>10)
	t.Logf("the one that lived all day: %d events told, %d reconnects, %d lists again, of which %d of several moments; %d deletions found by comparing",
		d.steadyj.events, d.steadyj.reconnects, d.steadyj.relists, d.steadyj.ragged, d.steadyj.away)
	if testing.Verbose() {
		t.Logf("stderr:\n%s", &d.stderr)
	}
	if d.stderr.torn != "" {
		t.Errorf("on stderr: %q", d.stderr.torn)
	}
	if limit := 8*d.watches + 20*d.runs + 100; d.stderr.lines > limit {
		t.Errorf("%d lines on stderr, want %d at most", d.stderr.lines, limit)
	}
	if d.length < 3*time.Hour {
		return // what happens is left to luck
	}
	for what, n := range map[string]int{"events": j.events - 500, "deaths": d.deaths, "ends": d.ends, "reconnects": j.reconnects, "lists again": j.relists, "faults": d.strikes()} {
		if n <= 0 {
			t.Error(fmt.Sprint("too little happened: ", what))
		}
	}
}
