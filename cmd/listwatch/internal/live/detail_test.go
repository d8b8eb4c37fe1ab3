package live

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/kube"
)

// changed applies a change of a pod's phase.
func changed(t *testing.T, b *board, name, from, to string, after int) *record.Record {
	t.Helper()
	r := podRecord(t, "MODIFIED", name, to, 0, after)
	r.Old = podRecord(t, "MODIFIED", name, from, 0, after).Object
	b.apply(r)
	return r
}

func TestDetailShowsEventsAndChanges(t *testing.T) {
	b := newBoard(&print.Format{Headers: true})
	for _, name := range []string{"a", "b", "c"} {
		b.apply(podRecord(t, "ADDED", name, "Pending", 0, 0))
	}
	changed(t, b, "b", "Pending", "Running", 1)
	changed(t, b, "b", "Running", "Fa\x1b[31miled", 2)
	changed(t, b, "c", "Pending", "Running", 2)
	at := boardStart.Add(time.Minute)
	screen := func() string {
		lines := finish(b).draw(66, 24, at)
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " ")
		}
		return strings.TrimRight(strings.Join(lines, "\n"), "\n")
	}
	screen()
	b.press("j", "j")
	b.press("down", "")
	if got := screen(); !strings.Contains(got, "\n >b ") {
		t.Fatalf("b is not selected:\n%s", got)
	}
	b.press("enter", "")
	if b.detail == nil {
		t.Fatal("Enter shows no object")
	}
	if got := screen(); !strings.Contains(got, "EVENTS\n  reading\n") {
		t.Errorf("Events are not read yet:\n%s", got)
	}
	b.detail.hear(news{problem: "events is forbidden"})
	if got := screen(); !strings.Contains(got, "EVENTS\n  Events cannot be read: events is forbidden\n") {
		t.Errorf("Events cannot be read:\n%s", got)
	}
	key := func(name string) kube.Key { return kube.Key{Namespace: "shop", Name: name} }
	b.detail.hear(news{events: map[kube.Key]happening{
		key("x"): {kind: "Normal", reason: "Pulled", message: "image", last: boardStart},
		key("y"): {kind: "Warning", reason: "BackOff", message: "restarting", count: 3, last: at.Add(-5 * time.Second)},
		key("z"): {kind: "Normal", reason: "Gone", message: "image"},
	}})
	b.detail.hear(news{gone: []kube.Key{key("z")}})
	want := `pod/b in namespace shop, 2 Events, 2 changes
  EVENTS
  5s     Warning  BackOff (3 times): restarting
  60s    Normal   Pulled: image

  CHANGES IN THIS RUN
  03:04:07 MODIFIED pod/b
  --- pod/b
  +++ pod/b
  @@ -8 +8 @@
  -  phase: Running
  +  phase: "Fa\e[31miled"
  03:04:06 MODIFIED pod/b
  --- pod/b
  +++ pod/b
  @@ -8 +8 @@
  -  phase: Pending
  +  phase: Running





? help   q quit   / filter   Enter open   s sort   r reverse   ar…`
	if diff := cmp.Diff(want, screen()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.press("esc", "")
	if got := screen(); !strings.Contains(got, "\n >b ") || b.detail != nil {
		t.Errorf("Esc does not go back:\n%s", got)
	}
}

