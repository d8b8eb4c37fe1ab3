package manager_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/controller"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/manager"
	"github.com/listwatch/listwatch/watch"
)

// start runs m, and returns what stops it and returns the error of Run.
func start(t *testing.T, m *manager.Manager) (stop func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	synctest.Wait()
	return func() error {
		cancel()
		return <-done
	}
}

// TestManagerAddsAndRemovesPartsWhileItRuns: parts begin when they are added, those of
// AddLed when this process leads, and end when they are removed; the others continue, and
// stop in order.
func TestManagerAddsAndRemovesPartsWhileItRuns(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		m := manager.New(manager.Options{Elector: &elector{w: w}})
		m.Add(&part{w: w, name: "early"})
		stop := start(t, m)
		wantNotes(t, w, "early begins")
		<-time.After(time.Minute)
		wantNotes(t, w) // no lease: nothing is to be led
		led, second := &part{w: w, name: "led", stop: time.Second}, &part{w: w, name: "second"}
		m.AddLed(led)
		wantNotes(t, w)
		<-time.After(2 * time.Second)
		wantNotes(t, w, "lease acquired", "led begins")
		m.AddLed(second)
		wantNotes(t, w, "second begins")
		late := &part{w: w, name: "late"}
		m.Add(late)
		wantNotes(t, w, "late begins")
		for _, p := range []*part{late, led, second} {
			if err := m.Remove(t.Context(), p); err != nil {
				t.Error(err)
			}
			wantNotes(t, w, p.name+" ends")
		}
		if !m.Leading() {
			t.Error("without a part it does not lead any more")
		}
		m.AddLed(&part{w: w, name: "third", stop: time.Second})
		wantNotes(t, w, "third begins")
		stopped := make(chan error, 1)
		go func() { stopped <- stop() }()
		<-time.After(time.Second / 2)
		m.Add(&part{w: w, name: "while it stops"})
		m.AddLed(&part{w: w, name: "while it stops"})
		if err := <-stopped; err != nil {
			t.Errorf("Run: %v", err)
		}
		wantNotes(t, w, "third ends", "lease released", "early ends")
		m.Add(&part{w: w, name: "after the end"})
		wantNotes(t, w)
	})
}

// TestManagerReadinessOfPartsThatAreAdded: it depends on an informer that was added, and
// not any more once that is removed.
func TestManagerReadinessOfPartsThatAreAdded(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.On(apitest.Match{Resource: "secrets"}, faults.Answer(&kube.Status{Code: 403, Reason: "Forbidden", Message: "no"}))
		w.put("x", "1")
		ctl := noting(w, controller.Options[kube.Key]{})
		m := manager.New(manager.Options{})
		stop := start(t, m)
		m.AddLed(ctl)
		controller.For(ctl, w.maps)
		m.Add(w.maps, w.secrets)
		<-time.After(time.Minute)
		wantNotes(t, w, "x=1")
		if text := m.ReadyText(); !strings.Contains(text, "[-]informer of secrets") || !strings.Contains(text, "[+]controller maps") {
			t.Errorf("ready:\n%s", text)
		}
		if err := m.Remove(t.Context(), w.secrets); err != nil {
			t.Error(err)
		}
		if text := m.ReadyText(); !strings.HasSuffix(text, "\nok\n") {
			t.Errorf("ready without it:\n%s", text)
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// TestManagerRemove: what it returns for parts that fail, do not stop, or are not there.
func TestManagerRemove(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		failing := &part{w: w, name: "failing", f: func(ctx context.Context) error { <-ctx.Done(); return errBroken }}
		slow := &part{w: w, name: "slow", stop: time.Hour}
		before := &part{w: w, name: "before"}
		m := manager.New(manager.Options{StopTimeout: time.Minute})
		m.Add(before, failing, slow)
		if err := m.Remove(t.Context(), before); err != nil {
			t.Error(err)
		}
		stop := start(t, m)
		if err := m.Remove(t.Context(), failing); !errors.Is(err, errBroken) {
			t.Errorf("Remove of a part that fails: %v", err)
		}
		if err := m.Remove(t.Context(), failing); err == nil {
			t.Error("Remove twice")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := m.Remove(ctx, slow); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Remove of a part that does not stop: %v", err)
		}
		if err := stop(); err == nil || !strings.Contains(err.Error(), "not stopped in 1m0s: controller slow") {
			t.Errorf("Run: %v", err)
		}
		<-time.After(time.Hour)
		w.notes()
	})
}

// TestManagerEndsWithAPartThatWasAdded: as with one that was there before.
func TestManagerEndsWithAPartThatWasAdded(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		m := manager.New(manager.Options{})
		done := make(chan error)
		go func() { done <- m.Run(t.Context()) }()
		synctest.Wait()
		m.AddOptional(&part{w: w, name: "optional", f: func(context.Context) error { return errBroken }})
		synctest.Wait()
		m.Add(&part{w: w, name: "needed", f: func(context.Context) error { return errBroken }})
		if err := <-done; !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "needed") {
			t.Errorf("Run: %v", err)
		}
		if got, want := panics(func() { m.AddLed(noting(w, controller.Options[kube.Key]{}), noting(w, controller.Options[kube.Key]{})) }), "two controllers have the name"; !strings.Contains(got, want) {
			t.Errorf("panic %q, want %q", got, want)
		}
		w.notes()
	})
}

