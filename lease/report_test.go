package lease_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
)

// journal is a logger whose lines are kept, with the seconds since it was made.
type journal struct {
	*slog.Logger
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func newJournal() *journal {
	j, began := &journal{}, time.Now()
	j.Logger = slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindTime {
			return slog.String(a.Key, fmt.Sprint(a.Value.Time().Sub(began).Round(time.Second)))
		}
		return a
	}}))
	return j
}

// lines returns what was logged since the last call.
func (j *journal) lines() []string {
	synctest.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	text := strings.TrimSpace(j.text.String())
	j.text.Reset()
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func wantLines(t *testing.T, j *journal, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, j.lines()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// The log says whom a standby waits for and until when, from the first look on, and
// each change after that once.
func TestLogSaysWhoLeads(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		j := newJournal()
		a := s.replica("a", lease.Options{Logger: j.Logger}).start()
		wantLines(t, j, `time=0s level=INFO msg="the lease does not exist: waiting until a leader that was cut off must have stopped" lease=shop/orders until=15s`)
		time.Sleep(15 * time.Second)
		wantLines(t, j, `time=15s level=INFO msg=leading lease=shop/orders identity=a transitions=1`)
		b := newJournal()
		rb := s.replica("b", lease.Options{}) // which has the logger of who runs it
		rb.SetLogger(b.Logger)
		rb.start()
		wantLines(t, b, `time=0s level=INFO msg="another replica leads: waiting" lease=shop/orders holder=a until=15s`)
		time.Sleep(10 * time.Minute)
		wantLines(t, j)
		wantLines(t, b)
		a.stop()
		wantLines(t, j, `time=10m15s level=INFO msg="the lease is released" lease=shop/orders`)
		time.Sleep(2 * time.Second)
		wantLines(t, b, `time=10m1s level=INFO msg=leading lease=shop/orders identity=b transitions=2`)
		s.srv.Delete(kube.Leases, orders)
		time.Sleep(2 * time.Second)
		wantLines(t, b, `time=10m3s level=WARN msg="the lease is lost" lease=shop/orders err="the lease is lost: it is gone: it was deleted"`)
	})
}

// Requests that are refused are logged once, and that they succeed again.
func TestLogSaysOnceThatRequestsAreRefused(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.put(released)
		allow := s.srv.Deny("", apitest.Match{Verb: "update", Resource: "leases"})
		j := newJournal()
		a := s.replica("a", lease.Options{Logger: j.Logger}).start()
		time.Sleep(time.Minute)
		got := j.lines()
		if err := a.Ready(); !errors.Is(err, kube.ErrForbidden) {
			t.Errorf("ready: %v", err)
		}
		if len(got) != 1 || !strings.Contains(got[0], `level=WARN msg="requests for the lease are refused; trying again" lease=shop/orders leading=false err=`) {
			t.Errorf("log %q", got)
		}
		allow()
		s.until("a")
		if err := a.Ready(); err != nil {
			t.Errorf("ready: %v", err)
		}
		got = j.lines()
		if len(got) != 2 || !strings.Contains(got[0], `level=INFO msg="requests for the lease succeed again" lease=shop/orders`) {
			t.Errorf("log %q", got)
		}
		s.srv.On(apitest.Match{}, faults.HTML(500)).Times(3)
		time.Sleep(time.Minute)
		got = j.lines()
		if len(got) != 2 || !strings.Contains(got[0], `msg="requests for the lease fail; trying again" lease=shop/orders leading=true`) || !strings.Contains(got[1], "succeed again") {
			t.Errorf("log %q", got)
		}
	})
}

// A standby leads within RetryPeriod of the release, whenever it looked last.
func TestStandbyLeadsSoonAfterARelease(t *testing.T) {
	for ms := range 25 {
		for _, dice := range []float64{0, 0.5, 1} {
			leading(t, func(t *testing.T, s *stage, a *replica) {
				b := s.replica("b", lease.Options{})
				b.SetDice(func() float64 { return dice })
				b.start()
				time.Sleep(5*time.Second + time.Duration(ms)*97*time.Millisecond)
				a.stop()
				if took := s.until("b"); took > 2*time.Second {
					t.Errorf("dice %v: b leads after %v", dice, took)
				}
			})
		}
	}
}

