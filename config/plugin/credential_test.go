package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
)

// scripted is a plugin whose runs are f, called with their number from 1.
func scripted(f func(ctx context.Context, n int) (answer, error)) (p *Plugin, runs *atomic.Int64) {
	runs = new(atomic.Int64)
	p = &Plugin{o: &Options{Command: "scripted"}}
	p.run = func(ctx context.Context) (answer, error) { return f(ctx, int(runs.Add(1))) }
	return p, runs
}

// token is an answer; life 0 = without an end.
func token(text string, life time.Duration) answer {
	a := answer{credential: &client.Credential{Token: text}}
	if life != 0 {
		a.expires = time.Now().Add(life)
	}
	return a
}

func numbered(life time.Duration) func(context.Context, int) (answer, error) {
	return func(_ context.Context, n int) (answer, error) { return token(fmt.Sprint(n), life), nil }
}

// must returns the credential; after an error one that is like no other.
func must(t *testing.T, p *Plugin, refused *client.Credential) *client.Credential {
	t.Helper()
	c, err := p.Credential(t.Context(), refused)
	if c == nil || err != nil {
		t.Errorf("Credential: %v, %v", c, err)
		return &client.Credential{}
	}
	return c
}

func TestCredentialIsKeptUntilShortlyBeforeItExpires(t *testing.T) {
	for _, tt := range []struct{ life, kept time.Duration }{
		{0, 1000 * time.Hour},
		{time.Hour, time.Hour - 10*time.Second},
		{100 * time.Second, 90 * time.Second},
		{10 * time.Second, 9 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, _ := scripted(numbered(tt.life))
			first := must(t, p, nil)
			time.Sleep(tt.kept - 1)
			if got := must(t, p, nil); got != first {
				t.Errorf("life %v: another credential too early", tt.life)
			}
			time.Sleep(time.Nanosecond)
			want := "2"
			if tt.life == 0 {
				want = "1"
			}
			if got := must(t, p, nil); got.Token != want {
				t.Errorf("life %v: token %s after %v, want %s", tt.life, got.Token, tt.kept, want)
			}
		})
	}
}

func TestCredentialIsReplacedOnceAfterA401(t *testing.T) {
	p, runs := scripted(numbered(0))
	first := must(t, p, nil)
	second := must(t, p, first)
	if second.Token != "2" {
		t.Errorf("token %s", second.Token)
	}
	for range 100 { // that were under way with the first
		if got := must(t, p, first); got != second {
			t.Errorf("token %s after the news of an old refusal", got.Token)
		}
	}
	if n := runs.Load(); n != 2 {
		t.Errorf("%d runs, want 2", n)
	}
}

// TestStormOf401sRunsLittle asks every 10 ms for minutes, and is always refused.
func TestStormOf401sRunsLittle(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  func(context.Context, int) (answer, error)
	}{
		{"the same again", func(context.Context, int) (answer, error) { return token("same", 0), nil }},
		{"another each time", numbered(0)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, runs := scripted(tt.run)
				start := time.Now()
				last := must(t, p, nil)
				var at []int
				for seen := runs.Load(); time.Since(start) < 3*time.Minute; time.Sleep(10 * time.Millisecond) {
					got := must(t, p, last)
					if n := runs.Load(); n != seen {
						at, seen = append(at, int(time.Since(start)/time.Second)), n
					} else if got != last {
						t.Fatal("another credential without a run")
					}
					last = got
				}
				// 1, 2, 4, 8, 16 and then 30 s apart.
				if diff := cmp.Diff([]int{0, 1, 3, 7, 15, 31, 61, 91, 121, 151}, at); diff != "" {
					t.Errorf("runs at seconds (-want +got):\n%s", diff)
				}
				time.Sleep(2 * time.Minute)
				before := runs.Load()
				must(t, p, last)
				time.Sleep(minPause)
				must(t, p, must(t, p, nil))
				if n := runs.Load() - before; n != 2 {
					t.Errorf("%d runs within a second after a calm, want 2", n)
				}
			})
		})
	}
}

