package live

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/kube"
)

// typeIn types the characters of text.
func typeIn(b *board, text string) {
	for _, r := range text {
		b.press(string(r), string(r))
	}
}

func TestFilterIsTypedInTheLanguageOfWhere(t *testing.T) {
	b := newBoard(&print.Format{Headers: true})
	for name, phase := range map[string]string{"web-1": "Running", "web-2": "Pending", "db": "Running"} {
		b.apply(podRecord(t, "ADDED", name, phase, 0, 0))
	}
	screen := func() (names []string, foot []string) {
		lines := finish(b).draw(60, 12, boardStart)
		for _, l := range lines[2:] {
			if f := strings.Fields(l); len(f) == 4 && f[3] == "5s" {
				names = append(names, f[0])
			}
		}
		return names, lines[10:]
	}
	expect := func(when string, wantNames []string, wantFoot ...string) {
		t.Helper()
		names, foot := screen()
		if diff := cmp.Diff(wantNames, names); diff != "" {
			t.Errorf("%s: rows (-want +got):\n%s", when, diff)
		}
		if diff := cmp.Diff(wantFoot, foot); diff != "" {
			t.Errorf("%s: last lines (-want +got):\n%s", when, diff)
		}
	}
	all, short := []string{"db", "web-1", "web-2"}, clipTo(keys, 60)
	expect("at first", all, "", short)
	b.press("/", "/")
	typeIn(b, `.status.phase == "Runn`)
	expect("while it is typed", all, `/.status.phase == "Runn_`, "jq: unterminated string literal")
	b.press("enter", "")
	expect("Enter with an error", all, `/.status.phase == "Runn_`, "jq: unterminated string literal")
	typeIn(b, `ing"`)
	b.press("enter", "")
	expect("a filter", []string{"db", "web-1"}, "", short)
	b.press("/", "/")
	typeIn(b, `x`)
	b.press("backspace", "")
	typeIn(b, " and")
	expect("while another is typed", []string{"db", "web-1"}, `/.status.phase == "Running" and_`, "jq: it ends too early")
	b.press("esc", "")
	expect("the last good one", []string{"db", "web-1"}, "", short)
	if b.typed = b.query.text; b.typed != `.status.phase == "Running"` {
		t.Error(b.typed)
	}
	b.press("/", "/")
	b.press("ctrl+u", "")
	typeIn(b, "web")
	expect("a word", []string{"db", "web-1"}, "/web_", `Enter filters by .metadata.name | contains("web"); Esc leav…`)
	b.press("enter", "")
	expect("by a word", []string{"web-1", "web-2"}, "", short)
	b.press("/", "/")
	typeIn(b, "| .a = 1")
	expect("an assignment", []string{"web-1", "web-2"}, "a single = assigns in jq, and that is true of every object:", "compare by ==")
	b.press("ctrl+w", "")
	b.press("ctrl+w", "")
	b.press("ctrl+u", "")
	if b.press("q", "q"); b.typed != "q" {
		t.Errorf("typed: %q", b.typed)
	}
	b.press("ctrl+u", "")
	b.press("enter", "")
	expect("an empty one", all, "", short)
	b.filter(query{text: "x", holds: nil})
	b.press("esc", "")
	if b.query.text != "" {
		t.Error("Esc does not drop the filter")
	}
}

// Objects for which a filter fails are not shown, and are counted while they exist.
func TestFilterThatFails(t *testing.T) {
	b := newBoard(&print.Format{Headers: true})
	b.apply(podRecord(t, "ADDED", "a", "Running", 0, 0))
	b.apply(podRecord(t, "ADDED", "b", "Pending", 0, 0))
	q, problem := parseQuery(`if .status.phase == "Pending" then error("no\u001b[31m") else true end`)
	if problem != "" {
		t.Fatal(problem)
	}
	b.filter(q)
	foot := func() string { lines := finish(b).draw(100, 12, boardStart); return lines[11] }
	if got := foot(); got != "the filter fails for 1 object, not shown: error: no[31m" || b.shown() != 1 {
		t.Errorf("%q, %d rows", got, b.shown())
	}
	b.apply(podRecord(t, "MODIFIED", "b", "Pending", 1, 1))
	foot()
	if b.query.failed != 1 {
		t.Errorf("%d failures of one object", b.query.failed)
	}
	b.apply(podRecord(t, "MODIFIED", "b", "Running", 2, 2))
	if got := foot(); got != keys || b.shown() != 2 {
		t.Errorf("%q, %d rows", got, b.shown())
	}
	b.apply(podRecord(t, "DELETED", "b", "Pending", 2, 3))
	foot()
	finish(b).draw(100, 12, boardStart.Add(leaveAfter*2))
	if b.query.failed != 0 {
		t.Errorf("%d failures of no object", b.query.failed)
	}
}

// A filter cannot read what the table does not show.
func TestFilterSeesNoSecrets(t *testing.T) {
	o, err := codec.ParseRaw([]byte(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a","namespace":"n"},"data":{"password":"c2VjcmV0"}}`))
	if err != nil {
		t.Fatal(err)
	}
	b := newBoard(&print.Format{Headers: true, Redact: true})
	b.apply(&record.Record{Type: "ADDED", Resource: kube.Secrets, ID: codec.Identity{Namespace: "n", Name: "a"}, Object: o})
	for text, want := range map[string]int{`.data.password == "c2VjcmV0"`: 0, `.data.password == "[redacted]"`: 1} {
		q, problem := parseQuery(text)
		if problem != "" {
			t.Fatal(problem)
		}
		b.filter(q)
		if finish(b); b.shown() != want {
			t.Errorf("%s: %d rows, want %d", text, b.shown(), want)
		}
	}
}

// What is typed has a limit, and cannot have characters that a terminal obeys.
func TestTypedTextIsClean(t *testing.T) {
	b := newBoard(&print.Format{})
	b.press("/", "/")
	b.press("", "a\x1b[31m\u202e b\n")
	b.press("", strings.Repeat("x", maxTyped))
	if b.typed != "a[31m b" {
		t.Errorf("%q", b.typed)
	}
	b.press("ctrl+w", "")
	if b.typed != "a[31m " {
		t.Errorf("%q", b.typed)
	}
}
