package protojson

import (
	"strings"
	"testing"
)

// TestTable reads every message of the table, with those that it refers to.
func TestTable(t *testing.T) {
	path, kinds, fields := "", 0, 0
	version := ""
	for line := range strings.Lines(messagesText) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if words[0] == "=" {
			path, version = words[1], words[2]
			continue
		}
		name, isKind := strings.CutPrefix(words[0], "+")
		m := find(path + "." + strings.TrimPrefix(name, "|"))
		if got := len(m.Fields); got != len(words)-1 || m.Union != strings.HasPrefix(name, "|") {
			t.Errorf("%s has %d fields, want %d", words[0], got, len(words)-1)
		}
		for i := range m.Fields {
			if f := &m.Fields[i]; f.Type == IsMessage && f.Message() == nil {
				t.Errorf("%s.%s: no message", name, f.Name)
			}
			fields++
		}
		if isKind {
			kinds++
			if got := Lookup(version, name); got != m {
				t.Errorf("Lookup(%s, %s) = %v", version, name, got)
			}
		} else if Lookup(version, name) != nil && path != metaPath {
			t.Errorf("%s is no kind", name)
		}
	}
	if kinds < 80 || fields < 2000 {
		t.Errorf("%d kinds, %d fields", kinds, fields)
	}
	for _, c := range [][2]string{{"v1", ""}, {"", "Pod"}, {"v1", "Pod metadata=1?ObjectMeta"}, {"v1", "pod"}, {"v1\n", "Pod"}, {"-", "PodGroup"}, {"core/v1 v1", "Pod"}, {"v1", "#"}} {
		if Lookup(c[0], c[1]) != nil {
			t.Errorf("Lookup(%q) found something", c)
		}
	}
}