func TestSameAfterA401IsWhatWasRefused(t *testing.T) {
	p, runs := scripted(func(context.Context, int) (answer, error) { return token("same", 0), nil })
	c := must(t, p, nil)
	if got := must(t, p, c); got != c {
		t.Error("another pointer for the credential that was refused")
	}
	if n := runs.Load(); n != 2 {
		t.Errorf("%d runs, want 2", n)
	}
	if got := must(t, p, nil); got != c || runs.Load() != 2 {
		t.Error("a run without a refusal")
	}
}

func TestEqualCredentialKeepsItsPointer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, runs := scripted(func(context.Context, int) (answer, error) { return token("same", time.Hour), nil })
		first := must(t, p, nil)
		for n := int64(2); n < 5; n++ {
			time.Sleep(time.Hour - 10*time.Second)
			if got := must(t, p, nil); got != first || runs.Load() != n {
				t.Errorf("run %d: the same token has another pointer", runs.Load())
			}
		}
	})
}

func TestCommandThatKeepsCredentialsItselfIsAskedEarlyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := time.Now().Add(time.Hour)
		p, runs := scripted(func(context.Context, int) (answer, error) {
			if !time.Now().Before(end) {
				end = end.Add(time.Hour)
			}
			return answer{&client.Credential{Token: end.String()}, end}, nil
		})
		first := must(t, p, nil)
		for range 3600 {
			if got := must(t, p, nil); got != first {
				t.Fatal("another credential within the hour")
			}
			time.Sleep(time.Second)
		}
		if got := must(t, p, nil); got == first {
			t.Error("it is used after its end")
		}
		if n := runs.Load(); n != 3 {
			t.Errorf("%d runs, want 3: at first, 10 s before the end, and then", n)
		}
	})
}

func TestCredentialThatJustExpiredIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, runs := scripted(func(_ context.Context, n int) (answer, error) {
			if n == 1 {
				return token("old", -time.Second), nil
			}
			return token("new", time.Hour), nil
		})
		if got := must(t, p, nil); got.Token != "new" || runs.Load() != 2 {
			t.Errorf("token %s after %d runs", got.Token, runs.Load())
		}
	})
}

// TestCredentialThatExpiredIsUsedAllTheSame, since a wrong clock may say so: the server
// knows. The command is asked again, with pauses as after a failure.
func TestCredentialThatExpiredIsUsedAllTheSame(t *testing.T) {
	for _, tt := range []struct {
		ago  time.Duration
		runs int64 // at once
		want string
	}{
		{time.Second, attempts, `credential plugin "scripted": the credential it printed expired 3s ago: is the clock of this machine right?`},
		{time.Hour, 1, `credential plugin "scripted": the credential it printed expired 1h0m0s ago: is the clock of this machine right?`},
	} {
		synctest.Test(t, func(t *testing.T) {
			end := time.Now().Add(-tt.ago)
			p, runs := scripted(func(_ context.Context, n int) (answer, error) {
				if n > 11 {
					return token("good", time.Hour), nil
				}
				return answer{&client.Credential{Token: "old"}, end}, nil
			})
			old := must(t, p, nil)
			if n := runs.Load(); n != tt.runs || old.Token != "old" {
				t.Errorf("token %s after %d runs, want %d", old.Token, n, tt.runs)
			}
			if c, err := p.Credential(t.Context(), old); c != nil || err == nil || err.Error() != tt.want {
				t.Errorf("after a 401: %v, %v; want %s", c, err, tt.want)
			}
			start := time.Now()
			var at []int
			for seen := runs.Load(); must(t, p, nil) == old; time.Sleep(10 * time.Millisecond) {
				if n := runs.Load(); n != seen {
					at, seen = append(at, int(time.Since(start)/time.Second)), n
				}
			}
			if len(at) == 0 || at[0] != 1 || len(at) > 1 && at[1] != 3 {
				t.Errorf("runs at seconds %v, want 1, 3, ...", at)
			}
			good := must(t, p, nil)
			for range 100 {
				time.Sleep(30 * time.Second)
				if got := must(t, p, nil); got != good {
					t.Fatal("another credential than the good one")
				}
			}
		})
	}
}

