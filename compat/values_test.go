package compat_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// TestIntOrStringIsThatOfApimachinery compares random JSON values, of which some are not
// valid: whether they are refused, and what is read, printed and encoded. Null is the
// number 0 in both if the value was empty before.
func TestIntOrStringIsThatOfApimachinery(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	type ours struct {
		V kube.IntOrString `json:"v"`
	}
	refused := 0
	const rounds = 5000
	for range rounds {
		value := pick("null", "0", "-0", "80", "1e2", "1.0", "1.5", "2147483647", "2147483648", "-2147483648", "-2147483649",
			"true", "{}", "[1]", `"80"`, `""`, `"25%"`, `"\u00e9\n\"<&>"`, `"\ud800"`, `"null"`,
			fmt.Sprint(r.Int32()), fmt.Sprint(-r.Int64()), fmt.Sprintf("%q", fmt.Sprint(r.Int32())))
		var theirs struct {
			V intstr.IntOrString `json:"v"`
		}
		text := []byte(`{"v":` + value + `}`)
		wantErr := json.Unmarshal(text, &theirs)
		for name, decode := range map[string]func([]byte) (ours, error){
			"encoding/json": func(b []byte) (v ours, err error) { return v, json.Unmarshal(b, &v) },
			"codec":         codec.Decode[ours],
		} {
			got, err := decode(text)
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("%s by %s: apimachinery %v, listwatch %v", text, name, wantErr, err)
			}
			if err != nil {
				refused++
				continue
			}
			want, _ := json.Marshal(theirs)
			b, err := json.Marshal(got)
			if string(b) != string(want) || err != nil || got.V.String() != theirs.V.String() {
				t.Fatalf("%s by %s: %s, %q, %v; apimachinery %s, %q", text, name, b, got.V, err, want, &theirs.V)
			}
		}
	}
	if refused == 0 || refused == 2*rounds {
		t.Errorf("%d of %d values were refused", refused, 2*rounds)
	}
}

// TestMicroTimeIsThatOfApimachinery compares random times and texts, of which some are
// not valid: whether they are refused, and what is read and encoded.
func TestMicroTimeIsThatOfApimachinery(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	type ours struct {
		V kube.MicroTime `json:"v"`
	}
	refused := 0
	const rounds = 5000
	for range rounds {
		at := time.Unix(r.Int64N(1<<33)-1<<32, r.Int64N(1e9)).In(time.FixedZone("", (r.IntN(48)-24)*1800))
		want, wantErr := json.Marshal(metav1.NewMicroTime(at))
		if got, err := json.Marshal(kube.MicroTime{Time: at}); string(got) != string(want) || err != nil || wantErr != nil {
			t.Fatalf("%s: %s, %v; apimachinery %s, %v", at, got, err, want, wantErr)
		}
		value := pick("null", `""`, "7", "{}", `"null"`, `"0001-01-01T00:00:00.000000Z"`, `"2026-11-23T06:07:08,123456Z"`, `"2026-02-30T06:07:08.123456Z"`,
			fmt.Sprintf("%q", at.Format(pick("2006-01-02T15:04:05.000000Z07:00", time.RFC3339, time.RFC3339Nano, "2006-01-02T15:04:05.000Z07:00", "2006-01-02T15:04:05.000000"))),
			fmt.Sprintf("%q", at.Format("2006-01-02T15:04:05.000000Z07:00")))
		var theirs struct {
			V metav1.MicroTime `json:"v"`
		}
		text := []byte(`{"v":` + value + `}`)
		wantErr = json.Unmarshal(text, &theirs)
		for name, decode := range map[string]func([]byte) (ours, error){
			"encoding/json": func(b []byte) (v ours, err error) { return v, json.Unmarshal(b, &v) },
			"codec":         codec.Decode[ours],
		} {
			got, err := decode(text)
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("%s by %s: apimachinery %v, listwatch %v", text, name, wantErr, err)
			}
			if err != nil {
				refused++
				continue
			}
			if d := cmp.Diff(theirs.V.UTC(), got.V.Time); d != "" {
				t.Fatalf("%s by %s (-apimachinery +listwatch):\n%s", text, name, d)
			}
			want, _ := json.Marshal(theirs)
			if b, err := json.Marshal(got); string(b) != string(want) || err != nil {
				t.Fatalf("%s by %s: %s, %v; apimachinery %s", text, name, b, err, want)
			}
		}
	}
	if refused == 0 || refused == 2*rounds {
		t.Errorf("%d of %d values were refused", refused, 2*rounds)
	}
}
