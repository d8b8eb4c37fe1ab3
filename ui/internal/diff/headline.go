package diff

import "strings"

// Headline says in a few words what changes are about: the one that people look for first.
func Headline(changes []Change) string {
	for _, rule := range headlines {
		for _, c := range changes {
			if !strings.HasPrefix(c.Path, rule.prefix) || !strings.HasSuffix(c.Path, rule.suffix) {
				continue
			}
			if line := rule.line(c); line != "" {
				return line
			}
		}
	}
	parts := []string{}
	for _, part := range []string{"spec", "status", "data", "metadata"} {
		for _, c := range changes {
			if strings.HasPrefix(c.Path, part) {
				parts = append(parts, part)
				break
			}
		}
	}
	switch {
	case len(changes) == 0:
		return "Written without a change"
	case len(parts) == 0:
		return "Changed"
	}
	return "Changed " + strings.Join(parts, " and ")
}

// headlines are what changes are named after, the most important first.
var headlines = []struct {
	prefix, suffix string
	line           func(Change) string
}{
	{"metadata.deletionTimestamp", "", func(c Change) string { return when(c.Old == nil, "Deletion requested") }},
	{"spec.", ".image", func(Change) string { return "Image changed" }},
	{"spec.replicas", "", func(c Change) string { return "Scaled " + arrow(c) }},
	{"status.containerStatuses", ".state.waiting.reason", value},
	{"status.containerStatuses", ".state.waiting", reason},
	{"status.containerStatuses", ".state.terminated.reason", value},
	{"status.containerStatuses", ".state.terminated", reason},
	{"status.phase", "", value},
	{"spec.", "", func(Change) string { return "Spec changed" }},
	{"status.conditions[type=Ready]", ".status", func(c Change) string {
		if c.New != nil && *c.New == "True" {
			return "Ready"
		}
		return "Not ready"
	}},
	{"data", "", func(Change) string { return "Data changed" }},
	{"metadata.labels", "", func(Change) string { return "Labels changed" }},
}

func when(b bool, s string) string {
	if b {
		return s
	}
	return ""
}

func value(c Change) string {
	if c.New == nil {
		return ""
	}
	return *c.New
}

// reason is that in a state that is new as a whole.
func reason(c Change) string {
	if c.New == nil {
		return ""
	}
	m, err := Parse(*c.New)
	if err != nil {
		return ""
	}
	s, _ := m["reason"].(string)
	return s
}

func arrow(c Change) string {
	side := func(s *string) string {
		if s == nil {
			return "none"
		}
		return *s
	}
	return side(c.Old) + " → " + side(c.New)
}
