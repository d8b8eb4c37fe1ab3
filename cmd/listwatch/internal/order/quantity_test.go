package order

import "testing"

func TestQuantitiesCompareByValue(t *testing.T) {
	rising := []string{"-1", "0", "1n", "1u", "1m", "100m", ".5", "1", "2e0", "1k", "1Ki", "1e4", "1M", "1Mi", "1.5Gi", "1T", "1Ti", "1P", "1Pi", "1E", "1Ei", "1e30"}
	var last string
	for _, s := range rising {
		v, ok := ParseQuantity(s)
		if !ok {
			t.Fatalf("%s is a quantity", s)
		}
		if last != "" {
			if before, _ := ParseQuantity(last); before.Cmp(v) >= 0 {
				t.Errorf("%s is not less than %s", last, s)
			}
		}
		last = s
	}
	for _, s := range []string{"", "a", "1x", "1 Gi", "1e9999", "Gi", "1ki", "2026-11-21", "1.2.3", "--1", "1e0.x"} {
		if v, ok := ParseQuantity(s); ok {
			t.Errorf("parseQuantity(%q) = %v", s, v)
		}
	}
	if a, _ := ParseQuantity("1024Mi"); a == nil {
		t.Error("1024Mi")
	} else if b, _ := ParseQuantity("1Gi"); a.Cmp(b) != 0 {
		t.Errorf("1024Mi = %v, 1Gi = %v", a, b)
	}
}
