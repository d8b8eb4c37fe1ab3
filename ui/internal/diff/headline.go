package diff

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/internal/compare"
)

// Rest is between what Summary says in a few words and the names of what else changed.
const Rest = "\x00"

// Summary says in a few words what changes are about, the one that people look for first, and
// what else of spec, data or labels changed: orders first, which nobody expects. What finds no
// place is counted, and named behind [Rest].
func Summary(changes []Change) string {
	const named = 2 // that are named besides the first
	line, first := headline(changes)
	if first < 0 {
		return line
	}
	var rest, orders []string
	alike := 1
	for i, c := range changes {
		switch {
		case i == first || !c.wanted() || twin(c, changes):
			continue
		case sameImage(c, changes[first]):
			alike++
			continue
		}
		at := short(c.Path) + became(c)
		if strings.HasSuffix(c.Path, compare.Order) {
			orders = append(orders, at)
		} else {
			rest = append(rest, at)
		}
	}
	if alike > 1 {
		line += " in " + strconv.Itoa(alike) + " containers"
	}
	rest = append(orders, rest...)
	if len(rest) > named+1 { // one is named rather than counted
		return line + ", " + strings.Join(rest[:named], ", ") + ", and " + strconv.Itoa(len(rest)-named) + " more" + Rest + strings.Join(rest[named:], ", ")
	}
	return strings.Join(append([]string{line}, rest...), ", ")
}

// sameImage says whether two containers got the same image in place of the same one.
func sameImage(a, b Change) bool {
	return strings.HasSuffix(a.Path, ".image") && strings.HasSuffix(b.Path, ".image") && a.Old != nil && a.New != nil && arrow(a) == arrow(b)
}

// image is the part of a reference to an image that tells it from others.
func image(s string) string { return s[strings.LastIndexByte(s, '/')+1:] }

// Conditions names the conditions of which the status changed, and what it is now, each behind a
// comma: ", ReplicaFailure True: FailedCreate".
func Conditions(changes []Change) (line string) {
	for _, c := range changes {
		what, of := "", "status.conditions[type="+conditionOf(c.Path)+"]"
		switch c.Path {
		case "status.conditions":
			what = conditions(c)
		case of:
			what = whole(c)
		case of + ".status":
			what = conditionOf(c.Path) + " " + value(c)
			if i := slices.IndexFunc(changes, func(c Change) bool { return c.Path == of+".reason" }); i >= 0 {
				what = strings.TrimSuffix(what+": "+value(changes[i]), ": ")
			}
		}
		if what != "" {
			line += ", " + what
		}
	}
	return line
}

// element matches the path of an element of a list that nothing identifies.
var element = regexp.MustCompile(`\[[0-9]+\]$`)

// twin says whether c repeats another change, as clusterIPs[0] does clusterIP.
func twin(c Change, changes []Change) bool {
	one, ok := strings.CutSuffix(c.Path, "s[0]")
	return ok && slices.ContainsFunc(changes, func(c Change) bool { return c.Path == one })
}

// became says how a short text changed, or that it is new or gone: of a list, which one, and what
// is in an object.
func became(c Change) string {
	of, in := "", ""
	if text := *cmp.Or(c.New, c.Old); c.New == nil || c.Old == nil {
		in = contents(text)
		if in == "" && element.MatchString(c.Path) && len(text) <= 60 && !strings.ContainsAny(text, "\n{") {
			of = " " + text
		}
	}
	short := func(s string) string { return s }
	if strings.HasSuffix(c.Path, ".image") {
		short = image
	}
	return cmp.Or(values(c, short), when(c.Old == nil, of+" added"+in), when(c.New == nil, of+" removed"+in))
}

// contents says what is in an object: " (app cart, port 8080)".
func contents(text string) string {
	const most = 80
	m, err := Parse(text)
	if err != nil {
		return ""
	}
	line := ""
	leaves("", m, func(leaf string) bool {
		if len(line)+len(leaf) > most {
			line += ", …"
			return false
		}
		line += ", " + leaf
		return true
	})
	return when(line != "", " ("+strings.TrimPrefix(line, ", ")+")")
}

