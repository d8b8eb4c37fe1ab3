package signals

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Signal is the cause of a context that a signal ended.
type Signal struct{ Sig syscall.Signal }

func (s Signal) Error() string { return "stopped by " + s.Sig.String() }

// Stop is the cause that Context gives.
type Stop struct {
	Signal
	longer chan time.Duration // somebody needs more than graceful
	again  chan struct{}      // closed by a second signal, once somebody does
}

func (s *Stop) Unwrap() error { return s.Signal }

// Holds lets the end take so long, and reports whether a second signal came before
// done was closed.
func (s *Stop) Holds(d time.Duration, done <-chan struct{}) bool {
	s.longer <- d
	select {
	case <-s.again:
		return true
	case <-done:
		return false
	}
}

// Code is what a shell makes of a program that died of the signal.
func (s Signal) Code() int { return 128 + int(s.Sig) }

// Graceful is how long a stop may take, for example when nobody reads stdout.
const Graceful = time.Second

// SentTwice is the time within which the same signal counts once: timeout(1) sends it to
// the program and to its process group, others hand on what the terminal sends to all.
const SentTwice = 250 * time.Millisecond

// leaving is what must be done before the process is ended while others still run in it.
type leaving struct {
	mu sync.Mutex
	do []func()
}

type leavingKey struct{}

// BeforeLeaving has f called where a second signal, or a stop that takes too long, ends
// the process: quick, and at any time.
func BeforeLeaving(ctx context.Context, f func()) {
	if l, ok := ctx.Value(leavingKey{}).(*leaving); ok {
		l.mu.Lock()
		l.do = append(l.do, f)
		l.mu.Unlock()
	}
}

// exit ends the process.
func (l *leaving) exit(code int) {
	l.mu.Lock() // for good: nothing is to begin any more
	for _, f := range l.do {
		f()
	}
	os.Exit(code)
}

// Context returns a context that SIGINT, SIGTERM or SIGHUP ends. A second SIGINT or SIGTERM,
// or a stop that takes too long, ends the process; one that was sent twice, see sentTwice,
// is no second one. SIGHUP is left alone where nohup(1) has it ignored. A closed stdout
// becomes an error of the write instead of a signal, and a closed stderr nothing at all: who
// does not listen is not talked to.
func Context() (ctx context.Context, stop func()) {
	leave := &leaving{}
	ctx, cancel := context.WithCancelCause(context.WithValue(context.Background(), leavingKey{}, leave))
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, writeSignals...)
	sigs := make(chan os.Signal, 2)
	signal.Notify(sigs, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(sigs, syscall.SIGHUP)
	}
	done := make(chan struct{})
	go func() {
		s := &Stop{longer: make(chan time.Duration, 1), again: make(chan struct{})}
		select {
		case sig := <-sigs:
			s.Sig, _ = sig.(syscall.Signal)
		case <-done:
			return
		}
		first := time.Now()
		cancel(s)
		// A second signal ends the process, but where hooks run it is for them first.
		end, held, code := time.After(Graceful), false, s.Code()
		for {
			select {
			case d := <-s.longer:
				held, end = true, time.After(d+Graceful)
				continue
			case sig := <-sigs:
				// A terminal that is closed sends SIGHUP more than once, some later.
				if sig == s.Sig && (sig == syscall.SIGHUP || time.Since(first) < SentTwice) {
					continue
				}
				if n, ok := sig.(syscall.Signal); ok {
					code = Signal{n}.Code()
				}
				if held {
					close(s.again)
					held, end = false, time.After(Graceful)
					continue
				}
			case <-end:
			case <-done:
				return
			}
			leave.exit(code)
		}
	}()
	return ctx, func() {
		close(done)
		cancel(nil)
	}
}