// Differences are built when they are on the screen.
func TestOnlyDifferencesThatAreSeenAreBuilt(t *testing.T) {
	b := newBoard(&print.Format{Headers: true})
	for i := range 50 {
		changed(t, b, "a", fmt.Sprint("P", i), fmt.Sprint("P", i+1), i+1)
	}
	built := func() (n int) {
		finish(b).draw(80, 24, boardStart)
		for _, c := range b.at.changes {
			if c.lines != nil {
				n++
			}
		}
		return n
	}
	finish(b)
	b.press("enter", "")
	for _, c := range []struct {
		key  string
		want int
	}{{"", 3}, {"", 3}, {"pgdown", 7}, {"g", 7}, {"G", 50}} {
		b.press(c.key, "")
		if got := built(); got != c.want {
			t.Errorf("after %q: %d differences are built, want %d", c.key, got, c.want)
		}
	}
	b.press("esc", "")
	if got := built(); got != 0 {
		t.Errorf("%d differences are kept", got)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	b := newBoard(&print.Format{Headers: true})
	size := 0
	for i := range 3 * maxChanges {
		size = (&change{Record: *changed(t, b, "a", "Running", "Pending", i+1)}).size()
	}
	row := func(name string) *liveRow {
		return b.section(kube.Pods).rows[rowKey{"", kube.Key{Namespace: "shop", Name: name}}]
	}
	a := row("a")
	if len(a.changes) != maxChanges || a.dropped != 2*maxChanges || len(b.history.changes) > 2*maxChanges+1 || b.history.bytes != maxChanges*size {
		t.Errorf("%d changes, %d dropped, %d kept, %d bytes; one has %d", len(a.changes), a.dropped, len(b.history.changes), b.history.bytes, size)
	}
	if first := a.changes[0].Time; !first.Equal(boardStart.Add((2*maxChanges + 1) * time.Second)) {
		t.Errorf("the first one is of %v", first)
	}
	b.history.most = 10 * size
	for i := range 40 {
		changed(t, b, fmt.Sprint("pod", i%4), "Running", "Pending", i+1)
	}
	if len(a.changes) != 0 || a.dropped != 3*maxChanges || b.history.bytes > b.history.most || len(b.history.changes) > 21 {
		t.Errorf("%d changes of a, %d bytes, %d kept", len(a.changes), b.history.bytes, len(b.history.changes))
	}
	n := 0
	for i := range 4 {
		n += len(row(fmt.Sprint("pod", i)).changes)
	}
	if n < 8 {
		t.Errorf("%d changes are left", n)
	}
	for _, c := range []string{strings.Repeat("x", 64<<10), strings.Repeat("line\n", maxLines+10)} {
		r := changed(t, b, "pod0", "Running", c, 50)
		b.history.most = maxHistory
		lines := (&change{Record: *r}).describe(b.format)
		for _, l := range lines {
			if print.DisplayWidth(l) > maxCell+10 {
				t.Errorf("a line of %d columns", print.DisplayWidth(l))
			}
		}
		if len(lines) > maxLines+1 {
			t.Errorf("%d lines", len(lines))
		}
	}
}

// The selection stays on its object, and moves to the one in its place when that is gone.
func TestSelectionStaysOnItsObject(t *testing.T) {
	b := newBoard(&print.Format{Headers: true})
	for _, name := range []string{"b", "c", "d"} {
		b.apply(podRecord(t, "ADDED", name, "Pending", 0, 0))
	}
	node := podRecord(t, "ADDED", "n1", "Ready", 0, 0)
	node.Resource, node.ID = kube.Nodes, codec.Identity{Name: "n1"}
	b.apply(node)
	at := boardStart
	selected := func() string {
		for _, l := range finish(b).draw(60, 7, at) { // four lines of rows and titles are seen
			if len(l) > 1 && l[1] == '>' {
				return strings.Fields(l[2:])[0]
			}
		}
		return ""
	}
	expect := func(when, want string) {
		t.Helper()
		if got := selected(); got != want {
			t.Errorf("%s: %q is selected, want %q:\n%s", when, got, want, strings.Join(b.draw(60, 7, at), "\n"))
		}
	}
	press := func(keys ...string) {
		for _, k := range keys {
			selected()
			b.press(k, "")
		}
	}
	expect("at first", "")
	press("j")
	expect("the first row", "n1")
	press("j", "j")
	expect("in the next table", "c")
	b.apply(podRecord(t, "ADDED", "a", "Pending", 0, 1))
	expect("with a new row above", "c")
	b.apply(podRecord(t, "DELETED", "c", "Pending", 0, 1))
	expect("with its object deleted", "c")
	at = at.Add(time.Minute)
	expect("with its row gone", "d")
	q, _ := parseQuery(`.metadata.name != "d"`)
	b.filter(q)
	expect("with the last row filtered", "b")
	press("G")
	expect("the end", "b")
	press("k", "k", "k", "k")
	expect("the start", "n1")
	if b.view.top != 0 {
		t.Errorf("the title of the first row is not seen: %d", b.view.top)
	}
	press("r")
	expect("in reverse order", "n1")
	q, _ = parseQuery("false")
	b.filter(q)
	expect("without rows", "")
	press("enter", "j", "G")
	if b.detail != nil {
		t.Error("Enter shows no row")
	}
	b.filter(query{})
	press("G", "esc")
	expect("after Esc", "")
}
