package compat_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the tables of README.md")

// TestREADMETables holds README.md against the versions that go.mod files require,
// and against the table of differences.
func TestREADMETables(t *testing.T) {
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	was := string(b)
	is := between(t, was, "clients", clientsTable(t))
	is = between(t, is, "differences", differencesTable())
	if *update {
		if err := os.WriteFile("README.md", []byte(is), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(is, was); diff != "" {
		t.Errorf("README.md is old; go test -run README -update . writes it (-want +got):\n%s", diff)
	}
}

// between puts a table between the two marks of its name.
func between(t *testing.T, text, name, table string) string {
	t.Helper()
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, ok := strings.Cut(text, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("README.md has no %q and %q after it", begin, end)
	}
	return before + begin + table + end + after
}

func clientsTable(t *testing.T) string {
	t.Helper()
	required := func(file, path string) string {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		version := regexp.MustCompile(`\s` + regexp.QuoteMeta(path) + ` (v\S+)`).FindSubmatch(b)
		if version == nil {
			t.Fatalf("%s requires no %s", file, path)
		}
		return string(version[1])
	}
	pinned := func(folder string) string { return required("../e2e/"+folder+"/go.mod", "k8s.io/kubernetes") }
	var b strings.Builder
	b.WriteString("| client | version | stories |\n| --- | --- | --- |\n")
	row := func(client, version, stories string) { fmt.Fprintf(&b, "| %s | %s | %s |\n", client, version, stories) }
	clientGo := required("go.mod", "k8s.io/client-go")
	row("informers of client-go: typed, dynamic, metadata", clientGo, "InformersStreaming, InformersPaged")
	row("leader election of client-go, alone and beside that of package lease", clientGo, "Election, Lease")
	row("event recorders of client-go, old and new", clientGo, "Recorders")
	row("a manager of controller-runtime, with a controller", required("go.mod", "sigs.k8s.io/controller-runtime"), "Manager, ManagerCustom")
	row("kubectl", pinned("kubernetes"), names("Kubectl"))
	row("kubectl", pinned("kubectl-1.36"), names("Kubectl136"))
	row("plain HTTP, requests at random", "", "Random")
	return b.String()
}

// names returns the stories of one kubectl.
func names(prefix string) string {
	var all []string
	for _, c := range scripts() {
		all = append(all, prefix+c.name)
	}
	return strings.Join(all, ", ")
}

// differencesTable has a row for each reason.
func differencesTable() string {
	var reasons []string
	where := make(map[string][]string)
	for _, d := range differences {
		if where[d.reason] == nil {
			reasons = append(reasons, d.reason)
		}
		step := strings.TrimSpace(strings.Trim(strings.TrimPrefix(d.step, "?? "), "*"))
		place := d.story
		if step != "" {
			place += ": " + step
		}
		place = "`" + strings.ReplaceAll(place, "|", "\\|") + "`"
		if !slices.Contains(where[d.reason], place) {
			where[d.reason] = append(where[d.reason], place)
		}
	}
	var b strings.Builder
	b.WriteString("| what differs, and why | where |\n| --- | --- |\n")
	for _, r := range reasons {
		fmt.Fprintf(&b, "| %s | %s |\n", strings.ReplaceAll(r, "|", "\\|"), strings.Join(where[r], "<br>"))
	}
	return b.String()
}
