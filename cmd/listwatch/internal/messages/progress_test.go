package messages

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// work does a task of 10 s, and returns what was written.
func work(t *testing.T, live bool, total int) string {
	t.Helper()
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		w := New(&out, "text", false)
		w.Live = live
		task := w.Task("fake", "objects")
		for n := range 1000 {
			task.At(n, total)
			time.Sleep(10 * time.Millisecond)
		}
		w.Note("between")
		task.At(1000, total)
		w.Done()
	})
	return out.String()
}

func TestTaskIsDrawnInPlaceAndErased(t *testing.T) {
	out := work(t, true, 1000)
	if n := strings.Count(out, "\r\x1b[Klistwatch: fake: "); n < 40 || n > 51 {
		t.Errorf("drawn %d times in 10 s", n)
	}
	for _, want := range []string{"listwatch: fake: 500/1,000 objects, 100/s, 5s left\r", "\r\x1b[Klistwatch: between\n", "listwatch: fake: 1,000/1,000 objects, 100/s, 0s left\r\x1b[K"} {
		if !strings.Contains(out, want) {
			t.Errorf("without %q:\n%q", want, out)
		}
	}
	if !strings.HasSuffix(out, "\r\x1b[K") {
		t.Errorf("not erased: %q", out)
	}
	for _, r := range out {
		if r > '~' {
			t.Errorf("%q is no ASCII", r)
		}
	}
	if out := work(t, true, -1); !strings.Contains(out, "listwatch: fake: 500 objects, 100/s, 5s\r") {
		t.Errorf("without a total: %q", out)
	}
}

func TestTaskIsNotDrawnElsewhere(t *testing.T) {
	if out := work(t, false, 1000); out != "listwatch: between\n" {
		t.Errorf("%q", out)
	}
}

// TestSummaryErasesProgress, which an interrupted list has left.
func TestSummaryErasesProgress(t *testing.T) {
	var out bytes.Buffer
	w := New(&out, "text", false)
	w.Live = true
	w.Progress("pods", 500, 500, 2*time.Second)
	w.Summary()
	if want := "\r\x1b[Klistwatch: pods: 500/1,000 objects, 250/s, 2s left\r\x1b[K"; out.String() != want {
		t.Errorf("%q", out.String())
	}
}

func TestHow(t *testing.T) {
	for _, c := range []struct {
		done, total int
		since       time.Duration
		want        string
	}{
		{0, 10, time.Second, "0/10 objects, 1s"},
		{0, -1, time.Second, "0 objects, 1s"},
		{3, -1, time.Minute, "3 objects, 60s"},
		{3, 6, time.Minute, "3/6 objects, 60s left"},
		{7, 6, time.Second, "7/6 objects, 7/s, 1s"},
	} {
		if got := how(c.done, c.total, "objects", c.since); got != c.want {
			t.Errorf("%s: %q, want %q", fmt.Sprint(c.done, c.total), got, c.want)
		}
	}
}
