package events

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// validName is what the API calls a DNS subdomain.
var validName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

func TestNameOf(t *testing.T) {
	const nanos = 0x18a1b2c3d4e5f607
	const suffix = ".18a1b2c3d4e5f607"
	long := strings.Repeat("a", 253)
	for object, want := range map[string]string{
		"web-0":                         "web-0",
		"foos.example.com":              "foos.example.com",
		"system:controller:Foo":         "system-controller-foo",
		"a..b":                          "a.b",
		".a.":                           "a",
		"-a-.-b-":                       "a.b",
		"":                              "event",
		"日本":                            "event",
		"a/b%c":                         "a-b-c",
		long:                            long[:236],
		long[:235] + ".b":               long[:235],
		long[:234] + "--b":              long[:234],
		long[:236]:                      long[:236],
		strings.Repeat("é.", 200) + "z": "z",
	} {
		if got := nameOf(object, nanos); got != want+suffix {
			t.Errorf("%q: got %q, want %q", object, got, want+suffix)
		}
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct{ s, want string }{
		{"", ""},
		{"12345678", "12345678"},
		{"123456789", "12345..."},
		{"1234é6789", "1234..."}, // é has two bytes
		{"日本日本", "日..."},
		{"a\xffb", "a?b"},
		{"日日\xff", "日日?"},
	} {
		if got := shorten(c.s, 8); got != c.want {
			t.Errorf("%q: got %q, want %q", c.s, got, c.want)
		}
	}
}

func FuzzNameOf(f *testing.F) {
	f.Add("web-0", int64(1))
	f.Add("system:node.", int64(1)<<62)
	f.Fuzz(func(t *testing.T, object string, nanos int64) {
		nanos &= 1<<63 - 1
		if got := nameOf(object, nanos); !validName.MatchString(got) || len(got) > maxName {
			t.Errorf("%q is not a valid name", got)
		}
		if got := shorten(object, 16); len(got) > 16 || !utf8.ValidString(got) {
			t.Errorf("%q is not a valid text of 16 bytes", got)
		}
	})
}
