package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/record"
)

// missing says what does not hold yet, and of which objects.
func (v *verdict) missing() string {
	var texts []string
	for _, i := range slices.Concat(v.all, v.any) {
		if !v.holds(i) {
			texts = append(texts, v.conditions[i].text+" ("+v.lacks(i)+")")
		}
	}
	return strings.Join(texts, ", ")
}

// lacks says why condition i does not hold.
func (v *verdict) lacks(i int) string {
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

// overdue is err, and where that is the end of --timeout also what has not come by
// then. events were printed.
func (s *session) overdue(err error, events int) error {
	if !errors.Is(err, exit.ErrTimedOut) {
		return err
	}
	var what []string
	switch {
	case s.output.verdict != nil && !s.output.verdict.synced && s.flags.waiting.wants():
		what = append(what, "the first list has not come in whole")
	case s.output.verdict != nil && s.flags.waiting.wants():
		what = append(what, "this does not hold: "+s.output.verdict.missing())
	case s.flags.once:
		what = append(what, "the first list has not come in whole")
	}
	if s.output.maxEvents > 0 {
		what = append(what, fmt.Sprintf("%s of %s came", printable.Thousands(events), printable.Count(s.output.maxEvents, "event")))
	}
	if what == nil {
		return err
	}
	return fmt.Errorf("%w; %s", err, strings.Join(what, "; "))
}