// TakeMissing takes a Lease that does not exist at once; one that was deleted after
// this elector had seen it is waited for all the same.
func TestTakeMissing(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		a := s.replica("a", lease.Options{TakeMissing: true}).start()
		if took := s.until("a"); took != 0 {
			t.Errorf("a leads after %v", took)
		}
		if got := s.lease().Spec; got.Holder != "a" || got.Seconds != 15 || got.Transitions != 1 {
			t.Errorf("spec %+v", got)
		}
		b := s.replica("b", lease.Options{TakeMissing: true}).start()
		time.Sleep(5 * time.Second)
		a.link.set(mute)
		a.linger = func() time.Duration { return 4 * time.Second }
		s.srv.Delete(kube.Leases, orders)
		if took := s.until("b"); took < 15*time.Second || took > 17*time.Second {
			t.Errorf("b leads after %v", took)
		}
		s.srv.Delete(kube.Leases, orders)
		b.await()
		b.start() // the same elector, which has seen the Lease
		if took := s.until("b"); took != 15*time.Second {
			t.Errorf("b leads again after %v", took)
		}
	})
}

func TestTakeMissingByMany(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		for i := range 9 {
			s.replica(fmt.Sprint(i), lease.Options{TakeMissing: true}).start()
		}
		time.Sleep(time.Second)
		if s.leader() == "" {
			t.Error("nobody leads")
		}
		time.Sleep(3 * time.Minute)
		if s.count() != 1 {
			t.Errorf("%d terms", s.count())
		}
	})
}

// Durations in the Lease of any size are handled: one that is too long for us is
// waited for as long as can be expressed, a negative one is not believed.
func TestDurationsInTheLeaseSaturate(t *testing.T) {
	for seconds, leads := range map[string]bool{
		"2147483647": false, "9223372036": false, "9223372037": false, "18446744074": false, "9223372036854775807": false,
		"-1": true, "0": true, "-9223372036": true, "-9223372037": true, "-18446744073": true, "-9223372036854775808": true,
	} {
		t.Run(seconds, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				body := `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"namespace":"shop","name":"orders","uid":"1","resourceVersion":"7"},"spec":{"holderIdentity":"b","leaseDurationSeconds":` +
					seconds + `,"renewTime":"9999-12-31T23:59:59.999999Z","leaseTransitions":4}}`
				s.put(`{"holderIdentity":"b","leaseDurationSeconds":15}`)
				s.srv.On(apitest.Match{Verb: "get"}, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprint(w, body)
				})
				s.replica("a", lease.Options{}).start()
				s.srv.ForgetRequests()
				time.Sleep(14 * time.Second)
				for _, line := range s.lines("a") {
					if strings.HasPrefix(line, "update") {
						t.Fatal("it tries to take the Lease before its time")
					}
				}
				time.Sleep(20 * time.Second)
				tried := false
				for _, line := range s.lines("a") {
					tried = tried || strings.HasPrefix(line, "update")
				}
				if tried != leads {
					t.Errorf("it tried to take the Lease: %v, want %v", tried, leads)
				}
			})
		})
	}
}

// After the machine has slept, IsLeader is false until the next renewal: timers and
// the monotonic clock stood still, the clock on the wall did not.
func TestIsLeaderLooksAtTheWall(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.put(released)
		var slept atomic.Int64
		a := s.replica("a", lease.Options{})
		a.SetClock(func() time.Time { return time.Now().Add(time.Duration(slept.Load())) })
		a.start()
		s.until("a")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		slept.Store(int64(time.Hour))
		if a.IsLeader() {
			t.Error("IsLeader after an hour of sleep")
		}
		time.Sleep(2 * time.Second) // nobody has taken the Lease meanwhile
		synctest.Wait()
		if !a.IsLeader() {
			t.Error("it is no leader after the next renewal")
		}
		slept.Store(-int64(time.Hour)) // the clock was set back: that says nothing
		if !a.IsLeader() {
			t.Error("it is no leader because its clock went back")
		}
	})
}
