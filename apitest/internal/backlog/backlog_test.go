package backlog_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest/internal/backlog"
)

// enter waits until a has its place.
func enter(t *testing.T, a *backlog.Answer, size int64) {
	for !a.Enter(size) {
		if err := a.Wait(t.Context()); err != nil {
			t.Error(err)
			return
		}
	}
	a.Moved()
}

// TestSlowestGoesFirst: an answer that finds no place waits for one; after Hurry the
// slowest of those that are read too slowly is cut, and no other. One that is being made
// is not.
func TestSlowestGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backlog.New(100)
		var cut []string
		began := time.Now()
		add := func(name string, size int64) (a *backlog.Answer) {
			a = b.Answer(func() { cut = append(cut, name+" after "+time.Since(began).String()); go a.Done() })
			enter(t, a, size)
			return a
		}
		huge := add("huge", 1000) // alone it has its place
		huge.Done()
		making := b.Answer(func() { t.Error("an answer is cut that is being made") })
		if !making.Enter(10) {
			t.Error("no place")
		}
		add("unread", 40)
		trickles := add("trickles", 10)
		read := add("read", 40)
		for i := range 9 {
			time.Sleep(backlog.Hurry / 10)
			for range 2 { // 1.25 MiB a second
				read.Moved()
			}
			if i%3 == 0 {
				trickles.Moved()
			}
		}
		cut = append(cut, "begins")
		go func() { time.Sleep(backlog.Hurry / 20); read.Moved() }()
		third := add("third", 40)
		if diff := cmp.Diff([]string{"begins", "unread after 1s"}, cut); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		ctx, stop := context.WithTimeout(t.Context(), backlog.Hurry/20)
		defer stop()
		late := b.Answer(func() {})
		if late.Enter(40) || late.Wait(ctx) == nil {
			t.Error("a wait did not end with its context")
		}
		late.Done()
		for range 10 {
			time.Sleep(backlog.Hurry / 10)
			read.Moved()
			read.Moved()
			third.Moved()
			third.Moved()
		}
		add("fourth", 10)
		if diff := cmp.Diff([]string{"begins", "unread after 1s", "trickles after 2.05s"}, cut); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		read.Done()
		third.Done()
	})
}

// TestPlacesAreGivenInOrder: a large answer that waits is not passed by others of its class, and
// one that leaves holds up nobody.
func TestPlacesAreGivenInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const mib = 1 << 20
		b := backlog.New(10 * mib)
		first := b.Answer(func() {})
		first.Enter(6 * mib)
		var got []int
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			gone := b.Answer(func() {})
			gone.Enter(9 * mib)
			gone.Wait(ctx)
			gone.Done()
		}()
		synctest.Wait()
		for i, size := range []int64{8 * mib, 7 * mib, 6 * mib, 9 * mib} {
			go func() {
				a := b.Answer(func() {})
				enter(t, a, size)
				got = append(got, i)
				time.Sleep(time.Millisecond * time.Duration(i+1))
				a.Done()
			}()
			synctest.Wait()
		}
		small := b.Answer(func() {})
		if len(got) > 0 || !small.Enter(mib) {
			t.Errorf("%v are served before one that came first", got)
		}
		leave()
		first.Done()
		time.Sleep(time.Minute)
		synctest.Wait()
		if diff := cmp.Diff([]int{0, 1, 2, 3}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestSmallWaitsForSmall: large responses that nobody reads take no place of small ones, nor small
// ones that of tiny ones.
func TestSmallWaitsForSmall(t *testing.T) {
	b := backlog.New(2 * backlog.Small)
	add := func(size int64) *backlog.Answer {
		a := b.Answer(func() {})
		if !a.Enter(size) {
			a.Done()
			return nil
		}
		return a
	}
	large := add(3 * backlog.Small)
	if add(backlog.Small+1) != nil {
		t.Error("a large response has a place beside a larger one")
	}
	one, two := add(backlog.Small), add(backlog.Small)
	if one == nil || two == nil || add(backlog.Tiny+1) != nil {
		t.Error("small responses do not share what they have")
	}
	if add(backlog.Tiny) == nil {
		t.Error("a tiny response has no place beside small ones")
	}
	one.Done()
	if add(backlog.Small+1) != nil || add(backlog.Tiny+1) == nil {
		t.Error("the place of a small response is not that of the next small one")
	}
	if large.Done(); add(backlog.Small+1) == nil {
		t.Error("the place of a large response is not that of the next large one")
	}
}

// TestAnAnswerThatGrowsWaits for a place of its size, but not for a little more.
func TestAnAnswerThatGrowsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const mib = 1 << 20
		b, began := backlog.New(10*mib), time.Now()
		first, grows := b.Answer(func() {}), b.Answer(func() {})
		first.Enter(6 * mib)
		grows.Enter(100)
		grow := func(size int64) error { return grows.Grow(t.Context(), size) }
		if err := grow(mib); err != nil || time.Since(began) > 0 {
			t.Errorf("a little more after %v: %v", time.Since(began), err)
		}
		time.AfterFunc(time.Second, first.Done)
		if err := grow(6 * mib); err != nil || time.Since(began) != time.Second {
			t.Errorf("much more after %v: %v", time.Since(began), err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		late := b.Answer(func() {})
		late.Enter(1)
		if late.Grow(ctx, 6*mib) == nil {
			t.Error("a wait did not end with its context")
		}
		late.Done()
		grows.Done()
		if !first.Enter(10 * mib) {
			t.Error("places are not given back")
		}
	})
}

