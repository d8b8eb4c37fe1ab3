package print

import (
	"math"
	"testing"
	"text/template"
	"time"
)

// TestTemplatesThatDoNotEnd: loops, and templates that use themselves, end by the clock
// where they print nothing. Nothing of them is printed then.
func TestTemplatesThatDoNotEnd(t *testing.T) {
	object := map[string]any{"list": make([]any, 100_000)}
	for _, text := range []string{
		"{{range .list}}{{range $.list}}{{range $.list}}{{end}}{{end}}{{end}}",
		"a{{range .list}}{{range $.list}}{{if true}}{{range $.list}}{{continue}}{{end}}{{end}}{{end}}{{end}}",
		"{{range .none}}{{else}}{{range .list}}{{with $.list}}{{range .}}{{range $.list}}{{end}}{{end}}{{end}}{{end}}{{end}}",
		`{{define "d"}}{{range .list}}{{template "d" $}}{{end}}{{end}}{{template "d" .}}`,
	} {
		t.Run(text, func(t *testing.T) {
			parsed := template.Must(template.New("output").Parse(text))
			for _, part := range parsed.Templates() {
				interruptible(part.Root)
			}
			b, err := execute([]byte("before\n"), parsed, object, math.MaxInt>>1, 10*time.Millisecond, nil)
			if string(b) != "before\n" || err == nil || err.Error() != "template: no text within 10ms" {
				t.Errorf("%q, %v", b, err)
			}
		})
	}
}
