package help

import "testing"

func TestManPageLeavesNothingToTroff(t *testing.T) {
	for in, want := range map[string]string{
		`--a 'b' \n`: `\-\-a \(aqb\(aq \en`,
		".rest":      `\&.rest`,
		"'quoted'":   `\(aqquoted\(aq`,
	} {
		if got := roff(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	got := paragraphs("one\n  two\nthree\n\nfour\n  five")
	if want := "one\n.nf\n  two\n.fi\nthree\n.PP\nfour\n.nf\n  five\n.fi\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
