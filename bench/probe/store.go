package probe

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
