package live

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/internal/print"
)

// The page has the keys of the help.
func TestPageHasTheKeys(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/live.md")
	if err != nil {
		t.Fatal(err)
	}
	b := newBoard(&print.Format{})
	b.page = 100
	lines, _ := b.keys()
	for _, l := range lines[1:] {
		if row := fmt.Sprintf("| %s | %s |\n", l.cells[0], l.cells[1]); !strings.Contains(string(page), row) {
			t.Errorf("docs/live.md does not have the line\n%s", row)
		}
	}
	if rows := strings.Count(string(page), "\n| "); rows != len(lines) {
		t.Errorf("docs/live.md has %d lines in its table, want %d", rows, len(lines))
	}
	if !strings.Contains(string(page), keys) {
		t.Error("the screen of docs/live.md has another last line")
	}
}
