package backlog_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest/internal/backlog"
)

// TestSlowestGoesFirst: an answer that finds no place waits for one; after Hurry the
// slowest of those that nobody reads is cut, and no other.
func TestSlowestGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backlog.New(100)
		var cut []string
		began := time.Now()
		add := func(name string, size int64) *backlog.Answer {
			t.Helper()
			var a *backlog.Answer
			for {
				if a = b.Add(size, func() { cut = append(cut, name+" after "+time.Since(began).String()); go a.Done() }); a != nil {
					return a
				}
				if err := b.Wait(t.Context(), size); err != nil {
					t.Fatal(err)
				}
			}
		}
		huge := add("huge", 1000) // alone it has its place
		huge.Done()
		add("unread", 40)
		read := add("read", 40)
		for range 9 {
			time.Sleep(backlog.Hurry / 10)
			read.Moved()
		}
		cut = append(cut, "begins")
		go func() { time.Sleep(backlog.Hurry / 20); read.Moved() }()
		third := add("third", 40)
		if diff := cmp.Diff([]string{"begins", "unread after 1s"}, cut); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		ctx, stop := context.WithTimeout(t.Context(), backlog.Hurry/2)
		defer stop()
		if err := b.Wait(ctx, 40); err == nil {
			t.Error("a wait did not end with its context")
		}
		read.Done()
		third.Done()
	})
}

// TestSmallWaitsForSmall: large responses that nobody reads take no place of small ones.
func TestSmallWaitsForSmall(t *testing.T) {
	b := backlog.New(2 * backlog.Small)
	large := b.Add(3*backlog.Small, func() {})
	if b.Add(backlog.Small+1, func() {}) != nil {
		t.Error("a large response has a place beside a larger one")
	}
	one, two := b.Add(backlog.Small, func() {}), b.Add(backlog.Small, func() {})
	if one == nil || two == nil || b.Add(1, func() {}) != nil {
		t.Error("small responses do not share what they have")
	}
	one.Done()
	if b.Add(backlog.Small+1, func() {}) != nil || b.Add(1, func() {}) == nil {
		t.Error("the place of a small response is not that of the next small one")
	}
	if large.Done(); b.Add(backlog.Small+1, func() {}) == nil {
		t.Error("the place of a large response is not that of the next large one")
	}
}
