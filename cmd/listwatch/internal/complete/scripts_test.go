package complete

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestEditsApply: each finds its place in the script that cobra generates, once.
func TestEditsApply(t *testing.T) {
	root := &cobra.Command{Use: "listwatch"}
	for shell, edits := range edits {
		var b strings.Builder
		if err := script(root, shell, &b); err != nil {
			t.Fatal(err)
		}
		for _, e := range edits {
			if n := strings.Count(b.String(), e.new); n != 1 {
				t.Errorf("the script of %s has %d times:\n%s", shell, n, e.new)
			}
		}
	}
}
