package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest"
)

// TestAnEmptyURLIsNotTheDefault: a file or a variable that was not filled must not have the
// program write elsewhere.
func TestAnEmptyURLIsNotTheDefault(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("empty", []byte("\n \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--to-file", "empty"}, "--to-file: empty has no URL"},
		{[]string{"--to-file", "empty", "--nats-embedded"}, "--to-file: empty has no URL"},
		{[]string{"--to-file", ""}, "--to-file is empty"},
		{[]string{"--to", ""}, "--to is empty"},
		{[]string{"--to", "https://127.0.0.1/events", "--companion", ""}, "--companion is empty"},
	} {
		errs := newConsole()
		code := run(t.Context(), append(tt.args, "init"), func(string) string { return "" }, io.Discard, errs)
		if made, _ := os.ReadDir("."); code != exitUsage || !strings.Contains(errs.String(), tt.want) || len(made) != 1 {
			t.Errorf("%q: exit code %d, %d files\n%s", tt.args, code, len(made), errs)
		}
	}
}

func TestAFileWithoutAURLIsNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	for text, want := range map[string]string{
		strings.Repeat("\x00", 1<<20): "--to-file: url has more than 64 KiB: is it the file of a URL?",
		"sqlite:\x01secret":           "what --to-file names is not a URL, such as sqlite:cluster.db",
	} {
		if err := os.WriteFile("url", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		errs := newConsole()
		code := run(t.Context(), []string{"--to-file", "url", "init"}, func(string) string { return "" }, io.Discard, errs)
		if code != exitUsage || !strings.Contains(errs.String(), want) || strings.Contains(errs.String(), "secret") {
			t.Errorf("exit code %d, want %q\n%s", code, want, errs)
		}
	}
}

func TestValuesWithoutSenseAreRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--batch", "0"}, "--batch 0: a batch"},
		{[]string{"--flush", "-1s"}, "--flush -1s: not a time above 0"},
		{[]string{"--flush", "0s"}, "--flush 0s: not a time above 0"},
		{[]string{"--history", "-1s"}, "--history -1s is negative"},
		{[]string{"--max-object", "-4"}, "--max-object -4 is negative"},
		{[]string{"--wait", "-5s"}, "--wait -5s is negative"},
		{[]string{"--mode", "foo"}, `--mode "foo": there are both`},
		{[]string{"--where", "("}, "--where"},
		{[]string{"--project", "("}, "--project"},
		{[]string{"--to", "https:///events"}, "--to is the URL of a server without the server's name: want https://events.example.com/"},
		{[]string{"--to", "kafka://127.0.0.1:1?partitions=0"}, "--to: partitions=0 is not a number above 0"},
		{[]string{"--to", "kafka://127.0.0.1:1?replicas=x"}, "--to: replicas=x is not a number above 0"},
		{[]string{"--to", "nats://127.0.0.1:1?replicas=-1"}, "--to: replicas=-1 is not a number above 0"},
	} {
		errs := newConsole()
		code := run(t.Context(), append(tt.args, "init"), func(string) string { return "" }, io.Discard, errs)
		if made, _ := os.ReadDir("."); code != exitUsage || !strings.Contains(errs.String(), tt.want) || len(made) != 0 {
			t.Errorf("%q: exit code %d, %d files\n%s", tt.args, code, len(made), errs)
		}
	}
}

// TestHelpSaysWhatIsRetried: what fails at the start ends the program.
func TestHelpSaysWhatIsRetried(t *testing.T) {
	s := newStage(t)
	s.server.Deny("", apitest.Match{Resource: "namespaces"})
	if code, _, errs := s.run("pods"); code != exitFailed || !strings.Contains(errs, "kube-system") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	const want = "What fails at the start ends the program"
	if code, _, errs := s.run("--help"); code != exitOK || !strings.Contains(errs, want) {
		t.Errorf("--help: exit code %d, want %q in\n%s", code, want, errs)
	}
}