// TestManagerStopsWhatIsAskedFirst: a part that drains ends while the informers run.
func TestManagerStopsWhatIsAskedFirst(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		m := manager.New(manager.Options{Elector: &elector{w: w}})
		m.Add(&part{w: w, name: "informer"}, asked{&part{w: w, name: "server", stop: 15 * time.Second}})
		m.AddLed(asked{&part{w: w, name: "ctl", stop: time.Second}})
		stop := start(t, m)
		<-time.After(10 * time.Second)
		late := asked{&part{w: w, name: "late", stop: time.Second}}
		m.Add(late)
		synctest.Wait()
		w.notes()
		if err := m.Remove(t.Context(), late); err != nil {
			t.Error(err)
		}
		wantNotes(t, w, "late ends")
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		wantNotes(t, w, "ctl ends", "lease released", "server ends", "informer ends")
	})
}

type asked struct{ *part }

func (asked) StopsFirst() {}

// TestManagerErrorsThatAreJoined: a part that joins a failure of its own to the reason why it ended
// has failed, however it joins them.
func TestManagerErrorsThatAreJoined(t *testing.T) {
	lost := errors.New("the last records could not be written")
	for _, c := range []struct {
		name   string
		end    func(context.Context) error
		failed bool
	}{
		{"alone", func(ctx context.Context) error { return lost }, true},
		{"joined", func(ctx context.Context) error { return errors.Join(ctx.Err(), lost) }, true},
		{"wrapped", func(ctx context.Context) error { return fmt.Errorf("flush: %w", errors.Join(lost, context.Cause(ctx))) }, true},
		{"joined twice", func(ctx context.Context) error { return errors.Join(ctx.Err(), context.Cause(ctx)) }, false},
		{"in one text", func(ctx context.Context) error { return fmt.Errorf("%w; flush: %w", context.Cause(ctx), lost) }, true},
		{"in one text, within", func(ctx context.Context) error { return fmt.Errorf("sink: %w", fmt.Errorf("%w: %w", lost, ctx.Err())) }, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := manager.New(manager.Options{})
			p := runner(func(ctx context.Context) error { <-ctx.Done(); return c.end(ctx) })
			m.Add(&p)
			stop := start(t, m)
			if err := stop(); errors.Is(err, lost) != c.failed || err == nil == c.failed {
				t.Errorf("%s: Run: %v", c.name, err)
			}
			m = manager.New(manager.Options{})
			m.Add(&p)
			stop = start(t, m)
			if err := m.Remove(t.Context(), &p); errors.Is(err, lost) != c.failed || err == nil == c.failed {
				t.Errorf("%s: Remove: %v", c.name, err)
			}
			// Where the cause is such an error, the part that ends with it has not failed.
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errors.Join(lost, errors.New("more")))
			m = manager.New(manager.Options{})
			q := runner(func(ctx context.Context) error { <-ctx.Done(); return fmt.Errorf("ended: %w", context.Cause(ctx)) })
			m.Add(&q)
			if err := m.Run(ctx); err != nil {
				t.Errorf("%s: Run with such a cause: %v", c.name, err)
			}
			_ = stop()
		})
	}
}

// TestManagerWaitThatIsCutShort: a part that was stopped while it waited has not failed, though the
// error gives the reason why it waited for so long.
func TestManagerWaitThatIsCutShort(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.Deny("", apitest.Match{Resource: "configmaps"})
		ctx, end := context.WithCancel(t.Context())
		ran := make(chan error)
		go func() { ran <- w.maps.Run(ctx) }() // longer than the Manager
		until := func(ctx context.Context) error {
			_, err := watch.Until(ctx, client.Of[ConfigMap](w.client, kube.ConfigMaps), kube.Key{Namespace: "a", Name: "a"}, func(ConfigMap, bool) (bool, error) { return true, nil })
			return err
		}
		for _, wait := range []func(context.Context) error{w.maps.WaitSynced, until} {
			m := manager.New(manager.Options{})
			p := runner(func(ctx context.Context) error {
				err := wait(ctx)
				if !errors.Is(err, kube.ErrForbidden) {
					t.Errorf("the wait ended with %v", err)
				}
				return err
			})
			m.Add(&p)
			stop := start(t, m)
			time.Sleep(10 * time.Second)
			if err := stop(); err != nil {
				t.Errorf("Run: %v", err)
			}
		}
		end()
		<-ran
	})
}

// TestManagerNamesThePartsThatHang: the others would stop, but nobody has asked them to.
func TestManagerNamesThePartsThatHang(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		m := manager.New(manager.Options{StopTimeout: time.Minute})
		waits := runner(func(ctx context.Context) error { <-ctx.Done(); return nil })
		m.Add(w.maps, &waits)
		hang := runner(func(context.Context) error { time.Sleep(time.Hour); return nil })
		m.AddLed(&hang, &hang)
		stop := start(t, m)
		want := "manager: not stopped in 1m0s: 2 of manager_test.runner; waiting for that: informer of configmaps, manager_test.runner"
		if err := stop(); err == nil || err.Error() != want {
			t.Errorf("Run: %v\nwant %s", err, want)
		}
		time.Sleep(time.Hour)
	})
}

// TestRemoveOfAFunction: two functions cannot be compared, which the error says.
func TestRemoveOfAFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := runner(func(ctx context.Context) error { <-ctx.Done(); return nil })
		m := manager.New(manager.Options{})
		m.Add(f, &f)
		stop := start(t, m)
		if err := m.Remove(t.Context(), f); err == nil || !strings.Contains(err.Error(), "a manager_test.runner cannot be compared with the parts: add and remove a pointer") {
			t.Errorf("Remove of a function: %v", err)
		}
		if err := m.Remove(t.Context(), &f); err != nil {
			t.Errorf("Remove of a pointer: %v", err)
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

type runner func(context.Context) error

func (r runner) Run(ctx context.Context) error { return r(ctx) }
