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
