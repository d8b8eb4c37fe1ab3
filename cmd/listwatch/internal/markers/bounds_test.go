package markers

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// chain returns the types T0, T1 and so on, each a struct with the fields, in which T is the next
// one; the last is a struct with others.
func chain(n int, fields, last string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "type T%d struct {\n%s\n}\n", i, strings.ReplaceAll(fields, "T", fmt.Sprint("T", i+1)))
	}
	fmt.Fprintf(&b, "type T%d struct {\n%s\n}\n", n, last)
	return b.String()
}

// TestSchemasHaveAnEnd: a few lines may make any number of schemas.
func TestSchemasHaveAnEnd(t *testing.T) {
	const (
		schemas = "Box has more than 100000 schemas and values up to here"
		text    = "Box has more than 4194304 bytes of comments, markers and names up to here"
		deep    = "Box is nested more than 1000 levels deep here"
		another = "the types up to Box3 are more than are read at once"
	)
	enum := func(n int) string {
		return "// +kubebuilder:validation:Enum=" + strings.Repeat("a;", n) + "\ntype T string\n"
	}
	var fields, boxes strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&fields, "F%d int\n", i)
	}
	for i := range 5 {
		fmt.Fprintf(&boxes, "type Box%d struct {\nmetav1.TypeMeta\nmetav1.ObjectMeta\nA T\n}\n", i)
	}
	comment := strings.Repeat("// "+strings.Repeat("a", 1000)+"\n", 500)
	for _, tt := range []struct{ name, fields, types, failed string }{
		{"deep", "A " + strings.Repeat("[]", 990) + "string", "", ""},
		{"deeper", "A " + strings.Repeat("[]", 1000) + "string", "", deep},
		{"nested structs", "A " + strings.Repeat("struct{ A ", 20_000) + "string" + strings.Repeat("}", 20_000), "", deep},
		{"one of the next", "A T0", chain(2000, "A T", ""), deep},
		{"two of the next", "A T0", chain(41, "A T\nB T", ""), schemas},
		{"embedded and not", "T0", chain(41, "T\nB T", ""), schemas},
		{"inline", "T0", chain(50, "T", fields.String()), ""},
		{"inline too often", "T0", chain(200, "T", fields.String()), schemas},
		{"an enum", "A T", enum(60_000), ""},
		{"an enum twice", "A, B T", enum(60_000), schemas},
		{"comments", "A, B, C, D, E, F, G, H, I T", comment + "type T string", text},
		{"several types", "A string", enum(60_000) + boxes.String(), another},
	} {
		start := time.Now()
		_, failed := specOf(t, tt.fields+"\n}\n"+tt.types)
		took := time.Since(start)
		if !strings.HasPrefix(failed, tt.failed) || tt.failed == "" && failed != "" || took > 20*time.Second {
			t.Errorf("%s: %q after %v, want %q", tt.name, failed[:min(len(failed), 300)], took, tt.failed)
		}
	}
}
