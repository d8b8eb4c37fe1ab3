package kube_test

import (
	"strings"
	"testing"

	"github.com/listwatch/listwatch/kube"
)

func TestRevisionCompare(t *testing.T) {
	forty := kube.Revision("1" + strings.Repeat("0", 39))
	for _, tt := range []struct {
		a, b kube.Revision
		want int
	}{
		{"0", "0", 0},
		{"0", "1", -1},
		{"9", "10", -1},
		{"10", "9", 1},
		{"123", "123", 0},
		{"123", "124", -1},
		{"18446744073709551615", "18446744073709551616", -1},
		{forty, "9", 1},
		{forty, forty, 0},
		{forty, kube.Revision("1" + strings.Repeat("0", 38) + "1"), -1},
	} {
		if got, err := tt.a.Compare(tt.b); got != tt.want || err != nil {
			t.Errorf("%s.Compare(%s) = %d, %v; want %d", tt.a, tt.b, got, err, tt.want)
		}
		if got, err := tt.b.Compare(tt.a); got != -tt.want || err != nil {
			t.Errorf("%s.Compare(%s) = %d, %v; want %d", tt.b, tt.a, got, err, -tt.want)
		}
		if got := tt.a.Newer(tt.b); got != (tt.want > 0) {
			t.Errorf("%s.Newer(%s) = %t", tt.a, tt.b, got)
		}
	}
}

func TestRevisionCompareRefusesWhatIsNoNumber(t *testing.T) {
	for _, bad := range []kube.Revision{"", "00", "01", "-1", "+1", "1.0", " 1", "1 ", "0x1", "abc", "1e3", "٣", "1\n"} {
		if bad.Ordered() {
			t.Errorf("%q.Ordered() = true", bad)
		}
		if _, err := bad.Compare("1"); err == nil {
			t.Errorf("%q.Compare(1) does not fail", bad)
		}
		if _, err := kube.Revision("1").Compare(bad); err == nil {
			t.Errorf("1.Compare(%q) does not fail", bad)
		}
		if bad.Newer("0") || kube.Revision("9").Newer(bad) {
			t.Errorf("%q is ordered by Newer", bad)
		}
	}
	_, err := kube.Revision(strings.Repeat("x", 1<<20)).Compare("1")
	if err == nil || len(err.Error()) > 200 {
		t.Errorf("a long revision makes an error of %d bytes", len(err.Error()))
	}
}
