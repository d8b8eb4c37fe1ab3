package lease_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
)

// leading runs f with a replica a that has just taken a Lease.
func leading(t *testing.T, f func(t *testing.T, s *stage, a *replica)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.put(released)
		a := s.replica("a", lease.Options{}).start()
		s.until("a")
		f(t, s, a)
	})
}

// TestLeaderRenewsByOneRequest: nothing is read, and the time is always another.
func TestLeaderRenewsByOneRequest(t *testing.T) {
	leading(t, func(t *testing.T, s *stage, _ *replica) {
		s.lines("a")
		before := s.lease().Spec
		time.Sleep(time.Minute)
		synctest.Wait()
		if diff := cmp.Diff(slices.Repeat([]string{"update 200"}, 30), s.lines("a")); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		want := before
		want.Renewed = time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
		if diff := cmp.Diff(want, s.lease().Spec); diff != "" {
			t.Errorf("spec (-want +got):\n%s", diff)
		}
	})
}

// TestLeaderKeepsWhatOthersWrite, in the Lease it takes and while it leads.
func TestLeaderKeepsWhatOthersWrite(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.srv.Put(kube.Leases, `{"metadata":{"namespace":"shop","name":"orders","labels":{"a":"b","c":"d"},"annotations":{"e":"f"}},
			"spec":{"holderIdentity":"b","leaseDurationSeconds":15,"strategy":"OldestEmulationVersion","preferredHolder":"c"}}`)
		s.replica("a", lease.Options{Labels: map[string]string{"c": "e", "g": "h"}}).start()
		s.until("a")
		s.lines("a")
		if _, err := client.Of[codec.Raw](s.replica("x", lease.Options{}).client, kube.Leases).Patch(t.Context(), orders,
			client.MergePatch, `{"metadata":{"annotations":{"i":"j"}},"spec":{"preferredHolder":"k"}}`); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]string{"update 409", "get 200", "update 200", "update 200"}, s.lines("a")); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		got := s.lease()
		want := kube.Meta{Labels: map[string]string{"a": "b", "c": "e", "g": "h"}, Annotations: map[string]string{"e": "f", "i": "j"}}
		if diff := cmp.Diff(want, kube.Meta{Labels: got.Labels, Annotations: got.Annotations}); diff != "" {
			t.Errorf("metadata (-want +got):\n%s", diff)
		}
		if got.Spec.Strategy != "OldestEmulationVersion" || got.Spec.Preferred != "k" || got.Spec.Holder != "a" {
			t.Errorf("spec %+v", got.Spec)
		}
	})
}

// TestLeaderWhoseLeaseIsTakenAway stops at the next renewal, says why, and writes
// nothing more.
func TestLeaderWhoseLeaseIsTakenAway(t *testing.T) {
	edit := func(change func(*spec)) func(*stage) {
		return func(s *stage) {
			spec := s.lease().Spec
			change(&spec)
			s.srv.Put(kube.Leases, map[string]any{"metadata": s.lease().Meta, "spec": map[string]any{
				"holderIdentity": spec.Holder, "leaseDurationSeconds": spec.Seconds, "leaseTransitions": spec.Transitions,
				"acquireTime": spec.Acquired, "renewTime": spec.Renewed}})
		}
	}
	for _, tt := range []struct {
		name   string
		change func(s *stage)
		want   string
	}{
		{"another holder", edit(func(s *spec) { s.Holder = "b" }), `its holder is now "b"`},
		{"no holder", edit(func(s *spec) { s.Holder = "" }), `its holder is now ""`},
		{"a namesake", edit(func(s *spec) { s.Acquired = "2026-01-02T03:04:05.000006Z" }), `its holder is now "a"`},
		{"a namesake at the same time", edit(func(s *spec) { s.Transitions++ }), `its holder is now "a"`},
		{"deleted", func(s *stage) { s.srv.Delete(kube.Leases, orders) }, "it was deleted"},
		{"replaced", func(s *stage) {
			same := s.lease()
			s.srv.Delete(kube.Leases, orders)
			s.put(fmt.Sprintf(`{"holderIdentity":"a","leaseDurationSeconds":15,"leaseTransitions":%d,"acquireTime":%q,"renewTime":%q}`,
				same.Spec.Transitions, same.Spec.Acquired, same.Spec.Renewed))
		}, "deleted and created again"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			leading(t, func(t *testing.T, s *stage, a *replica) {
				time.Sleep(time.Second)
				began := time.Now()
				tt.change(s)
				after := s.srv.Get(kube.Leases, orders)
				a.await()
				if !errors.Is(a.err, lease.ErrLost) || !strings.Contains(a.err.Error(), tt.want) {
					t.Errorf("Run: %v", a.err)
				}
				if got := s.last(); got.end.Sub(began) != time.Second || !errors.Is(got.cause, lease.ErrLost) {
					t.Errorf("it stopped after %v, %v", got.end.Sub(began), got.cause)
				}
				if diff := cmp.Diff(string(after), string(s.srv.Get(kube.Leases, orders))); diff != "" {
					t.Errorf("the Lease was changed:\n%s", diff)
				}
			})
		})
	}
}

