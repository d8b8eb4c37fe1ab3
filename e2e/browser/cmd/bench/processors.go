package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// processors is processor time, in ticks of a hundredth of a second, or in percent of one
// processor. If the others use more than in another run, or time was stolen, times of the two
// runs cannot be compared.
type processors struct{ ui, bench, others, stolen float64 }

// processorTimes returns what was used until now; zeros where /proc is not there.
func processorTimes(ui int) processors {
	of := func(pid string) float64 {
		b, _ := os.ReadFile("/proc/" + pid + "/stat")
		_, rest, _ := strings.Cut(string(b), ") ") // the name before it may have blanks
		return sum(strings.Fields(rest), 11, 12)
	}
	b, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(b), "\n")
	all := strings.Fields(line) // cpu, user, nice, system, idle, iowait, irq, softirq, steal
	p := processors{ui: of(fmt.Sprint(ui)), bench: of("self"), stolen: sum(all, 8)}
	p.others = sum(all, 1, 2, 3, 6, 7) - p.ui - p.bench
	return p
}

// since returns the percentages of the time since before.
func (p processors) since(before processors, seconds float64) processors {
	return processors{(p.ui - before.ui) / seconds, (p.bench - before.bench) / seconds, (p.others - before.others) / seconds, (p.stolen - before.stolen) / seconds}
}

func sum(fields []string, indexes ...int) (total float64) {
	for _, i := range indexes {
		if i < len(fields) {
			n, _ := strconv.ParseFloat(fields[i], 64)
			total += n
		}
	}
	return total
}
