package markers

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/types.yaml")

func TestReadMakesTheDefinitionOfMarkedTypes(t *testing.T) {
	src, err := os.ReadFile("testdata/types.txt") // no .go: the module has no metav1
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "types.go"), src, 0o644); err != nil {
		t.Fatal(err)
	}
	defs, err := Read(dir)
	if err != nil || len(defs) != 1 {
		t.Fatalf("%d definitions, %v: want one", len(defs), err)
	}
	got, err := defs[0].YAML()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/types.yaml", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/types.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadNamesTheLineOfAnError(t *testing.T) {
	const head = `// +groupName=example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

type Box struct {
	metav1.TypeMeta
	metav1.ObjectMeta ` + "`json:\"metadata\"`" + `
`
	for _, tt := range []struct{ field, want string }{
		{"// +kubebuilder:validation:Minimum=x\nA int", "types.go:10:1: +kubebuilder:validation:Minimum=x: want a number"},
		{"// +kubebuilder:validation:AtLeastOneOf=a;b\nA int", "types.go:10:1: the marker +kubebuilder:validation:AtLeastOneOf is not supported"},
		{"// +kubebuilder:default={a: 1\nA int", "types.go:10:1: +kubebuilder:default: a brace is not closed"},
		{"// +kubebuilder:validation:items:MaxLength=1\nA int", "types.go:10:1: +kubebuilder:validation:items:MaxLength is for lists"},
		{"A Nope", "types.go:9:3: the type Nope is not declared in this package"},
		{"A []*Box", "types.go:6:6: Box contains itself, which a structural schema cannot express"},
		{"A func()", "types.go:9:3: this type has no JSON"},
		{"A nope.Nope", "types.go:9:3: no import is called nope"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "types.go"), []byte(head+tt.field+"\n}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Read(dir)
		if got := strings.TrimPrefix(firstLine(err), dir+string(filepath.Separator)); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.field, got, tt.want)
		}
	}
	if _, err := Read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "name the folder of the API types") {
		t.Errorf("an empty folder: %v", err)
	}
}

// TestReadReportsWhatIsWrongOnce: not once for each field of a type.
func TestReadReportsWhatIsWrongOnce(t *testing.T) {
	dir := t.TempDir()
	source := box + "A, B Odd\nC []Odd\nIn\n}\ntype In struct{ D Odd }\ntype Odd func()\n"
	if err := os.WriteFile(filepath.Join(dir, "types.go"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Read(dir)
	if want := filepath.Join(dir, "types.go") + ":23:10: this type has no JSON"; err == nil || err.Error() != want {
		t.Errorf("\n got %v\nwant %s", err, want)
	}
}

func firstLine(err error) string {
	if err == nil {
		return ""
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
