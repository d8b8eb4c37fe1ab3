package markers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestAnImportHasTheNameOfItsPackageClause: whatever the end of its path is.
func TestAnImportHasTheNameOfItsPackageClause(t *testing.T) {
	const found = `{"type":"string","enum":["a","b"]}`
	for _, tt := range []struct{ imports, of, want, failed string }{
		{`"ex/shared/v1"`, "v1", found, ""},
		{`"ex/shared/v2"`, "shared", found, ""},
		{`"ex/other/shared/v3"; "ex/shared"`, "shared", found, ""},
		{`"ex/go-foo"; "fmt"`, "foo", found, ""},
		{`"ex/foo"; "ex/go-foo"`, "foo", found, ""},
		{`"ex/foo"; foo "ex/go-foo"`, "foo", found, ""},
		{`"ex/foo"`, "foo", "", "no import is called foo"},
		{`"ex.com/gone/v2"; "fmt"`, "gone", "", "find the package ex.com/gone/v2: go list: "},
		{`"ex.com/gone/v2"`, "v2", "", "find the package ex.com/gone/v2: go list: "},
		{`"ex.com/a/gone/v2"; "ex.com/gone"`, "gone", "", "find the package ex.com/gone: go list: "},
	} {
		dir := t.TempDir()
		const mode = "\n// +kubebuilder:validation:Enum=a;b\ntype Mode string\n"
		imports := "import (" + tt.imports + ")\nimport ("
		for name, text := range map[string]string{
			"go.mod":               "module ex\n\ngo 1.26\n",
			"api/types.go":         strings.Replace(box, "import (", imports, 1) + "A " + tt.of + ".Mode\n}\n",
			"shared/mode.go":       "package shared" + mode,
			"shared/v1/mode.go":    "package v1" + mode,
			"shared/v2/mode.go":    "package shared" + mode,
			"other/shared/v3/m.go": "package v3\ntype Mode int",
			"foo/mode.go":          "package bar\ntype Mode int",
			"go-foo/mode.go":       "package foo" + mode,
		} {
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var got []byte
		defs, err := Read(filepath.Join(dir, "api"))
		if err == nil {
			s := defs[0].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
			if got, err = json.Marshal(s.Properties["A"]); err != nil {
				t.Fatal(err)
			}
		}
		_, failed, _ := strings.Cut(firstLine(err), ": ")
		if diff := cmp.Diff(tt.want, string(got)); diff != "" || !strings.HasPrefix(failed, tt.failed) {
			t.Errorf("%s: %s, want %s (-want +got):\n%s", tt.imports, failed, tt.failed, diff)
		}
	}
}

// TestLongSourcesAreReadAtOnce: the time is that of the text, not of its square.
func TestLongSourcesAreReadAtOnce(t *testing.T) {
	const n = 100_000
	for _, tt := range []struct{ name, line string }{
		{"comments between types", "\n// c\n\ntype T# int\n"},
		{"comments between functions", "\n// c\n\nfunc f#() {}\n"},
		{"comments between variables", "\nvar (\n// c\n\nv# int // d\n)\n"},
		{"constants", "const C# T = \"#\"\n"},
	} {
		var b strings.Builder
		b.WriteString("A string\n}\n")
		for i := range n {
			b.WriteString(strings.ReplaceAll(tt.line, "#", strconv.Itoa(i)))
		}
		start := time.Now()
		_, failed := specOf(t, b.String())
		if took := time.Since(start); failed != "" || took > 20*time.Second {
			t.Errorf("%s: %s after %v", tt.name, failed, took)
		}
	}
}
