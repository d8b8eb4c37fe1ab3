package main

import (
	"slices"

	"github.com/listwatch/listwatch/bench/probe"
)

// benchCase is one workload and the clients that take it.
type benchCase struct {
	Name      string
	Kind      string
	Objects   int
	Events    int
	Rate      int
	Initial   string
	Transport string `json:",omitempty"` // between server and client; empty = probe.Plain
	Handlers  int
	Informers int
	Clients   []string
	Slow      []string // those that run once only, and hardly in quick runs

	SlowEvents int    `json:",omitempty"` // that slow clients get; 0 = as many as the others
	Group      string `json:",omitempty"` // cases of a group take turns, as clients do
}

// events is how many a client gets.
func (c benchCase) events(client string) int {
	if c.SlowEvents > 0 && slices.Contains(c.Slow, client) {
		return c.SlowEvents
	}
	return c.Events
}

// subject is a client: the program that it is in and the form that it asks for.
type subject struct{ program, accept string }

const (
	jsonForm    = "application/json"
	protoForm   = "application/vnd.kubernetes.protobuf"
	partialForm = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
)

var subjects = map[string]subject{
	"floor":          {"ours", jsonForm},
	"floor-partial":  {"ours", jsonForm + partialForm},
	"floor-protobuf": {"ours", protoForm},
	"ours-raw":       {"ours", jsonForm},
	"ours-partial":   {"ours", protoForm + partialForm},
	"ours-struct8":   {"ours", protoForm},
	"ours-typed":     {"typed", protoForm},

	"ours-partial-json": {"ours", jsonForm + partialForm},
	"ours-struct8-json": {"ours", jsonForm},
	"ours-typed-json":   {"typed", jsonForm},

	"ours-compressed":   {"ours", jsonForm},
	"ours-raw-warm":     {"ours", jsonForm},
	"ours-struct8-warm": {"ours", protoForm},

	"ours-controller-raw":     {"ours", jsonForm},
	"ours-controller-struct8": {"ours", protoForm},

	"controller-runtime-reconciler-json":     {"peers", jsonForm},
	"controller-runtime-reconciler-protobuf": {"peers", protoForm},

	"clientgo-typed-json":             {"peers", jsonForm},
	"clientgo-typed-protobuf":         {"peers", protoForm},
	"clientgo-dynamic":                {"peers", jsonForm},
	"clientgo-metadata":               {"peers", protoForm + partialForm},
	"controller-runtime-json":         {"peers", jsonForm},
	"controller-runtime-protobuf":     {"peers", protoForm},
	"controller-runtime-unstructured": {"peers", jsonForm},
}

// overTLS is the case of the transport that clusters have.
const overTLS = "pods, HTTP/2 over TLS"

// growth is the group of the cases that differ only in the number of objects.
const growth = "growth"

// million is the case that the server does not hold in memory, nor a quick run.
const million = "a million pods"

// reconciled is the case of controllers: a change that meets an earlier one of its
// object in the queue is merged with it.
const reconciled = "pods, 1,000 events a second, reconciled"

