package kube_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/kube"
)

// The module compat compares random quantities with those of apimachinery.
func TestQuantity(t *testing.T) {
	for in, want := range map[string]string{
		"0": "0", "100m": "100m", "0.1": "100m", "1.250": "1.250", "1000m": "1", "1000000k": "1G", "1024Mi": "1Gi", "1.5Gi": "1536Mi", "1500": "1500", "1000Ki": "1000Ki",
		"0.5Ki": "512", "1.1Ki": "1126400m", "0.0000000001": "1n", "-1.5": "-1500m", "2e3": "2e3", "12E6": "12E6", "20e2": "2e3", "9999Ei": "9223372036854775807", "000": "0", "391426000E": "391426000E",
	} {
		q, err := kube.ParseQuantity(in)
		if err != nil || q.String() != want {
			t.Errorf("%s is %v, %v; want %s", in, q, err, want)
		}
	}
	for _, in := range []string{"", "-", ".", "m", "e3", "1e", "1ki", "1 Gi", "--1", "1.2.3", "1e1001", "1e-1001", "0x10", "1_000", "Inf", strings.Repeat("1", 257)} {
		if q, err := kube.ParseQuantity(in); err == nil {
			t.Errorf("%q is %v", in, q)
		}
	}
	for in, want := range map[string]int64{"1.5": 2, "-1.5": -2, "1n": 1, "1e30": math.MaxInt64, "-1e30": math.MinInt64, "": 0} {
		var q kube.Quantity
		if in != "" {
			q = kube.MustParseQuantity(in)
		}
		if got := q.Value(); got != want {
			t.Errorf("the value of %s is %d, want %d", in, got, want)
		}
	}
}

func TestQuantityInJSON(t *testing.T) {
	var v struct {
		A, B, C, D kube.Quantity
		E          *kube.Quantity
	}
	v.C = kube.MustParseQuantity("1")
	if err := json.Unmarshal([]byte(`{"A":"100m","B":1.5,"C":null,"E":"1Gi"}`), &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if want := `{"A":"100m","B":"1500m","C":"0","D":"0","E":"1Gi"}`; string(b) != want || err != nil {
		t.Errorf("%s, %v; want %s", b, err, want)
	}
	was := v.A
	if err := json.Unmarshal([]byte(`{"A":"secret"}`), &v); err == nil || strings.Contains(err.Error(), "secret") || !v.A.Equal(was) {
		t.Errorf("%v, %v", v.A, err)
	}
}
