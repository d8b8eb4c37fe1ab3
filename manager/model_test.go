package manager_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/lease"
	"github.com/listwatch/listwatch/manager"
)

var modelSeeds = flag.Uint64("model.seeds", 300, "programs of TestManagerModel")

// program is what a Manager runs, and what has happened to it.
type program struct {
	*testing.T
	parts []*fated
	lost  time.Duration // when the leadership is lost; 0 = never

	mu       sync.Mutex
	began    time.Time
	released time.Duration // when the lease was released; 0 = it was not
}

// fated is a part that ends by itself or when it is stopped.
type fated struct {
	*program
	kind    string        // always, led or optional
	name    string        // also of its error
	ends    time.Duration // by itself, after its begin; 0 = never
	err     error         // then
	lingers time.Duration // after its ctx
	fails   error         // then

	begun, stopped, ended time.Duration // since the begin; 0 = it has not
	failed                error         // with which it ended
}

func (p *program) now() time.Duration { return time.Since(p.began) }

func (p *program) note(at *time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*at = max(1, p.now()) // not 0, which means that it has not happened
}

func (f *fated) Name() string { return f.name }

func (f *fated) Run(ctx context.Context) error {
	f.note(&f.begun)
	defer f.note(&f.ended)
	var itself <-chan time.Time
	if f.ends > 0 {
		itself = time.After(f.ends)
	}
	select {
	case <-itself:
		f.failed = f.err
		return f.err
	case <-ctx.Done():
		f.note(&f.stopped)
	}
	<-time.After(f.lingers)
	if f.failed = f.fails; f.fails != nil {
		return f.fails
	}
	return ctx.Err()
}

var errDeposed = errors.New("deposed")

// Run gives the lease after a second.
func (p *program) Run(ctx context.Context, lead func(context.Context, lease.Token) error) error {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return ctx.Err()
	}
	leading, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	if p.lost > 0 {
		defer time.AfterFunc(p.lost-p.now(), func() { lose(errDeposed) }).Stop()
	}
	err := lead(leading, lease.Token{})
	p.note(&p.released)
	if cause := context.Cause(leading); errors.Is(cause, errDeposed) {
		return cause
	}
	return err
}

func (p *program) Check() error { return nil }

// TestManagerModel plays programs of random parts, which fail, end, and take their time to
// stop, until they are stopped or lose the leadership: the order of every stop is that of
// the documentation, the first reason is what Run returns, and it returns in time.
func TestManagerModel(t *testing.T) {
	for seed := range *modelSeeds {
		synctest.Test(t, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 1))
			taken := map[time.Duration]bool{}
			moment := func(limit int) (d time.Duration) { // no two things happen at one time
				for d = 0; d == 0 || taken[d]; d = time.Duration(1+dice.IntN(1000*limit)) * time.Millisecond {
				}
				taken[d] = true
				return d
			}
			p := &program{T: t, began: time.Now()}
			o := manager.Options{StopTimeout: 10*time.Second + moment(1)}
			begin := time.Duration(0) // of led parts
			if dice.IntN(3) > 0 {
				o.Elector, begin = p, time.Second
				if dice.IntN(3) == 0 {
					p.lost = time.Second + moment(90)
				}
			}
			m := manager.New(o)
			add := map[string]func(...manager.Runner){"always": m.Add, "led": m.AddLed, "optional": m.AddOptional}
			cancelled := 2*time.Second + moment(100)
			first, want := cancelled, "" // when the stop begins, and the reason
			led := false
			for n := range 1 + dice.IntN(7) {
				f := &fated{program: p, kind: []string{"always", "led", "optional"}[dice.IntN(3)], name: fmt.Sprint("part", n)}
				led = led || f.kind == "led"
				if dice.IntN(4) == 0 {
					f.ends = moment(150)
					if dice.IntN(3) > 0 {
						f.err = fmt.Errorf("error of %s", f.name)
					}
					at := f.ends
					if f.kind == "led" {
						at += begin
					}
					if f.kind != "optional" && at < first {
						first, want = at, "controller "+f.name+": it ended without being stopped"
						if f.err != nil {
							want = "controller " + f.name + ": " + f.err.Error()
						}
					}
				}
				if dice.IntN(2) == 0 {
					f.lingers = moment(6)
				}
				if dice.IntN(12) == 0 {
					f.lingers += 15 * time.Second
				}
				if dice.IntN(4) == 0 {
					f.fails = fmt.Errorf("failed stop of %s", f.name)
				}
				p.parts = append(p.parts, f)
				add[f.kind](f)
			}
			if led && p.lost > 0 && p.lost < first {
				first, want = p.lost, "manager: deposed"
			}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(cancelled, cancel)
			err := m.Run(ctx)
			p.judge(fmt.Sprint("seed ", seed), err, first, want, o.StopTimeout)
			<-time.After(time.Hour) // what was left behind ends with the story
		})
	}
}

