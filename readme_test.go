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

// TestFirstOperatorShowsCodeThatRuns: blocks of Go in docs/first-operator.md stand in an
// example, whose tests run it.
func TestFirstOperatorShowsCodeThatRuns(t *testing.T) {
	var texts []string
	for _, name := range []string{"docs/first-operator.md", "examples/greeting/main.go", "examples/greeting/greeting_test.go"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b))
	}
	blocks := strings.Split(texts[0], "```go\n")[1:]
	if len(blocks) < 7 {
		t.Errorf("%d blocks of Go, want at least 7", len(blocks))
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		if !strings.Contains(texts[1], code) && !strings.Contains(texts[2], code) {
			t.Errorf("examples/greeting does not have the block\n%s", code)
		}
	}
}