// leaves calls found for each value that is no object or list, behind the name of its member,
// until found returns false.
func leaves(name string, v any, found func(string) bool) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range slices.Sorted(maps.Keys(v)) {
			if !leaves(member, v[member], found) {
				return false
			}
		}
	case []any:
		for _, e := range v {
			if !leaves(name, e, found) {
				return false
			}
		}
	default:
		return found(name + " " + *text(v))
	}
	return true
}

// Wanted are the changes of spec, data, rules and the like, labels and annotations, which
// somebody wanted.
func Wanted(changes []Change) []Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return !c.wanted() })
}

func (c Change) wanted() bool {
	return !strings.HasPrefix(c.Path, "status") && !strings.HasPrefix(c.Path, "metadata") || strings.HasPrefix(c.Path, "metadata.labels") ||
		strings.HasPrefix(c.Path, "metadata.annotations") && !c.kept()
}

// kept says whether c is of an annotation in which a program keeps what it needs itself.
func (c Change) kept() bool {
	return slices.ContainsFunc([]string{
		"deployment.kubernetes.io/", "kubectl.kubernetes.io/last-applied-configuration", "control-plane.alpha.kubernetes.io/leader", "volume.kubernetes.io/", "pv.kubernetes.io/",
	}, func(name string) bool { return strings.HasPrefix(c.Path, `metadata.annotations["`+name) })
}

// headline also returns which change the line is about; -1 = none, or several.
func headline(changes []Change) (line string, about int) {
	for _, rule := range headlines {
		for i, c := range changes {
			if !strings.HasPrefix(c.Path, rule.prefix) || !strings.HasSuffix(c.Path, rule.suffix) {
				continue
			}
			if line := rule.line(c); line != "" {
				return line, i
			}
		}
	}
	if len(changes) > 0 && !slices.ContainsFunc(changes, func(c Change) bool { return !isTime(c.Path) }) {
		return "Only times changed", -1
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
		return "Written without a change", -1
	case len(parts) == 0:
		return "Changed", -1
	}
	return "Changed " + strings.Join(parts, " and "), -1
}

// headlines are what changes are named after, the most important first.
var headlines = []struct {
	prefix, suffix string
	line           func(Change) string
}{
	{"metadata.deletionTimestamp", "", func(c Change) string { return when(c.Old == nil, "Deletion requested") }},
	{"spec.", ".image", func(c Change) string {
		return "Image changed" + values(c, image)
	}},
	{"spec.replicas", "", func(c Change) string { return "Scaled " + arrow(c) }},
	{"status.containerStatuses", ".state.waiting.reason", value},
	{"status.containerStatuses", ".state.waiting", reason},
	{"status.containerStatuses", ".state.terminated.reason", value},
	{"status.containerStatuses", ".state.terminated", reason},
	{"status.phase", "", value},
	{"spec.selector", "", named("Spec changed", "spec.")},
	{"spec.", "", named("Spec changed", "spec.")},
	{"status.conditions[type=Progressing]", ".reason", value},
	{"status.conditions[type=Progressing]", "", reason},
	{"status.conditions[type=Ready]", ".status", condition("Ready")},
	{"status.conditions[type=Available]", ".status", condition("Available")},
	{"status.conditions[type=", "]", whole},
	{"status.conditions", "", conditions},
	{"status.availableReplicas", "", count("Available")},
	{"status.numberAvailable", "", count("Available")},
	{"status.readyReplicas", "", count("Ready")},
	{"status.numberReady", "", count("Ready")},
	{"status.updatedReplicas", "", count("Updated")},
	{"status.replicas", "", count("Replicas")},
	{"status.terminatingReplicas", "", count("Terminating")},
	{"status.conditions", ".status", func(c Change) string {
		return strings.TrimSpace(conditionOf(c.Path) + " " + value(c))
	}},
	{"status.observedGeneration", "", func(c Change) string { return when(c.New != nil, "Generation "+value(c)+" observed") }},
	{"data", "", named("Data changed", "data")},
	{"", "", func(c Change) string { // such as rules, subjects or webhooks
		return when(c.wanted() && !strings.HasPrefix(c.Path, "metadata"), named("Changed", "")(c))
	}},
	{`metadata.annotations["deployment.kubernetes.io/revision"]`, "", func(c Change) string { return when(c.New != nil, "Revision "+value(c)) }},
	{"metadata.labels", "", named("Labels changed", "metadata.labels")},
	{"metadata.annotations", "", func(c Change) string { return when(!c.kept(), named("Annotations changed", "metadata.annotations")(c)) }},
	{"metadata.annotations", "", func(Change) string { return "Annotations changed" }},
}