// TestLeaderStopsBeforeItsLeaseRunsOut: 10 seconds after the last renewal that
// succeeded was sent, whatever is lost.
func TestLeaderStopsBeforeItsLeaseRunsOut(t *testing.T) {
	for name, w := range map[string]weather{"severed": severed, "requests lost": mute} {
		t.Run(name, func(t *testing.T) {
			leading(t, func(t *testing.T, s *stage, a *replica) {
				b := s.replica("b", lease.Options{}).start()
				time.Sleep(5 * time.Second) // renewed a second ago
				a.link.set(w)
				if took := s.until(""); took != 9*time.Second {
					t.Errorf("it leads for %v", took)
				}
				if a.IsLeader() {
					t.Error("IsLeader")
				}
				if took := s.until("b"); took < 5*time.Second || took > 7*time.Second {
					t.Errorf("b leads after another %v", took)
				}
				a.await()
				if !errors.Is(a.err, lease.ErrLost) || !strings.Contains(a.err.Error(), "not renewed for 10s") {
					t.Errorf("Run: %v", a.err)
				}
				_ = b
			})
		})
	}
	t.Run("answers lost", func(t *testing.T) {
		leading(t, func(t *testing.T, s *stage, a *replica) {
			time.Sleep(5 * time.Second)
			a.link.set(deaf)
			if took := s.until(""); took != 9*time.Second {
				t.Errorf("it leads for %v", took)
			}
		})
	})
}

// TestLeaderCountsFromWhenARenewalWasSent: not from a late answer.
func TestLeaderCountsFromWhenARenewalWasSent(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.put(released)
		var a *replica
		a = s.replica("a", lease.Options{Trace: lease.Trace{Renewed: func(time.Duration) { a.link.set(mute) }}}).start()
		s.until("a")
		s.srv.On(apitest.Match{Verb: "update"}, faults.Delay(4*time.Second)) // sent after 2 s, answered after 6
		s.until("")
		if got := time.Since(s.last().start); got != 12*time.Second {
			t.Errorf("it led for %v, want 10 s after what was sent after 2", got)
		}
	})
}

