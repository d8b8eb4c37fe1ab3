package live

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/table"
	"github.com/listwatch/listwatch/kube"
)

var boardStart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// podRecord is a row of a Table, after some seconds.
func podRecord(t *testing.T, event, name, phase string, restarts, after int) *record.Record {
	t.Helper()
	text, err := json.Marshal(phase)
	if err != nil {
		t.Fatal(err)
	}
	row := fmt.Sprintf(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":[{"name":"Name","format":"name"},{"name":"Status"},{"name":"Restarts"},{"name":"Age"},{"name":"Node","priority":1}],
		"rows":[{"cells":[%q,%s,%d,"0s","n"],"object":{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"shop","name":%[1]q,"creationTimestamp":"2026-01-02T03:04:00Z"},"status":{"phase":%[2]s}}}]}`, name, text, restarts)
	o, err := codec.Decode[codec.Raw]([]byte(row))
	if err != nil {
		t.Fatal(err)
	}
	return &record.Record{Type: event, Time: boardStart.Add(time.Duration(after) * time.Second), Resource: kube.Pods, Object: o, Columns: table.Of(o),
		ID: codec.Identity{Namespace: "shop", Name: name}, Initial: after == 0}
}

// finish does all work of b.
func finish(b *board) *board {
	for b.work() {
	}
	return b
}

func TestBoard(t *testing.T) {
	b := newBoard(&print.Format{Headers: true, Namespaces: true})
	at := func(seconds int) string {
		return strings.Join(finish(b).draw(60, 8, boardStart.Add(time.Duration(seconds)*time.Second)), "\n")
	}
	want := func(seconds int, want string) {
		t.Helper()
		if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), at(seconds)); diff != "" {
			t.Errorf("after %d s (-want +got):\n%s", seconds, diff)
		}
	}
	want(0, `
0 objects, 0 events






? help   q quit   / filter   Enter open   s sort   r revers…`)
	for i, name := range []string{"b", "a", "c-is-a-long-name"} {
		b.apply(podRecord(t, "ADDED", name, "Pending", []int{2, 10, 9}[i], 0))
	}
	b.apply(podRecord(t, "MODIFIED", "a", "Running", 10, 60))
	b.apply(podRecord(t, "DELETED", "b", "Pending", 2, 62))
	b.apply(podRecord(t, "ADDED", "d", "Pending", 0, 62))
	b.note("listwatch: pods: watch closed", boardStart.Add(62*time.Second))
	want(62, `
3 objects, 3 events
  NAMESPACE   NAME               STATUS    RESTARTS   AGE
~ shop        a                  Running   10         67s
- shop        b                  Pending   2          0s
  shop        c-is-a-long-name   Pending   9          67s
+ shop        d                  Pending   0          67s

listwatch: pods: watch closed`)
	want(71, `
3 objects, 3 events
  NAMESPACE   NAME               STATUS    RESTARTS   AGE
  shop        a                  Running   10         76s
- shop        b                  Pending   2          0s
  shop        c-is-a-long-name   Pending   9          76s
  shop        d                  Pending   0          76s

listwatch: pods: watch closed`)
	want(72, `
3 objects, 3 events
  NAMESPACE   NAME               STATUS    RESTARTS   AGE
  shop        a                  Running   10         77s
  shop        c-is-a-long-name   Pending   9          77s
  shop        d                  Pending   0          77s


listwatch: pods: watch closed`)
	for range 4 { // by restarts, as numbers
		b.press("s", "s")
	}
	b.press("r", "r")
	want(95, `
3 objects, 3 events
  NAMESPACE   NAME               STATUS    RESTARTSv   AGE
  shop        a                  Running   10          100s
  shop        c-is-a-long-name   Pending   9           100s
  shop        d                  Pending   0           100s


