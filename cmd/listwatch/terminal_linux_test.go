package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/printable"
)

// planted is what a terminal would obey: a title, colours by two introducers, text in
// another order, a line of its own, the line before painted over.
const planted = "\x1b]0;OWNED\a\x1b[35;7m\u009b35m\u202e\u2066\u200f\x7f\u0085\u2028\x08\rFORGED\nFORGED"

// ours are the sequences that the program itself writes.
var ours = regexp.MustCompile(`\x1b\[(0|31|32|33|36)m|\r\x1b\[K|\r\n`)

// onTerminal returns what the program writes to a terminal.
func onTerminal(t *testing.T, args ...string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Env = []string{"LISTWATCH_TEST_MAIN=1", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TERM=xterm"}
	return onPTY(t, cmd).end()
}

// TestNothingReachesTheTerminalAsItIs: whatever a server or a recording says, in every
// command and format, on stdout and stderr.
func TestNothingReachesTheTerminalAsItIs(t *testing.T) {
	srv := (&hostile{names: []string{"good", "evil" + planted}, plant: planted,
		resources: []map[string]any{hostileResource("evils"+planted, "Evil"+planted, true)}}).start(t)
	file := filepath.Join(t.TempDir(), "planted.lwrec.ndjson")
	header, err := json.Marshal(map[string]any{"tool": planted, "origin": planted, "cluster": map[string]any{"server": planted, "uid": planted, "gitVersion": planted}})
	if err != nil {
		t.Fatal(err)
	}
	runProgram(t, nil, "record", "pods", "--file", file, "-s", srv.URL, "--max-events", "2")
	recorded, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(string(recorded), "\n")
	var head map[string]any
	if err := json.Unmarshal([]byte(first), &head); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(header, &head); err != nil {
		t.Fatal(err)
	}
	joined, err := json.Marshal(head)
	if err != nil {
		t.Fatal(err)
	}
	rest = strings.TrimSuffix(rest, "\n")
	rest = rest[:strings.LastIndexByte(rest, '\n')+1] // the footer, which knows what was recorded
	rest = strings.ReplaceAll(rest, `"plural":"pods"`, `"plural":`+quoted(planted))
	if err := os.WriteFile(file, []byte(string(joined)+"\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}

	var runs [][]string
	for _, format := range everyFormat(t, map[string][]string{
		"custom-columns":   {"N:.metadata.name,S:.status.phase,M:.metadata.labels"},
		"jsonpath":         {"{.items[*].status.phase}{.items[*].metadata.labels}"},
		"jsonpath-as-json": {"{.items[*].spec}"},
		"jq":               {".items[]|.status.phase,.spec"},
		"go-template":      {"{{range .items}}{{.spec.text}}{{end}}"},
	}) {
		runs = append(runs, []string{"list", "pods", "-A", "-o", format})
	}
	for _, format := range everyFormat(t, map[string][]string{
		"custom-columns":   {"N:.metadata.name,S:.status.phase"},
		"jsonpath":         {"{.status.phase}"},
		"jsonpath-as-json": {"{.spec}"},
		"jq":               {".status.phase"},
		"go-template":      {"{{.spec.text}}"},
	}) {
		runs = append(runs, []string{"watch", "pods", "-A", "--exit-after", "200ms", "-o", format})
		runs = append(runs, []string{"replay", file, "--fast", "-o", format})
	}
	for _, style := range print.DiffStyles {
		runs = append(runs, []string{"watch", "pods", "--exit-after", "200ms", "-o", "diff", "--diff", style, "--color", "always"})
	}
	runs = append(runs,
		[]string{"list", "pods", "--show-labels", "-L", "tier", "--show-kind"},
		[]string{"list", "pods,secretless,evils" + planted},
		[]string{"list", "nodes"}, []string{"list", "pods", "absent" + planted}, []string{"list", "absent" + planted},
		[]string{"watch", "evils" + planted, "--exit-after", "200ms"}, []string{"watch", "nodes"}, []string{"watch", "nodes", "--log-format", "json"}, []string{"watch", "absent"},
		[]string{"watch", "pods", "--exit-after", "200ms", "--log-format", "json"},
		[]string{"watch", "pods", "--exit-after", "200ms", "-o", "ndjson", "--show-old", "--diff", "json-patch"},
		[]string{"watch", "pods", "--exit-after", "200ms", "--exec-initial", "--exec", "cat", "--exec-input", "stdin"},
		[]string{"watch", "pods", "--exit-after", "200ms", "--exec-initial", "--exec", `printf '\033]0;OWNED\a\033[35;7m\302\233\r\n'`},
		[]string{"watch", "pods", "--exit-after", "200ms", "--exec-initial", "--exec", "cat", "--log-format", "json"},
		[]string{"watch", "pods", "--exit-after", "200ms", "--exec-initial", "--exec", "cat", "--exec-dry-run"},
		[]string{"auth", "check"}, []string{"auth", "check", "-o", "json"}, []string{"auth", "check", "pods", "nodes"}, []string{"auth", "check", "evils" + planted},
		[]string{"replay", file, "--info"}, []string{"replay", file, "--fast", "-o", "ndjson", "--log-format", "json"},
		[]string{"record", "pods", "--file", filepath.Join(t.TempDir(), "x"), "--max-events", "3", "--exit-after", "200ms"},
	)
	for _, args := range runs {
		if args[0] != "replay" {
			args = append(args, "-s", srv.URL)
		}
		t.Run(strings.ToValidUTF8(fmt.Sprintf("%.60q", strings.Join(args[:min(len(args), 7)], " ")), ""), func(t *testing.T) {
			t.Parallel()
			out := onTerminal(t, args...)
			text := ours.ReplaceAllString(out, "\n")
			for _, r := range text {
				if r != '\n' && r != '\t' && printable.Unsafe(r) {
					t.Fatalf("%U reaches the terminal:\n%q", r, out)
				}
			}
			raw := strings.Contains(args[0]+args[len(args)-3]+strings.Join(args, " "), "=") // an expression prints lines as they are
			if !raw && regexp.MustCompile(`(?m)^FORGED`).MatchString(text) {
				t.Fatalf("a line is forged:\n%q", out)
			}
			if testing.Verbose() {
				t.Logf("%q", out)
			}
		})
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a string never fails
	return string(b)
}

// TestNothingReachesTheScreenAsItIs: of --live, which writes many sequences of its own.
func TestNothingReachesTheScreenAsItIs(t *testing.T) {
	srv := (&hostile{names: []string{"good", "evil" + planted}, plant: planted}).start(t)
	out := onTerminal(t, "watch", "pods", "-A", "--live", "--show-labels", "--exit-after", "700ms", "-s", srv.URL)
	if !strings.Contains(out, "good") {
		t.Errorf("nothing is shown: %q", out)
	}
	for _, evil := range []string{"\x1b]0;OWNED", "\x1b[35;7m", "\u009b", "\u202e", "\u2066", "\u200f", "\u0085", "\u2028"} {
		if strings.Contains(out, evil) {
			t.Errorf("%q reaches the terminal", evil)
		}
	}
}

// TestFormatsOfProgramsAreExact: to a pipe, what is for programs is as the server sent it.
func TestFormatsOfProgramsAreExact(t *testing.T) {
	srv := (&hostile{names: []string{"good"}, plant: planted}).start(t)
	for _, format := range []string{"json", "yaml", "kyaml", "jq=.items[0].spec.text", "jsonpath={.items[0].spec.text}", "go-template={{(index .items 0).spec.text}}"} {
		code, stdout, stderr := runProgram(t, nil, "list", "pods", "-s", srv.URL, "-o", format)
		if code != 0 {
			t.Fatalf("%s: %d %s", format, code, stderr)
		}
		switch {
		case format == "json":
			var got struct {
				Items []struct{ Spec struct{ Text string } }
			}
			if err := json.Unmarshal([]byte(stdout), &got); err != nil || got.Items[0].Spec.Text != planted || !strings.Contains(stdout, "\u009b") {
				t.Errorf("json: %v %q", err, stdout)
			}
		case format == "yaml", format == "kyaml":
		case strings.TrimSuffix(stdout, "\n") != planted:
			t.Errorf("%s: %q", format, stdout)
		}
	}
}
