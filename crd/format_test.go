package crd

import (
	"encoding/json"
	"testing"
)

// A server is generous with some formats. The lists are what a real one answered.
func TestFormats(t *testing.T) {
	for format, tt := range map[string]struct{ fit, unfit []string }{
		"duration": {
			[]string{"1h30m", "-1s", "0", "1d", "2 weeks", "1 d", "1m 3s", "P1D", "1W", "1 hr", "1day", "1 minute", "2hours", "5 µs", "5 sμ"},
			[]string{"", "5", "d", "1x", "1dx", "5 \u03bcs", "1 d 99999999999999999999 x"},
		},
		"date-time": {
			[]string{"2024-01-01T00:00:00Z", "2024-01-01t00:00:00z", "2024-01-01T00:00:00.5+99:99"},
			[]string{"", "2024-01-01", "2024-02-30T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T23:59:60Z", "2024-01-01T00:00:00", "2024-01-01 00:00:00Z", "2024-01-01T00:00:00+0100"},
		},
		"date": {[]string{"2024-01-01"}, []string{"", "2024-02-30", "2024-1-1"}},
		"ipv4": {[]string{"1.2.3.4", "01.2.3.4", "0.0.0.0", "::ffff:1.2.3.4"}, []string{"", "1.2.3", "::1", "::ffff:1.2.3.4%eth0"}},
		"ipv6": {[]string{"::1", "::ffff:1.2.3.4"}, []string{"", "1.2.3.4", "fe80::1%eth0", "[::1]"}},
		"cidr": {[]string{"10.0.0.1/8", "10.0.0.0/08", "010.0.0.0/8", "::/0"}, []string{"", "10.0.0.0/33", "10/8", "fe80::1%eth0/64"}},
		"byte": {[]string{"YQ=="}, []string{"", "YQ", "YQ==\n", "YWJj\r\n", "_-8="}},
	} {
		for i, list := range [][]string{tt.fit, tt.unfit} {
			for _, text := range list {
				b, _ := json.Marshal(text)
				if got := faults(&Schema{Type: "string", Format: format}, b); len(got) != i {
					t.Errorf("%s %q: %v, want %d faults", format, text, got, i)
				}
			}
		}
	}
}

// A format holds for strings of any type, and where there is none, it lets no other scalar and no
// object pass. The answers are those of a real server.
func TestFormatsWithoutTheTypeString(t *testing.T) {
	const (
		any         = `"x-kubernetes-preserve-unknown-fields":true`
		intOrString = `"x-kubernetes-int-or-string":true`
	)
	for _, tt := range []struct {
		schema string
		value  string
		fits   bool
	}{
		{intOrString + `,"format":"date"`, `"x"`, false},
		{intOrString + `,"format":"date"`, `"2024-01-01"`, true},
		{intOrString + `,"format":"date"`, `3`, true},
		{any + `,"format":"date"`, `"x"`, false},
		{any + `,"format":"date"`, `3`, false},
		{any + `,"format":"date"`, `true`, false},
		{any + `,"format":"date"`, `{}`, false},
		{any + `,"format":"date"`, `[]`, true},
		{any + `,"format":"date"`, `"2024-01-01"`, true},
		{any + `,"format":"int32"`, `"x"`, true},
		{any + `,"format":"int32"`, `3`, true},
		{`"type":"string","format":"date"`, `[]`, true},
		{`"type":"string","format":"date"`, `3`, false},
		{`"type":"string"`, `[]`, false},
		{`"type":"string","allOf":[{"format":"date"}]`, `"x"`, false},
		{`"type":"integer","format":"date"`, `3`, true},
	} {
		if got := faults(parsed(t, `{`+tt.schema+`}`), []byte(tt.value)); (got == nil) != tt.fits {
			t.Errorf("%s %s: %v", tt.schema, tt.value, got)
		}
	}
}
