package messages

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMissingIsReportedOnce until a group version is served again.
func TestMissingIsReportedOnce(t *testing.T) {
	var stderr bytes.Buffer
	m := NewMissing(New(&stderr, "", false))
	away := map[string]error{"b.example.com/v1": errors.New("away"), "a.example.com/v1": errors.New("evil\x1b[31m\nline")}
	m.Report("", away)
	m.Report("", away)
	m.Report("west", away)
	m.Report("", nil)
	m.Report("west", away)
	m.Report("", map[string]error{"b.example.com/v1": errors.New("away again")})
	want := `listwatch: a.example.com/v1: types may be missing: evil[31m line
listwatch: b.example.com/v1: types may be missing: away
listwatch: west: a.example.com/v1: types may be missing: evil[31m line
listwatch: west: b.example.com/v1: types may be missing: away
listwatch: b.example.com/v1: types may be missing: away again
`
	if diff := cmp.Diff(want, stderr.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
