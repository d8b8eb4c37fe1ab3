// Package rates counts changes by time.
package rates

import "github.com/listwatch/listwatch/ui/internal/history"

// Counts are numbers of changes: added, modified, deleted.
type Counts [3]int64

// Add counts a change; a gap is none.
func (c *Counts) Add(op history.Op) {
	switch op {
	case history.Added:
		c[0]++
	case history.Modified:
		c[1]++
	case history.Deleted:
		c[2]++
	}
}

// Sum is the number of all changes.
func (c Counts) Sum() int64 { return c[0] + c[1] + c[2] }

// Rates are the numbers of changes in the last hours, by ten seconds.
type Rates map[int64]*Counts

const (
	step     = 10_000  // milliseconds of a bucket
	maxSteps = 6 * 360 // that are kept: six hours
	rateStep = 60_000  // of the rate of a type
	rateLen  = 30      // minutes
)

// Add counts a change at a time, in milliseconds since 1970.
func (r *Rates) Add(at int64, op history.Op) {
	if *r == nil {
		*r = Rates{}
	}
	b := (*r)[at/step]
	if b == nil {
		b = &Counts{}
		(*r)[at/step] = b
		if len(*r) > maxSteps {
			for s := range *r {
				if s < at/step-maxSteps {
					delete(*r, s)
				}
			}
		}
	}
	b.Add(op)
}

// PerMinute is how many changes each of the last 30 minutes had, the oldest first.
func (r Rates) PerMinute(at int64) []int64 {
	out := make([]int64, rateLen)
	first := at/rateStep - rateLen + 1
	for s, c := range r {
		if i := s*step/rateStep - first; i >= 0 && i < rateLen {
			out[i] += c.Sum()
		}
	}
	return out
}

// Into adds what happened from one time to another to buckets of equal length. Nothing has happened
// after to. A step that several buckets have a part of is spread evenly.
func (r Rates) Into(buckets []Counts, from, to int64) {
	n := int64(len(buckets))
	for s, c := range r {
		begin, end := s*step, min((s+1)*step, to)
		var added Counts
		for at := begin; at < end; {
			var into Counts // what is before from is for no bucket
			b, next := &into, min(from, end)
			if at >= from {
				k := (at - from) * n / (to - from)
				b, next = &buckets[k], min(end, from+((k+1)*(to-from)+n-1)/n)
			}
			for i, all := range c {
				sum := (all*(next-begin) + (end-begin)/2) / (end - begin)
				b[i] += sum - added[i]
				added[i] = sum
			}
			at = next
		}
	}
}
