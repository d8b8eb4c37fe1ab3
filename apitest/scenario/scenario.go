package scenario

import (
	"slices"
	"time"
)

// Scenario is one scenario. It is a value, and can be run any number of times.
type Scenario struct {
	Name    string // such as "gone/in-stream"
	Layer   string // the misbehaving layer: tcp, http, frame, semantics
	Summary string // what the server does
	Correct string // the reaction of a correct client

	// Limit is the longest duration, from the first request on, with a client that
	// follows the collection soon; otherwise it ends earlier.
	Limit time.Duration

	// TLS: it is about HTTP/2, and is therefore served by https, with its own
	// certificate. A client that uses HTTP/1.1 does not exercise it.
	TLS bool

	objects int    // initial objects; 0 = 3
	before  []step // done before the first request; none of them waits
	steps   []step
}

// All returns every scenario, sorted by layer, from the wire up.
func All() []Scenario {
	return slices.Concat(tcp(), overHTTP(), frames(), lists(), streamed(), watches(), histories())
}

// find returns the scenario with that name.
func find(name string) (Scenario, bool) {
	all := All()
	i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		return Scenario{}, false
	}
	return all[i], true
}
