package recording

import "testing"

// TestTypesOfRecordingsAreNoFlags: the command that is offered runs what it says.
func TestTypesOfRecordingsAreNoFlags(t *testing.T) {
	for typ, want := range map[string]string{
		"deployments.apps": "; try: listwatch watch -A -s http://127.0.0.1:1 deployments.apps",
		"--exec=id":        "",
		"-oname":           "",
		"pods;id":          "",
		"pods id":          "",
		"":                 "",
	} {
		if got := tryIt("http://127.0.0.1:1", typ); got != want {
			t.Errorf("%q: %q, want %q", typ, got, want)
		}
	}
}
