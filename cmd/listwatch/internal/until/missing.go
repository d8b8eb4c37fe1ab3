package until

import (
	"fmt"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
)

// Missing says what does not hold yet, and of which objects.
func (v *Verdict) Missing() string {
	var texts []string
	for _, i := range slices.Concat(v.all, v.any) {
		if !v.holds(i) {
			texts = append(texts, v.conditions[i].text+" ("+v.lacks(i)+")")
		}
	}
	return strings.Join(texts, ", ")
}

// lacks says why condition i does not hold.
func (v *Verdict) lacks(i int) string {
	var absent, not []string
	for key := range v.named {
		if v.objects[key] == nil {
			absent = append(absent, record.KubectlName(key.Resource, key.Name))
		}
	}
	for key, holds := range v.objects {
		if !holds[i] {
			not = append(not, record.KubectlName(key.Resource, key.Name))
		}
	}
	switch c := &v.conditions[i]; {
	case c.count != "":
		return fmt.Sprintf("there are %s", printable.Thousands(len(v.objects)))
	case c.delete:
		return "there is " + some(not)
	case len(absent) > 0:
		return "there is no " + some(absent)
	case len(v.objects) == 0:
		return "there are no objects"
	}
	return "not of " + some(not)
}

// some names the first of names, and says how many there are more.
func some(names []string) string {
	text := printable.Line(slices.Min(names))
	if n := len(names) - 1; n > 0 {
		text += fmt.Sprintf(" and %s more", printable.Thousands(n))
	}
	return text
}
