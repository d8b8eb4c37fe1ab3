package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is where this module's folder is, seen from the tests.
var root = filepath.Join("..", "..", "..")

// The main README shows the last full run, as its results are kept.
func TestReadmeShowsTheResults(t *testing.T) {
	r, err := readReport(filepath.Join(root, "bench", "results", "full.json"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, got, _, err := readmePart(string(b))
	if err != nil {
		t.Fatalf("README.md: %v", err)
	}
	if want := r.readme(); got != want {
		t.Errorf("README.md (in bench, go run ./cmd/bench -render writes it again) has\n%s\nwant\n%s", got, want)
	}
}

func TestOnlyWhatIsBetweenTheMarksIsReplaced(t *testing.T) {
	file := filepath.Join(t.TempDir(), "README.md")
	before, after := "# Title\n\n"+readmeBegin, readmeEnd+"\nThe rest.\n"
	if err := os.WriteFile(file, []byte(before+"| old |\n"+after), 0o644); err != nil {
		t.Fatal(err)
	}
	r := report{Machine: machine{Cores: 2, CPU: "a processor"}}
	for range 2 { // again, from what it wrote
		if err := r.intoReadme(file); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := before + r.readme() + after; string(b) != want {
		t.Errorf("got\n%s\nwant\n%s", b, want)
	}
}

func TestAReadmeWithoutMarksIsLeftAlone(t *testing.T) {
	for _, text := range []string{"# Title\n", readmeBegin, readmeEnd + readmeBegin} {
		file := filepath.Join(t.TempDir(), "README.md")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		err := report{}.intoReadme(file)
		if err == nil || !strings.Contains(err.Error(), "need these two lines") {
			t.Errorf("%q: error %v, want one that tells of the marks", text, err)
		}
		if b, _ := os.ReadFile(file); string(b) != text {
			t.Errorf("%q became %q", text, b)
		}
	}
}
