package order

import "testing"

// TestQuantitiesSortByValue: texts that are both quantities are compared as such, all others
// as text.
func TestQuantitiesSortByValue(t *testing.T) {
	before := func(a, b string) bool {
		t.Helper()
		less, err := sortsBefore(a, b)
		if err != nil {
			t.Fatalf("%q and %q: %v", a, b, err)
		}
		return less
	}
	rising := []string{"-1", "0", "1n", "1u", "1m", "100m", ".5", "1", "2e0", "1k", "1Ki", "1e4", "1M", "1Mi", "1.5Gi", "1T", "1Ti", "1P", "1Pi", "1E", "1Ei", "1e30"}
	for i := 1; i < len(rising); i++ {
		if a, b := rising[i-1], rising[i]; !before(a, b) || before(b, a) {
			t.Errorf("%s is not before %s", a, b)
		}
	}
	if before("1024Mi", "1Gi") || before("1Gi", "1024Mi") {
		t.Error("1024Mi and 1Gi are not equal")
	}
	// As text, each of these is before "9", which is a quantity, or after it.
	for _, s := range []string{"", "1x", "1 Gi", "1e9999", "1ki", "2026-11-21", "1.2.3", "--1", "10e0.x"} {
		if !before(s, "9") {
			t.Errorf("%q is not compared with 9 as text", s)
		}
	}
}
