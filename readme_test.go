package listwatch_test

import (
	"os"
	"strings"
	"testing"
)

// TestREADMEShowsCodeThatRuns: blocks of Go in README.md stand in a test that runs them.
func TestREADMEShowsCodeThatRuns(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(readme), "```go\n")[1:]
	for heading, file := range map[string]string{ // the first line of a block
		"// Greeting is a custom resource. Nothing is generated.": "manager/example_test.go",
		"type Greeting struct {":                                  "webhook/readme_test.go",
	} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, block := range blocks {
			code, _, _ := strings.Cut(block, "```")
			if strings.HasPrefix(code, heading+"\n") {
				found = true
				if !strings.Contains(string(source), code) {
					t.Errorf("README.md shows other code than %s in the block %q", file, heading)
				}
			}
		}
		if !found {
			t.Errorf("README.md has no block %q", heading)
		}
	}
}

// TestGuidesShowCodeThatRuns: blocks of Go in the guides for operators stand in an example,
// whose tests run it.
func TestGuidesShowCodeThatRuns(t *testing.T) {
	read := func(names ...string) (all string) {
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all += string(b)
		}
		return all
	}
	code := read("examples/greeting/main.go", "examples/greeting/greeting_test.go", "examples/greeting/cluster_test.go")
	for page, least := range map[string]int{"docs/first-operator.md": 6, "docs/testing-an-operator.md": 4} {
		blocks := strings.Split(read(page), "```go\n")[1:]
		if len(blocks) < least {
			t.Errorf("%s: %d blocks of Go, want at least %d", page, len(blocks), least)
		}
		for _, block := range blocks {
			if block, _, _ = strings.Cut(block, "```"); !strings.Contains(code, block) {
				t.Errorf("%s: examples/greeting does not have the block\n%s", page, block)
			}
		}
	}
}