// TestCredentialThatExpiredIsToldAfterTheRunThatA401Causes.
func TestCredentialThatExpiredIsToldAfterTheRunThatA401Causes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, runs := scripted(func(context.Context, int) (answer, error) { return token("old", -time.Hour), nil })
		old := must(t, p, nil)
		time.Sleep(calm + time.Second)
		c, err := p.Credential(t.Context(), old)
		if c != nil || err == nil || runs.Load() != 2 {
			t.Errorf("%v, %v after %d runs", c, err, runs.Load())
		}
	})
}

// TestCredentialThatExpiredDoesNotReplaceABetterOne.
func TestCredentialThatExpiredDoesNotReplaceABetterOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, runs := scripted(func(_ context.Context, n int) (answer, error) {
			if n == 2 {
				return token("old", -time.Hour), nil
			}
			return token(fmt.Sprint(n), time.Hour), nil
		})
		first := must(t, p, nil)
		time.Sleep(time.Hour - maxLeeway)
		if got := must(t, p, nil); got != first || runs.Load() != 2 {
			t.Errorf("token %s after %d runs", got.Token, runs.Load())
		}
		time.Sleep(minPause)
		if got := must(t, p, nil); got.Token != "3" {
			t.Errorf("token %s", got.Token)
		}
	})
}

func TestCallersShareOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, runs := scripted(func(_ context.Context, n int) (answer, error) {
			time.Sleep(time.Second)
			return token(fmt.Sprint(n), 0), nil
		})
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if c, err := p.Credential(t.Context(), nil); err != nil || c.Token != "1" {
					t.Errorf("Credential: %v, %v", c, err)
				}
			})
		}
		all.Wait()
		if n := runs.Load(); n != 1 {
			t.Errorf("%d runs, want 1", n)
		}
	})
}

func TestFailureIsSharedAndNotRepeatedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failure := errors.New("not logged in")
		p, runs := scripted(func(_ context.Context, n int) (answer, error) {
			time.Sleep(time.Millisecond)
			if n > 8 {
				return token("t", 0), nil
			}
			return answer{}, failure
		})
		start := time.Now()
		var at []int
		for seen := int64(0); ; time.Sleep(100 * time.Millisecond) {
			var good atomic.Int64
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					c, err := p.Credential(t.Context(), nil)
					if (c == nil) == (err == nil) || c == nil && err != failure {
						t.Errorf("Credential: %v, %v", c, err)
					}
					if c != nil {
						good.Add(1)
					}
				})
			}
			all.Wait()
			if n := runs.Load(); n != seen {
				at, seen = append(at, int(time.Since(start)/time.Second)), n
			}
			if good.Load() == 20 {
				break
			}
		}
		if diff := cmp.Diff([]int{0, 1, 3, 7, 15, 31, 61, 91, 121}, at); diff != "" {
			t.Errorf("runs at seconds (-want +got):\n%s", diff)
		}
	})
}

func TestOldCredentialIsUsedWhileTheCommandFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failure := errors.New("not logged in")
		p, _ := scripted(func(_ context.Context, n int) (answer, error) {
			if n > 1 {
				return answer{}, failure
			}
			return token("t", time.Hour), nil
		})
		c := must(t, p, nil)
		time.Sleep(time.Hour - 10*time.Second)
		for range 10 {
			if got := must(t, p, nil); got != c {
				t.Error("another credential of a command that fails")
			}
			time.Sleep(time.Second)
		}
		if got, err := p.Credential(t.Context(), nil); got != nil || err != failure {
			t.Errorf("after its end: %v, %v", got, err)
		}
	})
}

