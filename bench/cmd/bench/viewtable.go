package main

import (
	"fmt"
	"io"
	"strings"
)

// Numbers of a view.
var viewMetrics = []struct {
	what   string
	of     func(view) float64
	text   func(float64) string
	events bool               // only of use where there are some
	target map[string]float64 // by viewing; none where nothing stands
}{
	{"first row", func(v view) float64 { return v.First }, seconds, false, map[string]float64{"10,000 pods": 1. / 3}},
	{"all rows", func(v view) float64 { return v.All }, seconds, false, nil},
	{"CPU until then", func(v view) float64 { return v.CPU }, seconds, false, nil},
	{"peak RSS until then", func(v view) float64 { return float64(v.Peak) }, megabytes, false, nil},
	{"events", func(v view) float64 { return v.Events }, seconds, true, nil},
	{"CPU in all", func(v view) float64 { return v.EventsCPU }, seconds, true, nil},
	{"peak RSS in all", func(v view) float64 { return float64(v.PeakAll) }, megabytes, true, nil},
	{"RSS at the end", func(v view) float64 { return float64(v.RSS) }, megabytes, true, nil},
}

// viewTargets are the lines of the program beside kubectl.
func (r report) viewTargets() (out []target) {
	for _, v := range r.Views {
		for _, m := range viewMetrics {
			if m.events && v.Events == 0 {
				continue
			}
			a, b := medianBy(v.Ours, m.of), medianBy(v.Theirs, m.of)
			limit, ok := m.target[v.What]
			if !ok {
				limit = noTarget
			}
			out = append(out, target{"watching " + v.What + ": " + m.what, m.text(a), "kubectl", m.text(b), a / b, limit})
		}
	}
	return out
}

// viewTable prints every number of the program and kubectl.
func (r report) viewTable(w io.Writer) {
	fmt.Fprint(w, "\n### beside kubectl\n\n`listwatch watch pods -A` and `kubectl get pods -A -w`, from a server whose answers were recorded in a run before. "+
		"The events follow once all rows are there.\n\n| collection | program | runs |")
	rule := "|---|---|---:|"
	for _, m := range viewMetrics {
		fmt.Fprintf(w, " %s |", m.what)
		rule += "---:|"
	}
	fmt.Fprintf(w, "\n%s\n", rule)
	for _, v := range r.Views {
		for _, side := range []struct {
			name string
			runs []view
		}{{"listwatch", v.Ours}, {"kubectl", v.Theirs}} {
			cells := []string{fmt.Sprintf("%s, %d events", v.What, v.Events), side.name, fmt.Sprint(len(side.runs))}
			for _, m := range viewMetrics {
				cells = append(cells, m.text(medianBy(side.runs, m.of)))
			}
			fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
		}
	}
}
