package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
)

// listSlowly plays a first list of 5,000 objects in pages of 500, each of which
// takes a while, and returns what was said.
func listSlowly(live bool, page time.Duration, remaining bool) string {
	var stderr bytes.Buffer
	talk := messages.New(&stderr, "text", false)
	talk.Live = live
	s := &stream[codec.Raw]{Target: target.Target{Resource: kube.Pods}, talk: talk, listing: true, began: time.Now()}
	for n := 500; n <= 5000; n += 500 {
		<-time.After(page)
		p := list.Progress{Items: n, Remaining: -1}
		if remaining {
			p.Remaining = int64(5000 - n)
		}
		s.listed(p)
		for ; s.items < n; s.items++ {
			s.progress(s.items)
		}
	}
	return stderr.String()
}

func TestProgressIsALineEachTenSeconds(t *testing.T) {
	for _, c := range []struct {
		name      string
		page      time.Duration
		remaining bool
		want      string
	}{
		{"quick", 900 * time.Millisecond, true, ""},
		{"slow", 4 * time.Second, true, "listwatch: pods: 1,500/5,000 objects … 12.0s\nlistwatch: pods: 3,000/5,000 objects … 24.0s\nlistwatch: pods: 4,500/5,000 objects … 36.0s\n"},
		{"of unknown length", 15 * time.Second, false, "listwatch: pods: 500 objects … 15.0s\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := listSlowly(false, c.page, c.remaining)
				if c.name == "of unknown length" {
					got, _, _ = strings.Cut(got, "listwatch: pods: 1,0")
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
			})
		})
	}
}

func TestProgressIsRedrawnOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := listSlowly(true, time.Second, true)
		if n := strings.Count(got, "\r\x1b[Klistwatch: pods: "); n != 10 || strings.Contains(got, "\n") {
			t.Errorf("redrawn %d times, want 10 and no line\n%q", n, got)
		}
		if !strings.Contains(got, "listwatch: pods: 500/5,000 objects, 500/s, 9s left\r") {
			t.Errorf("without the count of the first page\n%q", got)
		}
	})
}

func TestNoProgressAfterTheFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stderr bytes.Buffer
		s := &stream[codec.Raw]{talk: messages.New(&stderr, "text", false), listing: true, synced: true, began: time.Now()}
		<-time.After(time.Minute)
		s.listed(list.Progress{Items: 500, Remaining: 500})
		if stderr.Len() > 0 {
			t.Errorf("%q", stderr.String())
		}
	})
}
