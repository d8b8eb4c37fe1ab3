package backlog_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest/internal/backlog"
)

// TestSlowestGoesFirst: an answer that finds no place waits for one; after Patience the
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
				if err := b.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		huge := add("huge", 1000) // alone it has its place
		huge.Done()
		add("unread", 40)
		read := add("read", 40)
		for range 9 {
			time.Sleep(time.Second)
			read.Moved()
		}
		cut = append(cut, "begins")
		go func() { time.Sleep(500 * time.Millisecond); read.Moved() }()
		third := add("third", 40)
		if diff := cmp.Diff([]string{"begins", "unread after 10s"}, cut); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := b.Wait(ctx); err == nil {
			t.Error("a wait did not end with its context")
		}
		read.Done()
		third.Done()
	})
}