func TestFailureAfterA401IsTold(t *testing.T) {
	failure := errors.New("not logged in")
	p, runs := scripted(func(_ context.Context, n int) (answer, error) {
		if n > 1 {
			return answer{}, failure
		}
		return token("t", 0), nil
	})
	c := must(t, p, nil)
	for range 3 {
		if got, err := p.Credential(t.Context(), c); got != nil || err != failure {
			t.Errorf("Credential of what was refused: %v, %v", got, err)
		}
		if got := must(t, p, nil); got != c { // the 401 may have been a mistake
			t.Error("another credential")
		}
	}
	if n := runs.Load(); n != 2 {
		t.Errorf("%d runs, want 2", n)
	}
}

func TestRenewalInTimeHoldsUpOneCallerOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := scripted(func(_ context.Context, n int) (answer, error) {
			time.Sleep(time.Second)
			return token(fmt.Sprint(n), time.Hour), nil
		})
		c := must(t, p, nil)
		time.Sleep(time.Hour - 10*time.Second)
		renewed := make(chan *client.Credential)
		go func() { renewed <- must(t, p, nil) }()
		synctest.Wait()
		start := time.Now()
		if got := must(t, p, nil); got != c || time.Since(start) > 0 {
			t.Errorf("token %s after %v, want the old at once", got.Token, time.Since(start))
		}
		// A refusal in the meantime: now the old is of no use to anybody.
		go func() { renewed <- must(t, p, c) }()
		synctest.Wait()
		if got := must(t, p, nil); got.Token != "2" {
			t.Errorf("token %s though it was refused", got.Token)
		}
		for range 2 {
			if got := <-renewed; got.Token != "2" {
				t.Errorf("renewed: token %s", got.Token)
			}
		}
	})
}

func TestCallerThatLeavesDisturbsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, runs := scripted(func(ctx context.Context, n int) (answer, error) {
			select {
			case <-time.After(10 * time.Second):
				return token(fmt.Sprint(n), 0), nil
			case <-ctx.Done():
				return answer{}, context.Cause(ctx)
			}
		})
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		left := make(chan error)
		go func() { _, err := p.Credential(ctx, nil); left <- err }() // it is this one that starts the run
		synctest.Wait()
		stays := make(chan *client.Credential)
		go func() { stays <- must(t, p, nil) }()
		synctest.Wait()
		cancel(enough)
		if err := <-left; !errors.Is(err, enough) {
			t.Errorf("who left: %v, want the cause", err)
		}
		if c := <-stays; c.Token != "1" || runs.Load() != 1 {
			t.Errorf("who stayed: token %s of run %d", c.Token, runs.Load())
		}
	})
}

func TestRunThatNobodyWaitsForIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, runs := scripted(func(ctx context.Context, n int) (answer, error) {
			if n > 1 {
				return token(fmt.Sprint(n), 0), nil
			}
			<-ctx.Done()
			time.Sleep(time.Second) // it takes its time to die
			return answer{}, context.Cause(ctx)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		left := make(chan error)
		for range 2 {
			go func() { _, err := p.Credential(ctx, nil); left <- err }()
		}
		time.Sleep(5500 * time.Millisecond)
		got := must(t, p, nil) // in the midst of dying: it begins anew, and nothing has failed
		if took := time.Since(start); got.Token != "2" || took != 6*time.Second {
			t.Errorf("token %s after %v, want that of the second run after the first has ended", got.Token, took)
		}
		for range 2 {
			if err := <-left; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("who left: %v", err)
			}
		}
		if _, err := p.Credential(ctx, got); !errors.Is(err, context.DeadlineExceeded) || runs.Load() != 2 {
			t.Errorf("with a context that has ended: %v, %d runs", err, runs.Load())
		}
	})
}
