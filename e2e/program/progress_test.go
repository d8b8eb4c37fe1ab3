package program_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"

	"github.com/listwatch/listwatch/e2e/internal/setup"
)

// TestTerminalProgress: long work says how far it is, in one line that is erased.
func TestTerminalProgress(t *testing.T) {
	program := setup.BuildProgram(t)
	srv := apitest.New(t)
	for i := range 3 {
		srv.Put(kube.Pods, fmt.Sprintf(`{"metadata":{"namespace":"default","name":"pod-%d"},"spec":{"containers":[{"name":"c"}]}}`, i))
	}
	manifests := filepath.Join(t.TempDir(), "many.yaml")
	var many strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&many, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: default, name: c-%d}\n", i)
	}
	write(t, manifests, many.String())
	// raw returns what was written to the terminal, once the script has ended.
	raw := func(w *terminal, path string) string {
		w.until(`^code=\d+$`)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}

	t.Run("fake -f, in a narrow terminal", func(t *testing.T) {
		w := openTerminal(t, 46, 12, fmt.Sprintf(`%s fake serve -f %s`, program.Path, manifests))
		w.until(`^listwatch: fake: [\d,]+/60,000 objects`)
		s := w.until(`^listwatch: fake: loaded 60,000 objects`)
		if strings.Contains(s, "/60,000") {
			t.Errorf("progress is not erased:\n%s", s)
		}
	})
	t.Run("record", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "r.lwrec.ndjson")
		w := openTerminal(t, 100, 12, fmt.Sprintf(`trap : INT; %s record pods -s %s --file %s; echo "code=$?"`, program.Path, srv.URL, file))
		w.until(`^listwatch: record: 3 events, \d`)
		w.tmux("send-keys", "C-c")
		s := w.until(`^code=130$`)
		if strings.Contains(s, "record: 3 events") || !strings.Contains(s, file+": 3 events, ") {
			t.Errorf("progress is not erased, or the summary is not there:\n%s", s)
		}
	})
	for name, env := range map[string]string{"a dumb terminal": "TERM=dumb", "a pipe": "TERM=xterm"} {
		t.Run("not in "+name, func(t *testing.T) {
			dir := t.TempDir()
			script := fmt.Sprintf(`%s %s record pods -s %s --file %s/r.lwrec.ndjson --exit-after 3s`, env, program.Path, srv.URL, dir)
			if name == "a pipe" {
				script += " 2>&1 | cat"
			}
			all := filepath.Join(dir, "all")
			w := openTerminal(t, 100, 12, fmt.Sprintf(`tmux pipe-pane -o 'cat > %s'; %s; echo "code=$?"`, all, script))
			if s := raw(w, all); !strings.Contains(s, ": 3 events, ") || strings.Contains(s, "\x1b[K") || strings.Contains(s, "record: 3 events") {
				t.Errorf("%q", s)
			}
		})
	}
}
