package manager_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/manager"
)

// signalled is the environment variable by which TestManagerTakesARepeatedSignalOnce
// makes its own program the child that gets signals.
const signalled = "LISTWATCH_TEST_MANAGER_SIGNALS"

// signalItself runs a Manager whose part sends SIGTERM to the process, again when it is
// stopped, and once more when that is over, if late is set. If ended is set, the ctx of Run ends
// before the first one.
func signalItself(t *testing.T, late, ended bool) {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	send := func() {
		if err := self.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	program, end := context.WithCancel(t.Context())
	defer end()
	m := manager.New(manager.Options{Signals: true})
	m.Add(&part{w: &world{}, name: "signals", f: func(ctx context.Context) error {
		if ended {
			end()
			<-ctx.Done()
			<-time.After(manager.SentTwice) // default handling would be back by now
		}
		send()
		<-ctx.Done()
		<-time.After(manager.SentTwice / 10)
		send()
		<-time.After(2 * manager.SentTwice)
		if late {
			send()
			<-time.After(time.Minute)
		}
		return nil
	}})
	fmt.Println(m.Run(program))
}

// The second signal of two that timeout(1) or a shell sends to the process and to its
// group does not end the process; one that comes later does. So it is too if the ctx of Run has
// ended before the first one.
func TestManagerTakesARepeatedSignalOnce(t *testing.T) {
	if how := os.Getenv(signalled); how != "" {
		signalItself(t, strings.Contains(how, "late"), strings.Contains(how, "ended"))
		return
	}
	const taken, killed = "<nil>\nPASS\n", "signal: terminated"
	for how, want := range map[string]string{"twice": taken, "late": killed, "twice, ended": taken, "late, ended": killed} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), signalled+"="+how)
		out, err := cmd.Output()
		if err != nil {
			out = append(out, err.Error()...)
		}
		if diff := cmp.Diff(want, string(out)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", how, diff)
		}
	}
}

// The first signal stops, and what the other one does is the default again at once;
// that of the first is after a quarter of a second.
func TestStopOnSignal(t *testing.T) {
	for name, c := range map[string]struct {
		sent []int // which of the channels get a signal, 100 ms after each other; -1 = ctx ends
		want []string
	}{
		"interrupt":             {[]int{0}, []string{"0s default 1", "0s stop", "250ms default 0"}},
		"terminate":             {[]int{1}, []string{"0s default 0", "0s stop", "250ms default 1"}},
		"interrupt three times": {[]int{0, 0, 0}, []string{"0s default 1", "0s stop", "250ms default 0"}},
		"ctx ends":              {[]int{-1}, []string{"0s default 0", "0s default 1"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			sigs := []chan os.Signal{make(chan os.Signal, 1), make(chan os.Signal, 1)}
			var got []string
			begin := time.Now()
			note := func(what string) { got = append(got, fmt.Sprint(time.Since(begin), " ", what)) }
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				manager.StopOnSignal(ctx, func() { note("stop") }, sigs[0], sigs[1], func(c chan<- os.Signal) {
					for i := range sigs {
						if c == (chan<- os.Signal)(sigs[i]) {
							note(fmt.Sprint("default ", i))
						}
					}
				})
			}()
			for _, i := range c.sent {
				if i < 0 {
					cancel()
				} else {
					select {
					case sigs[i] <- os.Interrupt:
					default: // as package signal does
					}
				}
				<-time.After(100 * time.Millisecond)
			}
			<-done
			cancel()
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		})
	}
}
