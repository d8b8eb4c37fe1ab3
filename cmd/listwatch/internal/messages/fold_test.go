package messages

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestFolder: what watches have for one reason is one line, and what one of them has alone
// is its own.
func TestFolder(t *testing.T) {
	broken := func(subject string) Shared {
		return Shared{Subject: subject, Text: "broken after 1s", Kind: "broken"}
	}
	again := func(subject string, n int) Shared {
		return Shared{Subject: subject, Text: fmt.Sprintf("again after %d", n), Kind: "again", Numbers: []int{n}, Common: func(all [][]int) string { return fmt.Sprint("again: ", all) }}
	}
	of := func(cluster string, s Shared) Shared {
		s.Cluster, s.Subject = cluster, cluster+": "+s.Subject
		return s
	}
	for _, c := range []struct {
		name    string
		watches int
		play    func(say func(Shared))
		want    string
	}{
		{"one watch", 1, func(say func(Shared)) { say(broken("pods")); say(broken("pods")) }, "pods: broken after 1s\npods: broken after 1s\n"},
		{"one of many", 9, func(say func(Shared)) { say(broken("pods")); <-time.After(2 * time.Second) }, "pods: broken after 1s\n"},
		{"three", 9, func(say func(Shared)) { say(broken("a")); say(broken("b")); say(broken("c")) }, "a, b, c: broken\n"},
		{"many", 9, func(say func(Shared)) {
			for i := range 9 {
				say(broken(fmt.Sprint("type", i)))
			}
			for i := range 9 {
				say(again(fmt.Sprint("type", i), i))
			}
		}, "9 types: broken\n9 types: again: [[0] [1] [2] [3] [4] [5] [6] [7] [8]]\n"},
		{"many that are named", 9, func(say func(Shared)) {
			for i := range 4 {
				s := of("west", broken(fmt.Sprint("type", 3-i)))
				s.Named = true
				say(s)
			}
		}, "west: 4 types: broken (type0, type1, type2, type3)\n"},
		{"objects", 9, func(say func(Shared)) {
			for i := range 4 {
				say(broken(fmt.Sprint("pods/p", i)))
			}
		}, "4 collections: broken\n"},
		{"clusters", 9, func(say func(Shared)) {
			say(of("east", broken("a")))
			say(of("west", broken("a")))
			say(of("west", broken("b")))
		}, "east: a: broken after 1s\nwest: a, b: broken\n"},
		{"at intervals that grow", 9, func(say func(Shared)) {
			for i := range 100 {
				say(broken(fmt.Sprint(i%5, "s")))
				<-time.After(99 * time.Millisecond)
			}
		}, strings.Repeat("5 types: broken\n", 4)},
		{"in their order", 9, func(say func(Shared)) {
			say(broken("a"))
			<-time.After(2 * time.Second)
			say(broken("a")) // waits 2 s
			say(again("a", 1))
			<-time.After(1100 * time.Millisecond)
		}, "a: broken after 1s\na: broken after 1s\na: again after 1\n"},
		{"the last state is last", 9, func(say func(Shared)) {
			say(broken("a"))
			say(broken("b"))
			say(again("a", 1))
			say(again("b", 2))
			say(broken("b"))
			say(broken("c"))
		}, "a, b: broken\na, b: again: [[1] [2]]\nb, c: broken\n"},
		{"one watch twice", 9, func(say func(Shared)) {
			say(again("a", 1))
			say(again("a", 2))
		}, "a: again: [[1] [2]]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var stderr bytes.Buffer
				w := New(&stderr, "", false)
				f := NewFolder(w)
				for range c.watches {
					f.Join()
				}
				c.play(func(s Shared) { f.Say(s, "message") })
				f.Flush()
				want := bytes.ReplaceAll([]byte("\n"+c.want), []byte("\n"), []byte("\nlistwatch: "))
				if diff := cmp.Diff(string(bytes.TrimSuffix(want[1:], []byte("listwatch: "))), stderr.String()); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
				<-time.After(time.Hour) // the timers end
			})
		})
	}
}

// TestFolderAlone: what a watch has alone is written behind its messages that wait, and
// leaves those of others together.
func TestFolderAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stderr bytes.Buffer
		f := NewFolder(New(&stderr, "", false))
		f.Join()
		f.Join()
		f.Say(Shared{Subject: "a", Text: "text", Kind: "cannot list; retrying"}, "failed")
		f.Alone(slog.LevelWarn, "b", "skipped", "skipped")
		f.Say(Shared{Subject: "c", Text: "text", Kind: "cannot list; retrying"}, "failed")
		f.Alone(slog.LevelWarn, "a", "skipped", "skipped")
		want := "listwatch: b: skipped\nlistwatch: a, c: cannot list; retrying\nlistwatch: a: skipped\n"
		if diff := cmp.Diff(want, stderr.String()); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		<-time.After(time.Hour) // the timers end
	})
}

// TestFolderLogsEachWatch in JSON.
func TestFolderLogsEachWatch(t *testing.T) {
	var stderr bytes.Buffer
	f := NewFolder(New(&stderr, "json", false))
	f.Join()
	f.Join()
	for _, s := range []string{"a", "b"} {
		f.Say(Shared{Level: slog.LevelWarn, Subject: s, Text: "text", Kind: "kind"}, "watch ended", "cause", "c")
	}
	if n := bytes.Count(stderr.Bytes(), []byte(`"msg":"watch ended","resource":"`)); n != 2 {
		t.Errorf("%d lines, want 2\n%s", n, stderr.String())
	}
}
