package kube_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
)

type values struct {
	Port kube.IntOrString `json:"port"`
	At   kube.MicroTime   `json:"at"`
}

func TestValuesKeepTheirJSON(t *testing.T) {
	at := time.Date(2026, 11, 23, 6, 7, 8, 120_000_000, time.UTC)
	for text, want := range map[string]values{
		`{"port":0,"at":null}`:                                     {},
		`{"port":-7,"at":"2026-11-23T06:07:08.120000Z"}`:           {kube.FromInt(-7), kube.MicroTime{Time: at}},
		`{"port":"","at":null}`:                                    {Port: kube.FromString("")},
		`{"port":"80","at":null}`:                                  {Port: kube.FromString("80")},
		`{"port":"25%","at":"2026-11-23T06:07:08.120000Z"}`:        {kube.FromString("25%"), kube.MicroTime{Time: at}},
		`{"port":2147483647,"at":"2026-11-23T06:07:08.120000Z"}`:   {kube.FromInt(2147483647), kube.MicroTime{Time: at}},
		`{"port":"\"quoted\"","at":"2026-11-23T06:07:08.120000Z"}`: {kube.FromString(`"quoted"`), kube.MicroTime{Time: at}},
	} {
		got := values{Port: kube.IntOrString{Int: 1, Text: "before", IsText: true}, At: kube.MicroTime{Time: at.Add(time.Hour)}}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", text, d)
		}
		if b, err := json.Marshal(got); err != nil || string(b) != text {
			t.Errorf("encoded again: %s, %v; want %s", b, err, text)
		}
	}
}

func TestMicroTimeIsWrittenInUTCWithSixDigits(t *testing.T) {
	at := time.Date(2026, 1, 1, 1, 0, 0, 123_456_789, time.FixedZone("", 2*60*60))
	b, err := json.Marshal(kube.MicroTime{Time: at})
	if want := `"2025-12-31T23:00:00.123456Z"`; err != nil || string(b) != want {
		t.Errorf("%s, %v; want %s", b, err, want)
	}
}

// TestRefusedValuesAreNotInTheError: the error names the form, not the value, which may
// be secret, and the value before is kept.
func TestRefusedValuesAreNotInTheError(t *testing.T) {
	before := values{kube.FromString("before"), kube.MicroTime{Time: time.Unix(1, 0)}}
	for text, want := range map[string]string{
		`2147483648`:                    "an IntOrString is an integer of 32 bits or a string",
		`1.5`:                           "an IntOrString is an integer of 32 bits or a string",
		`true`:                          "an IntOrString is an integer of 32 bits or a string",
		`{}`:                            "an IntOrString is an integer of 32 bits or a string",
		`"2026-11-23T06:07:08Z"`:        "a MicroTime is a time of RFC 3339 with six digits after the second",
		`"2026-11-23T06:07:08.123456"`:  "a MicroTime is a time of RFC 3339 with six digits after the second",
		`"secret"`:                      "a MicroTime is a time of RFC 3339 with six digits after the second",
		`["2026-11-23T06:07:08.12345"]`: "a MicroTime is a time of RFC 3339 with six digits after the second",
		`7`:                             "a MicroTime is a time of RFC 3339 with six digits after the second",
	} {
		got := before
		into := json.Unmarshaler(&got.Port)
		if want[:len("a Micro")] == "a Micro" {
			into = &got.At
		}
		if err := into.UnmarshalJSON([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
		if d := cmp.Diff(before, got); d != "" {
			t.Errorf("%s changed the value (-want +got):\n%s", text, d)
		}
	}
}