? help   q quit   / filter   Enter open   s sort   r revers…`)
	if !b.press("q", "q") {
		t.Error("q does not quit")
	}
}

// The help has all keys, and goes as it came.
func TestBoardTellsItsKeys(t *testing.T) {
	b := newBoard(&print.Format{Headers: true})
	b.apply(podRecord(t, "ADDED", "a", "Pending", 0, 1))
	b.press("?", "?")
	text := strings.Join(finish(b).draw(80, 24, boardStart), "\n")
	for _, want := range []string{"q, Ctrl-C", "/", "Esc", "s ", "r ", "Space", "PgUp", "Home", "End", "Ctrl-Z", "?"} {
		if !strings.Contains(text, want) {
			t.Errorf("the help does not have %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, "Pending") {
		t.Errorf("rows are among the help:\n%s", text)
	}
	if b.press("?", "?"); !strings.Contains(strings.Join(finish(b).draw(80, 24, boardStart), "\n"), "Pending") {
		t.Error("the help stays")
	}
	b.press("?", "?")
	finish(b).draw(20, 5, boardStart)
	if b.press("esc", ""); b.help {
		t.Error("Esc does not end the help")
	}
}

func TestBoardFitsTheScreen(t *testing.T) {
	b := newBoard(&print.Format{Headers: true, Kinds: true, Color: true})
	for i := range 30 {
		b.apply(podRecord(t, "ADDED", fmt.Sprint("pod-世界-", i), "Pending", i, 1))
	}
	for _, size := range [][2]int{{80, 24}, {20, 5}, {10, 3}, {9, 3}, {80, 2}, {0, 0}} {
		for _, key := range []string{"home", "end", "right", "pgdown", "right", "pgup", "down", "left", "up", "right"} {
			b.press(key, "")
			lines := finish(b).draw(size[0], size[1], boardStart.Add(2*time.Second))
			if len(lines) > max(1, size[1]) {
				t.Errorf("%v: %d lines", size, len(lines))
			}
			for _, l := range lines {
				if w := print.DisplayWidth(uncoloured(l)); w > size[0] {
					t.Errorf("%v: a line of %d columns: %q", size, w, l)
				}
			}
		}
	}
	b.press("end", "")
	if lines := finish(b).draw(80, 24, boardStart); !strings.Contains(strings.Join(lines, "\n"), "lines 10 to 31 of 31") {
		t.Errorf("the end is not shown: %q", lines[0])
	}
}

func uncoloured(s string) string {
	var out strings.Builder
	for s != "" {
		if rest, ok := strings.CutPrefix(s, "\x1b["); ok {
			_, s, _ = strings.Cut(rest, "m")
			continue
		}
		out.WriteByte(s[0])
		s = s[1:]
	}
	return out.String()
}

// An error keeps its reason on a narrow screen, and takes no more than a third of the screen.
func TestBoardWrapsNotes(t *testing.T) {
	for _, c := range []struct {
		text   string
		height int
		want   []string // below the row
	}{
		{"pods: cannot watch: connection refused; again in 2s", 9, []string{"", "", "", "", "pods: cannot watch: connection", "refused; again in 2s"}},
		{"pods: https://" + strings.Repeat("x", 30) + " failed again", 6, []string{"", "pods:", "https://" + strings.Repeat("x", 21) + "…"}},
		{strings.Repeat("世界", 8), 6, []string{"", strings.Repeat("世界", 7) + "世", "界"}},
		{"pods: cannot watch: connection refused; again in 2s", 4, []string{"pods: cannot watch: connectio…"}},
		{"", 6, []string{"", "", ""}},
	} {
		b := newBoard(&print.Format{Headers: true})
		b.apply(podRecord(t, "ADDED", "a", "Pending", 0, 0))
		b.note(c.text, boardStart)
		if diff := cmp.Diff(c.want, finish(b).draw(30, c.height, boardStart)[3:]); diff != "" {
			t.Errorf("%q at height %d (-want +got):\n%s", c.text, c.height, diff)
		}
	}
}