// cases returns what is run. In quick ones everything is a tenth as large.
func cases(quick bool) []benchCase {
	all := []benchCase{
		{
			Name: "pods", Kind: "pods", Objects: 30000, Events: 50000, SlowEvents: 10000,
			Clients: []string{
				"floor", "floor-partial", "floor-protobuf", "ours-raw", "ours-compressed", "ours-partial", "ours-struct8",
				"ours-struct8-json", "ours-typed", "clientgo-typed-protobuf", "clientgo-metadata",
			},
			Slow: []string{"clientgo-typed-json", "ours-typed-json", "ours-partial-json", "clientgo-dynamic", "controller-runtime-protobuf"},
		},
		{
			Name: "pods, paged list", Kind: "pods", Objects: 30000, Events: 2000, Initial: probe.Paged,
			Clients: []string{"floor", "ours-raw", "ours-struct8"},
			Slow:    []string{"clientgo-typed-protobuf", "controller-runtime-protobuf", "clientgo-typed-json"},
		},
		{
			Name: "pods, 1 handler", Kind: "pods", Group: "handlers", Objects: 3000, Events: 30000,
			Clients: []string{"ours-raw"}, Slow: []string{"clientgo-typed-protobuf"},
		},
		{
			Name: "pods, 10 handlers", Kind: "pods", Group: "handlers", Objects: 3000, Events: 30000, Handlers: 10,
			Clients: []string{"ours-raw"}, Slow: []string{"clientgo-typed-protobuf"},
		},
		{
			Name: "pods, 100 handlers", Kind: "pods", Group: "handlers", Objects: 3000, Events: 30000, Handlers: 100,
			Clients: []string{"ours-raw"}, Slow: []string{"clientgo-typed-protobuf"},
		},
		{
			Name: "pods, 50 informers", Kind: "pods", Objects: 30000, Events: 30000, Informers: 50,
			Clients: []string{"floor", "ours-raw", "ours-struct8"},
			Slow:    []string{"clientgo-typed-protobuf", "controller-runtime-protobuf"},
		},
		{
			Name: "pods, 1,000 events a second", Kind: "pods", Objects: 3000, Events: 3000, Rate: 1000,
			Clients: []string{"floor", "ours-raw", "ours-struct8", "clientgo-typed-protobuf"}, Slow: []string{"clientgo-typed-json"},
		},
		{
			Name: reconciled, Kind: "pods", Objects: 3000, Events: 3000, Rate: 1000,
			Clients: []string{"floor", "ours-controller-raw", "ours-controller-struct8", "controller-runtime-reconciler-protobuf"},
			Slow:    []string{"controller-runtime-reconciler-json"},
		},
		{
			Name: "custom resources of 1 KB", Kind: "widgets", Objects: 30000, Events: 50000, SlowEvents: 20000,
			Clients: []string{"floor", "ours-raw"},
			Slow:    []string{"clientgo-dynamic", "controller-runtime-unstructured"},
		},
		{
			Name: "custom resources of 200 KB", Kind: "blobs", Objects: 500, Events: 500, SlowEvents: 100,
			Clients: []string{"floor", "ours-raw"},
			Slow:    []string{"clientgo-dynamic", "controller-runtime-unstructured"},
		},
		{
			Name: "100,000 config maps", Kind: "configmaps", Objects: 100000, Events: 30000,
			Clients: []string{"floor", "ours-raw"},
			Slow:    []string{"ours-typed", "clientgo-typed-protobuf", "controller-runtime-protobuf"},
		},
		{
			Name: "restart, streamed", Kind: "pods", Objects: 30000, Events: 2000,
			Clients: []string{"ours-raw", "ours-raw-warm", "ours-struct8", "ours-struct8-warm"},
			Slow:    []string{"clientgo-typed-protobuf"},
		},
		{
			Name: "restart, paged list", Kind: "pods", Objects: 30000, Events: 2000, Initial: probe.Paged,
			Clients: []string{"ours-raw", "ours-raw-warm", "ours-struct8", "ours-struct8-warm"},
			Slow:    []string{"clientgo-typed-protobuf", "clientgo-typed-json"},
		},
		{Name: million, Kind: "pods", Objects: 1_000_000, Events: 20000, Slow: []string{"ours-compressed"}},
	}
	all = slices.Concat(all[:2], tlsCases(), all[2:len(all)-1], growthCases(), all[len(all)-1:])
	if quick {
		all = slices.DeleteFunc(all, func(c benchCase) bool { return c.Name == million })
	}
	for i := range all {
		c := &all[i]
		c.Handlers, c.Informers = max(1, c.Handlers), max(1, c.Informers)
		if c.Initial == "" {
			c.Initial = probe.Stream
		}
		if quick {
			c.Objects, c.Events, c.SlowEvents = c.Objects/10, c.Events/10, c.SlowEvents/10
			if i == 0 {
				c.Slow = c.Slow[:1] // what ours is held against
			} else {
				c.Slow = slices.DeleteFunc(c.Slow, func(name string) bool { return subjects[name].accept == jsonForm && name != "ours-typed" })
			}
		}
	}
	return all
}

// tlsCases are that of pods over the transports of clusters.
func tlsCases() []benchCase {
	return []benchCase{
		{
			Name: overTLS, Kind: "pods", Objects: 30000, Events: 50000, SlowEvents: 10000, Transport: probe.HTTP2,
			Clients: []string{"floor", "floor-protobuf", "ours-raw", "ours-partial", "ours-struct8", "clientgo-typed-protobuf"},
			Slow:    []string{"ours-typed", "ours-struct8-json", "clientgo-typed-json", "clientgo-metadata"},
		},
		{
			Name: "pods, HTTP/1.1 over TLS", Kind: "pods", Objects: 30000, Events: 50000, SlowEvents: 10000, Transport: probe.HTTP1,
			Clients: []string{"floor", "ours-raw", "ours-struct8", "clientgo-typed-protobuf"},
			Slow:    []string{"clientgo-typed-json"},
		},
	}
}

// growthCases differ only in the number of objects.
func growthCases() (all []benchCase) {
	for _, c := range []benchCase{{Name: "1,000 pods", Objects: 1000}, {Name: "10,000 pods", Objects: 10000}, {Name: "100,000 pods", Objects: 100000}, {Name: "300,000 pods", Objects: 300000}} {
		c.Kind, c.Group, c.Events, c.SlowEvents = "pods", growth, 50000, 20000
		c.Clients, c.Slow = []string{"ours-raw", "ours-struct8"}, []string{"clientgo-typed-protobuf"}
		all = append(all, c)
	}
	return all
}

// groups puts together the cases that take turns.
func groups(all []benchCase) (out [][]benchCase) {
	for _, c := range all {
		if last := len(out) - 1; last >= 0 && c.Group != "" && out[last][0].Group == c.Group {
			out[last] = append(out[last], c)
			continue
		}
		out = append(out, []benchCase{c})
	}
	return out
}
