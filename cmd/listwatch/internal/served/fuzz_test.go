package served

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// FuzzReadFile: a file that is read has the sum that it names, and is written and read
// again as the same documents. SUM in the line is replaced by that of the rest.
func FuzzReadFile(f *testing.F) {
	for _, text := range []string{
		`{"Version":1,"Sum":"SUM","Core":{"ETag":"a","ContentType":"b","Bytes":2},"Groups":{"Bytes":3}}` + "\n{}[1]",
		`{"Version":1,"Sum":"SUM","Core":{"Bytes":-1},"Groups":{"Bytes":6}}` + "\n{}[1]", "", "\n", `{"Version":1,"Sum":"SUM"}` + "\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		line, rest, _ := strings.Cut(string(text), "\n")
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte(rest)))
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(line, "SUM", sum)+"\n"+rest), 0o600); err != nil {
			t.Fatal(err)
		}
		known, at, err := readFile(path)
		if err != nil {
			return
		}
		if got := string(known.Core.Body) + string(known.Groups.Body); got != rest {
			t.Fatalf("the documents are %q of %q", got, rest)
		}
		if err := writeFile(path, &known, at); err != nil {
			return // the line has what none is written with
		}
		again, when, err := readFile(path)
		if err != nil || !when.Equal(at.Truncate(time.Nanosecond)) {
			t.Fatalf("%v, at %v, want %v", err, when, at)
		}
		if diff := cmp.Diff(known, again); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}
