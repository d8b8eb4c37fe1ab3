package until

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
)

// Missing returns which conditions do not hold yet, and for which objects.
func (v *Verdict) Missing() string {
	var texts []string
	for _, i := range slices.Concat(v.all, v.any) {
		if !v.holds(i) {
			texts = append(texts, v.conditions[i].text+" ("+v.lacks(i)+")")
		}
	}
	return strings.Join(texts, ", ")
}

// lacks returns why condition i does not hold.
func (v *Verdict) lacks(i int) string {
	var absent, not []string
	for key := range v.named {
		if v.objects[key] == nil {
			absent = append(absent, record.KubectlName(key.Resource, key.Name))
		}
	}
	how := map[string]string{}
	for key, s := range v.objects {
		if name := record.KubectlName(key.Resource, key.Name); !s.holds[i] && (s.rolls || !v.conditions[i].rollout) {
			not = append(not, name)
			how[name] = s.rollout
		}
	}
	switch c := &v.conditions[i]; {
	case c.count != "":
		return fmt.Sprintf("there are %s", printable.Thousands(len(v.objects)))
	case c.whole != nil:
		return v.parts(c.whole)
	case c.delete:
		return "there is " + some(not)
	case len(absent) > 0:
		return "there is no " + some(absent)
	case len(v.objects) == 0:
		return "there are no objects"
	case c.rollout && len(not) == 0:
		return "there are no objects that have one"
	}
	if c := &v.conditions[i]; c.rollout {
		why := strings.TrimSuffix(how[slices.Min(not)], "...")
		if _, name, _ := strings.Cut(slices.Min(not), "/"); !strings.Contains(why, strconv.Quote(name)) {
			why = printable.Line(slices.Min(not)) + ": " + why
		}
		return why
	}
	return "not of " + some(not)
}

// parts returns the current values of the parts of an expression.
func (v *Verdict) parts(e *expression) string {
	var texts []string
	for _, p := range e.parts {
		n := len(v.objects)
		if p.condition >= 0 {
			n = v.holding[p.condition]
		}
		texts = append(texts, fmt.Sprintf("%s of %s", printable.Thousands(n), printable.Count(len(v.objects), "object")))
	}
	return strings.Join(texts, ", ")
}

// some returns the first of names, and how many more there are.
func some(names []string) string {
	text := printable.Line(slices.Min(names))
	if n := len(names) - 1; n > 0 {
		text += fmt.Sprintf(" and %s more", printable.Thousands(n))
	}
	return text
}
