package ui

import "github.com/listwatch/listwatch/ui/internal/history"

// rates are the numbers of changes in the last hours, by ten seconds.
type rates map[int64]*counts

const (
	step     = 10_000       // milliseconds of a bucket
	maxSteps = 6 * 360      // that are kept: six hours
	rateStep = 60_000       // of the rate of a type
	rateLen  = 30           // minutes
	hour     = 3600 * 1_000 // milliseconds
)

func (r *rates) add(at int64, op history.Op) {
	if *r == nil {
		*r = rates{}
	}
	b := (*r)[at/step]
	if b == nil {
		b = &counts{}
		(*r)[at/step] = b
		if len(*r) > maxSteps {
			for s := range *r {
				if s < at/step-maxSteps {
					delete(*r, s)
				}
			}
		}
	}
	b.add(op)
}

// rate is how many changes each of the last minutes had, the oldest first.
func (r rates) rate(at int64) []int64 {
	out := make([]int64, rateLen)
	first := at/rateStep - rateLen + 1
	for s, c := range r {
		if i := s*step/rateStep - first; i >= 0 && i < rateLen {
			out[i] += c.sum()
		}
	}
	return out
}

// into adds what happened from one time to another to buckets of equal length.
func (r rates) into(buckets []counts, from, to int64) {
	for s, c := range r {
		at := s*step + step/2
		if at < from || at >= to {
			continue
		}
		b := &buckets[(at-from)*int64(len(buckets))/(to-from)]
		for i, n := range c {
			b[i] += n
		}
	}
}
