package scenario

import (
	"slices"
	"time"
)

// Scenario is one story. It is a value, and can be run any number of times.
type Scenario struct {
	Name    string // such as "gone/in-stream"
	Layer   string // what misbehaves: tcp, http, frame, semantics
	Summary string // what the server does
	Correct string // what a correct client does about it

	// Limit is how long it takes at most, from the first request on, with a
	// client that follows the collection soon; one that does not, ends it earlier.
	Limit time.Duration

	// TLS: it is about HTTP/2, and so it is served by https, under a
	// certificate of its own. A client that speaks HTTP/1.1 does not exercise it.
	TLS bool

	objects int    // that exist at the beginning; 0 = 3
	before  []step // done before the first request can come; none of them waits
	steps   []step
}

// All returns every scenario, sorted by layer, from the wire up.
func All() []Scenario {
	return slices.Concat(tcp(), overHTTP(), frames(), lists(), streamed(), watches(), histories())
}

// find returns the scenario of that name.
func find(name string) (Scenario, bool) {
	all := All()
	i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		return Scenario{}, false
	}
	return all[i], true
}
