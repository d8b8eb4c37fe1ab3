package print

import (
	"math"
	"strings"

	"github.com/listwatch/listwatch/internal/compare"
)

// difference is one place in which two objects differ.
type difference struct {
	path     string // .status.conditions[type=Ready].status
	old, new any
	added    bool // there was nothing
	removed  bool // there is nothing
}

// differences returns where old and now differ, as [compare.Objects] does, but for the order
// of the elements of lists. Objects whose paths would take too much differ as a whole.
func differences(old, now any) []difference {
	if tangled(old, now) {
		return []difference{{path: ".", old: old, new: now}}
	}
	var list []difference
	compare.Objects(old, now, math.MaxInt, func(d compare.Difference) bool {
		if d.Order() {
			return true
		}
		list = append(list, difference{path: pathOf(d.Path), old: d.Old, new: d.New, added: d.Added, removed: d.Removed})
		return true
	})
	return list
}

func pathOf(p *compare.Path) string {
	var b strings.Builder
	for _, step := range p.Steps() {
		if step.Element != "" {
			b.WriteString(step.Element)
		} else {
			b.WriteString("." + strings.ReplaceAll(step.Member, ".", `\.`))
		}
	}
	return b.String()
}
