package live

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/internal/print"
)

func TestBoardScrollsSideways(t *testing.T) {
	b := newBoard(&print.Format{Headers: true, Namespaces: true})
	b.apply(podRecord(t, "ADDED", "a-世界-pod", "Pending", 7, 0))
	var got []string
	for _, key := range []string{"", "right", "l", "right", "left", "h", "left"} {
		b.press(key, "")
		got = append(got, finish(b).draw(30, 5, boardStart)[1:3]...)
	}
	// Names are wide characters, of which half may be cut off.
	want := []string{
		"  NAMESPACE   NAME         ST…", "  shop        a-世界-pod   Pe…",
		"  E         STATUS    RESTARTS", "   界-pod   Pending   7      …",
		"      STATUS    RESTARTS   AGE", "  d   Pending   7          5s",
		"      STATUS    RESTARTS   AGE", "  d   Pending   7          5s",
	}
	if diff := cmp.Diff(want, got[:8]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got[12] != want[0] {
		t.Errorf("back at the left: %q", got[12])
	}
}

func TestDropTo(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		rest    string
		more    int
	}{
		{"abc", 0, "abc", 0}, {"abc", 1, "bc", 0}, {"abc", 3, "", 0}, {"abc", 5, "", 2}, {"", 2, "", 2},
		{"世界", 1, " 界", 0}, {"世界", 2, "界", 0}, {"世界", 3, " ", 0}, {"e\u0301x", 1, "x", 0}, {"e\u0301x", 0, "e\u0301x", 0},
	} {
		rest, more := dropTo(c.text, c.columns)
		if got, want := fmt.Sprintf("%q %d", rest, more), fmt.Sprintf("%q %d", c.rest, c.more); got != want {
			t.Errorf("%q less %d columns: %s, want %s", c.text, c.columns, got, want)
		}
	}
}

// A long cell costs no more than the screen.
func TestLongCellsAreCut(t *testing.T) {
	b := newBoard(&print.Format{Headers: true})
	b.apply(podRecord(t, "ADDED", "a", strings.Repeat("x", 64<<10), 7, 0))
	lines := finish(b).draw(80, 24, boardStart)
	if got := b.sections[0].order[0].cells[1]; print.DisplayWidth(got) != maxCell || !strings.HasSuffix(lines[2], "…") {
		t.Errorf("%d columns: %q", print.DisplayWidth(got), lines[2])
	}
}
