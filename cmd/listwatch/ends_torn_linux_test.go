package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// TestTornLineIsEnded: a run that goes on in the file where another was cut does not
// write its first line behind half of one, which a reader passes over.
func TestTornLineIsEnded(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t, apitest.Fixture{Resource: kube.Nodes, Object: `{"metadata":{"name":"a"}}`})
	for _, test := range []struct {
		name, before, want string
		args               []string
	}{
		{"a torn line", "ADDED node/x\nADD", "ADDED node/x\nADD\nADDED node/a\n", []string{"-o", "name", "--output-watch-events", "--checkpoint"}},
		{"a whole one", "ADDED node/x\n", "ADDED node/x\nADDED node/a\n", []string{"-o", "name", "--output-watch-events", "--checkpoint"}},
		{"an empty file", "", "ADDED node/a\n", []string{"-o", "name", "--output-watch-events", "--checkpoint"}},
		{"columns", "x", "x\nADDED      a\n", []string{"-o", "custom-columns=N:.metadata.name", "--no-headers", "--checkpoint"}},
		{"a template says itself where lines end", "x", "xa", []string{"-o", "jsonpath={.metadata.name}", "--checkpoint"}},
		{"nothing is printed", "x", "x", []string{"-o", "none", "--checkpoint"}},
		{"no checkpoint", "x", "xADDED node/a\n", []string{"-o", "name", "--output-watch-events"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "out")
			if err := os.WriteFile(path, []byte(test.before), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			args := append([]string{"watch", "nodes", "--once", "-s", srv.URL}, test.args...)
			if args[len(args)-1] == "--checkpoint" {
				args = append(args, filepath.Join(dir, "state"))
			}
			stderr := newTail()
			if code := run(t.Context(), args, func(string) string { return "" }, strings.NewReader(""), out, stderr); code != 0 {
				t.Fatalf("exit code %d\n%s", code, stderr)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(b)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestTornLineIsEndedWhereThereIsRoom: until then nothing of a line counts as printed.
func TestTornLineIsEndedWhereThereIsRoom(t *testing.T) {
	full := &narrow{room: 0}
	l := &lineEnder{w: full}
	if n, err := l.Write([]byte("a\n")); n != 0 || err == nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	full.room = 100
	for _, line := range []string{"a\n", "b\n"} {
		if n, err := l.Write([]byte(line)); n != 2 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
	if got := full.String(); got != "\na\nb\n" {
		t.Errorf("%q", got)
	}
}
