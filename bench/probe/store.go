package probe

import "slices"

// Contest is an operation of a store or a queue, ours beside client-go's, measured in one
// process in turns.
type Contest struct {
	What string // the operation
	Peer string // what client-go does for the same

	Ours, Theirs Side
}

// Side is what one side of a Contest did: medians of its turns.
type Side struct {
	Nanoseconds float64 // of processor time an operation; of many readers with the writer's
	Allocs      float64 // an operation
	Bytes       float64 // allocated an operation
	Reads       float64 `json:",omitempty"` // a second, of all readers together
	Writes      float64 `json:",omitempty"` // a second, meanwhile
	Keys        float64 `json:",omitempty"` // a second, through a queue
}

// Median returns the median of each number on its own.
func Median(sides []Side) Side {
	of := func(number func(Side) float64) float64 {
		var vs []float64
		for _, s := range sides {
			vs = append(vs, number(s))
		}
		slices.Sort(vs)
		return vs[len(vs)/2]
	}
	return Side{
		Nanoseconds: of(func(s Side) float64 { return s.Nanoseconds }),
		Allocs:      of(func(s Side) float64 { return s.Allocs }),
		Bytes:       of(func(s Side) float64 { return s.Bytes }),
		Reads:       of(func(s Side) float64 { return s.Reads }),
		Writes:      of(func(s Side) float64 { return s.Writes }),
		Keys:        of(func(s Side) float64 { return s.Keys }),
	}
}