// TestTryWaitsForNothing: without room it fails at once, and nobody waits behind it.
func TestTryWaitsForNothing(t *testing.T) {
	b := backlog.New(10 << 20)
	cut := func() { t.Error("a response was cut") }
	large, tried, other := b.Answer(cut), b.Answer(cut), b.Answer(cut)
	if !large.Try(9<<20) || tried.Try(2<<20) || tried.Try(3<<20) {
		t.Fatal("the room is not what it should be")
	}
	large.Done()
	if !other.Enter(9 << 20) {
		t.Error("one that tried still waits")
	}
	if other.Try(2 << 20); !tried.Try(8 << 20) {
		t.Error("a place that was exchanged for a smaller one is still taken")
	}
}

// TestACompleteAnswerWidensItsPlace: at once, and then there is less room for others.
func TestACompleteAnswerWidensItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const mib = 1 << 20
		b, began := backlog.New(10*mib), time.Now()
		wide, other, third := b.Answer(func() {}), b.Answer(func() {}), b.Answer(func() {})
		wide.Enter(2 * mib)
		other.Enter(8 * mib)
		if err := wide.Begin(t.Context(), 9*mib); err != nil || time.Since(began) > 0 {
			t.Fatalf("it waited for %v: %v", time.Since(began), err)
		}
		other.Done()
		time.AfterFunc(time.Second, wide.Done)
		if err := third.Begin(t.Context(), 2*mib); err != nil || time.Since(began) != time.Second {
			t.Errorf("another one waited for %v: %v", time.Since(began), err)
		}
		third.Done()
		if err := third.Begin(t.Context(), 10*mib); err != nil {
			t.Error(err)
		}
		began = time.Now()
		if err := wide.Reserve(t.Context(), 2*mib); err == nil || time.Since(began) != backlog.Patience {
			t.Errorf("one that has nothing yet waited for %v: %v", time.Since(began), err)
		}
		wide.Done()
		if third.Done(); !other.Enter(20 * mib) {
			t.Error("places are not given back")
		}
	})
}

// TestUrgentAnswersGoFirst, in the order in which they came, and the others after them.
func TestUrgentAnswersGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backlog.New(10)
		first := b.Answer(func() {})
		first.Enter(10)
		var order []string
		var mu sync.Mutex
		for _, name := range []string{"a", "b", "C", "D", "e", "F"} {
			a := b.Answer(func() {})
			a.Urgent = name < "a"
			a.Enter(10)
			go func() {
				for a.Wait(t.Context()) != nil || !a.Enter(10) {
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				a.Done()
			}()
			synctest.Wait()
		}
		first.Done()
		synctest.Wait()
		if got := strings.Join(order, ""); got != "CDFabe" {
			t.Errorf("the order is %s", got)
		}
	})
}

// TestPatience: after it, who has nothing yet gives up, and what is complete takes its place.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, began := backlog.New(10), time.Now()
		first, waits, complete := b.Answer(func() {}), b.Answer(func() {}), b.Answer(func() {})
		first.Enter(10)
		if waits.Enter(1) || waits.Wait(t.Context()) == nil || time.Since(began) != backlog.Patience {
			t.Errorf("it waited for %v", time.Since(began))
		}
		waits.Done()
		if err := complete.Begin(t.Context(), 1); err != nil || time.Since(began) != 2*backlog.Patience {
			t.Errorf("a complete one waited until %v: %v", time.Since(began), err)
		}
		if first.Done(); waits.Try(10) || !waits.Try(9) {
			t.Error("its place does not count")
		}
	})
}