// TestLeaderOutlivesShortOutages of the server and of its connections.
func TestLeaderOutlivesShortOutages(t *testing.T) {
	for name, f := range map[string]func(s *stage, a *replica){
		"restart": func(s *stage, _ *replica) { s.srv.Restart() },
		"down for 5 s": func(s *stage, _ *replica) {
			s.srv.On(apitest.Match{}, faults.Down(apitest.Refusing, 5*time.Second)).Times(1)
		},
		"silent for 4 s": func(s *stage, _ *replica) {
			s.srv.On(apitest.Match{}, faults.Down(apitest.Hanging, 4*time.Second)).Times(1)
		},
		"a dead peer":      func(_ *stage, a *replica) { a.link.freeze() },
		"one hangs":        func(s *stage, _ *replica) { s.srv.On(apitest.Match{}, faults.Hang()).Times(1) },
		"unavailable":      func(s *stage, _ *replica) { s.srv.On(apitest.Match{}, faults.HTML(503)).Times(3) },
		"throttled":        func(s *stage, _ *replica) { s.srv.On(apitest.Match{}, faults.Throttle("60")).Times(3) },
		"page not found":   func(s *stage, _ *replica) { s.srv.On(apitest.Match{}, faults.HTML(404)).Times(3) },
		"forbidden":        func(s *stage, _ *replica) { s.srv.On(apitest.Match{}, faults.HTML(403)).Times(3) },
		"an answer is cut": func(s *stage, _ *replica) { s.srv.On(apitest.Match{}, faults.Truncate(20)).Times(2) },
		"an answer is lost": func(s *stage, a *replica) {
			a.link.set(deaf)
			pass(4 * time.Second) // one request waits for 5 s, and a second one must not be lost too
			a.link.set(fair)
		},
	} {
		t.Run(name, func(t *testing.T) {
			leading(t, func(t *testing.T, s *stage, a *replica) {
				s.replica("b", lease.Options{}).start()
				time.Sleep(5 * time.Second)
				f(s, a)
				time.Sleep(time.Minute)
				if s.leader() != "a" || s.count() != 1 || !a.IsLeader() {
					t.Errorf("leader %q, %d terms, IsLeader %v", s.leader(), s.count(), a.IsLeader())
				}
			})
		})
	}
}

// TestLeaderIsNotThrottled by its client's limit, which others have used up.
func TestLeaderIsNotThrottled(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.put(released)
		a := s.replica("a", lease.Options{})
		a.connect(client.Config{QPS: 0.01, Burst: 1})
		a.elect(lease.Options{Identity: "a"})
		pods := client.Of[codec.Raw](a.client, kube.Pods)
		ctx, cancel := context.WithCancel(t.Context())
		waiting := make(chan struct{})
		go func() {
			defer close(waiting)
			for ctx.Err() == nil {
				_, _ = pods.Get(ctx, kube.Key{Namespace: "d", Name: "p"})
			}
		}()
		synctest.Wait()
		a.start()
		time.Sleep(time.Second)
		s.replica("b", lease.Options{}).start()
		time.Sleep(10 * time.Minute)
		if s.leader() != "a" || s.count() != 1 {
			t.Errorf("%d terms, leader %q", s.count(), s.leader())
		}
		cancel()
		<-waiting
	})
}

// TestLeaderLeavesADeadConnection where nothing says that it is dead.
func TestLeaderLeavesADeadConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{t: t, srv: apitest.NewWith(t, apitest.Options{InMemory: true, TLS: true})}
		s.put(released)
		a := s.replica("a", lease.Options{})
		a.connect(client.Config{TLS: client.TLS{CAData: s.srv.CAPEM(), ServerName: "localhost"}})
		a.elect(lease.Options{Identity: "a"})
		a.start()
		s.until("a")
		for range 20 {
			time.Sleep(30 * time.Second)
			a.link.freeze()
		}
		time.Sleep(30 * time.Second)
		if s.count() != 1 || s.leader() != "a" {
			t.Errorf("%d terms, leader %q", s.count(), s.leader())
		}
		if a.link.dials != 21 {
			t.Errorf("%d connections, want one after each that died", a.link.dials)
		}
	})
}

// TestLeaderShowsLifeThoughItsClockStandsStill, or goes back: others look for a
// change.
func TestLeaderShowsLifeThoughItsClockStandsStill(t *testing.T) {
	still := time.Now()
	for name, clock := range map[string]func() time.Time{
		"still":    func() time.Time { return still },
		"backward": func() time.Time { return still.Add(-time.Since(still)) },
		"to and fro": func() time.Time {
			return still.Add(time.Since(still).Round(4 * time.Second))
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.put(released)
				a := s.replica("a", lease.Options{})
				a.SetClock(clock)
				a.start()
				s.until("a")
				s.replica("b", lease.Options{}).start()
				time.Sleep(10 * time.Minute)
				if s.count() != 1 {
					t.Errorf("%d terms", s.count())
				}
			})
		})
	}
}