// named says which field below a path changed.
func named(what, below string) func(Change) string {
	return func(c Change) string {
		at := key(strings.TrimPrefix(strings.TrimPrefix(c.Path, below), "."))
		if at != "" {
			return what + ": " + at + became(c)
		}
		return what + members(c)
	}
}

// members names the members of an object that is new or gone.
func members(c Change) string {
	text := cmp.Or(c.New, c.Old)
	if text == nil || c.Old != nil && c.New != nil {
		return ""
	}
	m, err := Parse(*text)
	if err != nil || len(m) == 0 {
		return ""
	}
	return ": " + strings.Join(slices.Sorted(maps.Keys(m)), ", ") + when(c.Old == nil, " added") + when(c.New == nil, " removed")
}

// values says how a short text changed; short returns the part of it that is said.
func values(c Change, short func(string) string) string {
	const most = 60
	if c.Old == nil || c.New == nil || len(*c.Old) > most || len(*c.New) > most || strings.ContainsAny(*c.Old+*c.New, "\n") {
		return ""
	}
	return " " + visible(short(*c.Old)) + " → " + visible(short(*c.New))
}

// visible puts a text in quotes that begins or ends with a space, or is empty.
func visible(text string) string {
	if text == "" || strings.TrimSpace(text) != text {
		return strconv.Quote(text)
	}
	return text
}

// condition says whether a condition with this name holds now.
func condition(name string) func(Change) string {
	return func(c Change) string {
		if c.New != nil && *c.New == "True" {
			return name
		}
		return "Not " + strings.ToLower(name)
	}
}

// conditionOf is the type of the condition in a path.
func conditionOf(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "status.conditions[type="), "]")
	return name
}

// whole says of a condition that is new what it has, or that it is removed.
func whole(c Change) string {
	if c.New == nil {
		return conditionOf(c.Path) + " removed"
	}
	m, err := Parse(*c.New)
	if err != nil {
		return ""
	}
	status, _ := m["status"].(string)
	return strings.TrimSuffix(conditionOf(c.Path)+" "+status+": "+reason(c), ": ")
}

// conditions says of a list of conditions, the first or none any more, what it has or had.
func conditions(c Change) string {
	text := cmp.Or(c.New, c.Old)
	if c.Path != "status.conditions" || text == nil || c.Old != nil && c.New != nil {
		return ""
	}
	var list []struct{ Type, Status, Reason string }
	if json.Unmarshal([]byte(*text), &list) != nil {
		return ""
	}
	var all []string
	for _, x := range list {
		if c.New == nil {
			all = append(all, x.Type+" removed")
		} else {
			all = append(all, strings.TrimSuffix(x.Type+" "+x.Status+": "+x.Reason, ": "))
		}
	}
	return strings.Join(all, ", ")
}

// count says how a number changed, of which the server leaves out 0.
func count(what string) func(Change) string {
	zero := "0"
	return func(c Change) string {
		if c.Old == nil {
			c.Old = &zero
		}
		if c.New == nil {
			c.New = &zero
		}
		if *c.Old == *c.New {
			return "" // it is reported for the first time, or no longer
		}
		return what + " " + arrow(c)
	}
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
