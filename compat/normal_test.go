package compat_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// changing is what is not the same in two runs, and what stands for it.
var changing = []struct {
	is   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "UID"},
	{regexp.MustCompile(`\b20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-9:.]+Z\b`), "TIME"},
	{regexp.MustCompile(`\bsubject\.[0-9a-f]{16}\b`), "subject.HEX"}, // the name of an event
	{regexp.MustCompile(`https://127\.0\.0\.1:[0-9]+`), "SERVER"},
	{regexp.MustCompile(`(127\.0\.0\.1|192\.0\.2\.1):[0-9]+`), "ADDRESS"}, // the second is what kube-apiserver advertises
}

// normal replaces what is not the same in two runs.
func normal(text string) string {
	for _, c := range changing {
		text = c.is.ReplaceAllString(text, c.with)
	}
	return text
}

// normalObject returns an object as lines of JSON, with sorted names.
func normalObject(t *testing.T, o any) []string {
	t.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return normalJSON(t, b)
}

func normalJSON(t *testing.T, b []byte) []string {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %q", err, b)
	}
	b, err := json.MarshalIndent(settled(v), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(normal(string(b)), "\n")
}

var ignore = flag.String("ignore", "", "members of objects, separated by commas, that are not compared: to see what else differs")

func ignored(member string) bool {
	return *ignore != "" && slices.Contains(strings.Split(*ignore, ","), member)
}

// settled replaces revisions, and sorts the managers of fields, whose order is by
// a time of whole seconds.
func settled(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, is := range v {
			switch s, text := is.(string); {
			case ignored(name):
				delete(v, name)
			case name == "resourceVersion" && text && s != "" && s != "0":
				v[name] = "RV"
			case name == "continue" && text && s != "":
				v[name] = "C"
			case name == "managedFields":
				v[name] = sortedByText(settled(is))
			default:
				v[name] = settled(is)
			}
		}
	case []any:
		for i := range v {
			v[i] = settled(v[i])
		}
	}
	return v
}

func sortedByText(v any) any {
	if list, ok := v.([]any); ok {
		slices.SortFunc(list, func(a, b any) int {
			x, _ := json.Marshal(a)
			y, _ := json.Marshal(b)
			return bytes.Compare(x, y)
		})
	}
	return v
}

// settledOutput settles what a program printed, if it is JSON; one line a value.
func settledOutput(text string) string {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var b strings.Builder
	for dec.More() {
		var v map[string]any
		if dec.Decode(&v) != nil {
			return text
		}
		line, err := json.Marshal(settled(v))
		if err != nil {
			return text
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}