// judge compares what has happened with what had to.
func (p *program) judge(name string, err error, first time.Duration, want string, timeout time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	got := ""
	if err != nil {
		got = err.Error()
	}
	left := strings.Contains(got, "not stopped in")
	wants := []string{want}
	if want == "" {
		wants = p.failures(left)
	}
	if !slices.ContainsFunc(wants, func(want string) bool {
		return strings.HasPrefix(got, want) && (want != "" || got == "" || strings.HasPrefix(got, "manager: not stopped in"))
	}) {
		p.Errorf("%s: Run returned %q, want %q", name, got, wants)
	}
	if took := p.now() - first; took < 0 || took > timeout || left && took != timeout {
		p.Errorf("%s: Run returned %s after the first reason to stop; left something: %v", name, took, left)
	}
	for _, f := range p.parts {
		if left && f.stopped == p.now() {
			f.stopped = 0 // by the return of Run
		}
		if f.begun > 0 && f.ended == 0 && !(left && strings.Contains(got, "controller "+f.name)) {
			p.Errorf("%s: the %s part %s still runs, and is not named: %q", name, f.kind, f.name, got)
		}
		for _, l := range p.parts {
			if l.kind != "led" || l.begun == 0 {
				continue
			}
			if f.kind != "led" && f.stopped > 0 && (l.ended == 0 || l.ended > f.stopped) {
				p.Errorf("%s: %s stops at %s, the led part %s ends at %s", name, f.name, f.stopped, l.name, l.ended)
			}
			if p.released > 0 && (l.ended == 0 || l.ended > p.released) {
				p.Errorf("%s: the lease is released at %s, the part %s ends at %s", name, p.released, l.name, l.ended)
			}
		}
		if f.kind != "led" && f.stopped > 0 && p.released > f.stopped {
			p.Errorf("%s: %s stops at %s, the lease is released at %s", name, f.name, f.stopped, p.released)
		}
	}
}

// failures returns the errors of the part that failed first after a stop, or of those that
// did at one time; "" = none failed. Where Run has left something, the parts that its return
// stops may end while they are judged.
func (p *program) failures(left bool) []string {
	var errs []string
	var at time.Duration
	for _, f := range p.parts {
		switch {
		case f.kind == "optional" || f.ended == 0 || f.failed == nil || at > 0 && f.ended > at || left && f.stopped == p.now():
			continue
		case f.ended < at:
			errs = nil
		}
		at, errs = f.ended, append(errs, "controller "+f.name+": "+f.failed.Error())
	}
	if errs == nil {
		return []string{""}
	}
	return errs
}

// TestManagerStopsWithAPartThatEndsEarlier: it has the ctx of the program too, and ends with
// that, while the Manager still waits for its controllers.
func TestManagerStopsWithAPartThatEndsEarlier(t *testing.T) {
	for name, result := range map[string]func(context.Context) error{
		"no error": func(context.Context) error { return nil },
		"ctx.Err":  context.Context.Err,
		"cause":    context.Cause,
	} {
		run(t, func(t *testing.T, w *world) {
			ctx, cancel := context.WithCancelCause(t.Context())
			m := manager.New(manager.Options{})
			m.Add(&part{w: w, name: "early", f: func(context.Context) error { <-ctx.Done(); return result(ctx) }})
			m.AddLed(&part{w: w, name: "ctl", stop: time.Second})
			time.AfterFunc(time.Minute, func() { cancel(errBroken) })
			if err := m.Run(ctx); err != nil {
				t.Errorf("%s: Run: %v", name, err)
			}
		})
	}
}
