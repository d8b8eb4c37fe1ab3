package compat_test

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// resourceOf returns the plural in a path below a namespace.
func resourceOf(path string) string {
	parts := strings.Split(path, "/")
	if i := slices.Index(parts, "namespaces"); i >= 0 && i+2 < len(parts) {
		return parts[i+2]
	}
	return parts[len(parts)-1]
}

// translate replaces revisions and UIDs by names that count what the server said
// since the epoch began: both servers write in the same order, so that the same
// write has the same name. It remembers those of each object.
func (p *peer) translate(resource string, v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = p.translate(resource, v[i])
		}
	case map[string]any:
		if m, ok := v["metadata"].(map[string]any); ok {
			p.metadata(resource, v, m)
		}
		if c, ok := v["continue"].(string); ok && c != "" {
			p.next[resource] = c
			v["continue"] = "C"
		}
		for _, name := range slices.Sorted(maps.Keys(v)) { // UIDs are counted
			is := v[name]
			switch s, text := is.(string); {
			case name == "causes":
				v[name] = conflictsInOrder(unrepeated(p.translate(resource, is)))
			case name == "message" && text:
				v[name] = p.message(s)
			case name == "uid" && text:
				v[name] = p.uidName(s)
			case ignored(name):
				delete(v, name)
			case name == "managedFields":
				v[name] = sortedByText(p.translate(resource, is))
			default:
				v[name] = p.translate(resource, is)
			}
		}
	}
	return v
}

// metadata translates the revision of an object or a list.
func (p *peer) metadata(resource string, o, m map[string]any) {
	rv, _ := m["resourceVersion"].(string)
	if rv == "" {
		return
	}
	_, items := o["items"]
	_, rows := o["rows"]
	name, _ := m["name"].(string)
	switch {
	case items || rows:
		p.list = rv
		if p.old == "" {
			p.old = rv
		}
		m["resourceVersion"] = "L"
		if c, ok := m["continue"].(string); ok && c != "" {
			p.next[resource] = c
		}
	case name == "": // a bookmark
		m["resourceVersion"] = "B"
	default:
		if uid, ok := m["uid"].(string); ok && uid != "" {
			p.uid[resource+"/"+name] = uid
		}
		p.rv[resource+"/"+name] = rv
		if p.rvs[rv] == "" {
			p.rvs[rv] = fmt.Sprintf("r%d", len(p.rvs)+1)
		}
		m["resourceVersion"] = p.rvs[rv]
	}
}

// unrepeated drops the causes of an error that were named before: kube-apiserver
// checks the metadata of an update up to three times, and says so in each.
func unrepeated(v any) any {
	causes, ok := v.([]any)
	if !ok {
		return v
	}
	var once []any
	for _, c := range causes {
		if !slices.ContainsFunc(once, func(o any) bool { return reflect.DeepEqual(o, c) }) {
			once = append(once, c)
		}
	}
	return once
}

// conflictsInOrder sorts the causes of a conflict of an apply, which come from a
// map.
func conflictsInOrder(v any) any {
	causes, ok := v.([]any)
	if !ok || slices.ContainsFunc(causes, func(c any) bool { m, _ := c.(map[string]any); return m["reason"] != "FieldManagerConflict" }) {
		return v
	}
	return sortedByText(v)
}

func (p *peer) uidName(uid string) string {
	if uid == "" {
		return ""
	}
	if p.uids[uid] == "" {
		p.uids[uid] = fmt.Sprintf("u%d", len(p.uids)+1)
	}
	return p.uids[uid]
}

var (
	numbers     = regexp.MustCompile(`\b[0-9]{3,}\b`)
	httpErrors  = regexp.MustCompile(`^4[0-9]{2}: `) // the number is no revision
	identifiers = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
)

// message translates what an error says.
func (p *peer) message(text string) string {
	if httpErrors.MatchString(text) {
		return text
	}
	if strings.HasPrefix(text, "Apply failed with") {
		lines := strings.Split(text, "\n")
		slices.Sort(lines[1:])
		text = strings.Join(lines, "\n")
	}
	text = identifiers.ReplaceAllStringFunc(text, p.uidName)
	return numbers.ReplaceAllStringFunc(text, func(n string) string {
		if is := p.rvs[n]; is != "" {
			return is
		}
		if n == p.list {
			return "L"
		}
		return n
	})
}
