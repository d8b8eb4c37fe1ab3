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
	Handlers  int
	Informers int
	Clients   []string
	Slow      []string // those that run once only, and hardly in quick runs
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
	"ours-partial":   {"ours", jsonForm + partialForm},
	"ours-struct8":   {"ours", jsonForm},
	"ours-typed":     {"typed", jsonForm},

	"ours-compressed":   {"ours", jsonForm},
	"ours-raw-warm":     {"ours", jsonForm},
	"ours-struct8-warm": {"ours", jsonForm},

	"ours-controller-raw":     {"ours", jsonForm},
	"ours-controller-struct8": {"ours", jsonForm},

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

// million is the case that the server does not hold in memory, nor a quick run.
const million = "a million pods"

// reconciled is the case of controllers: a change that meets an earlier one of its
// object in the queue is merged with it.
const reconciled = "pods, 1,000 events a second, reconciled"

// cases returns what is run. In quick ones everything is a tenth as large.
func cases(quick bool) []benchCase {
	all := []benchCase{
		{
			Name: "pods", Kind: "pods", Objects: 30000, Events: 100000,
			Clients: []string{
				"floor", "floor-partial", "floor-protobuf", "ours-raw", "ours-compressed", "ours-partial", "ours-struct8",
				"clientgo-typed-protobuf", "clientgo-metadata", "controller-runtime-protobuf",
			},
			Slow: []string{"ours-typed", "clientgo-typed-json", "clientgo-dynamic", "controller-runtime-json"},
		},
		{
			Name: "pods, paged list", Kind: "pods", Objects: 30000, Events: 2000, Initial: probe.Paged,
			Clients: []string{"floor", "ours-raw", "ours-struct8", "clientgo-typed-protobuf", "controller-runtime-protobuf"},
			Slow:    []string{"clientgo-typed-json", "clientgo-dynamic"},
		},
		{
			Name: "pods, 1 handler", Kind: "pods", Objects: 3000, Events: 30000,
			Clients: []string{"ours-raw", "clientgo-typed-protobuf"},
		},
		{
			Name: "pods, 10 handlers", Kind: "pods", Objects: 3000, Events: 30000, Handlers: 10,
			Clients: []string{"ours-raw", "clientgo-typed-protobuf"},
		},
		{
			Name: "pods, 100 handlers", Kind: "pods", Objects: 3000, Events: 30000, Handlers: 100,
			Clients: []string{"ours-raw", "clientgo-typed-protobuf"},
		},
		{
			Name: "pods, 50 informers", Kind: "pods", Objects: 30000, Events: 30000, Informers: 50,
			Clients: []string{"floor", "ours-raw", "ours-struct8", "clientgo-typed-protobuf", "controller-runtime-protobuf"},
			Slow:    []string{"clientgo-typed-json"},
		},
		{
			Name: "pods, 1,000 events a second", Kind: "pods", Objects: 3000, Events: 3000, Rate: 1000,
			Clients: []string{"ours-raw", "ours-struct8", "clientgo-typed-json", "clientgo-typed-protobuf"},
		},
		{
			Name: reconciled, Kind: "pods", Objects: 3000, Events: 3000, Rate: 1000,
			Clients: []string{"ours-controller-raw", "ours-controller-struct8", "controller-runtime-reconciler-json", "controller-runtime-reconciler-protobuf"},
		},
		{
			Name: "custom resources of 1 KB", Kind: "widgets", Objects: 30000, Events: 50000,
			Clients: []string{"floor", "ours-raw"},
			Slow:    []string{"clientgo-dynamic", "controller-runtime-unstructured"},
		},
		{
			Name: "custom resources of 200 KB", Kind: "blobs", Objects: 500, Events: 500,
			Clients: []string{"floor", "ours-raw"},
			Slow:    []string{"clientgo-dynamic", "controller-runtime-unstructured"},
		},
		{
			Name: "100,000 config maps", Kind: "configmaps", Objects: 100000, Events: 30000,
			Clients: []string{"floor", "ours-raw", "ours-typed", "clientgo-typed-protobuf", "controller-runtime-protobuf"},
			Slow:    []string{"clientgo-typed-json"},
		},
		{
			Name: "restart, streamed", Kind: "pods", Objects: 30000, Events: 2000,
			Clients: []string{"ours-raw", "ours-raw-warm", "ours-struct8", "ours-struct8-warm", "clientgo-typed-protobuf"},
		},
		{
			Name: "restart, paged list", Kind: "pods", Objects: 30000, Events: 2000, Initial: probe.Paged,
			Clients: []string{"ours-raw", "ours-raw-warm", "ours-struct8", "ours-struct8-warm", "clientgo-typed-protobuf"},
			Slow:    []string{"clientgo-typed-json"},
		},
		{Name: "10,000 pods", Kind: "pods", Objects: 10000, Events: 50000, Clients: []string{"ours-raw", "clientgo-typed-protobuf"}},
		{Name: "100,000 pods", Kind: "pods", Objects: 100000, Events: 50000, Clients: []string{"ours-raw"}, Slow: []string{"clientgo-typed-protobuf"}},
		{Name: "300,000 pods", Kind: "pods", Objects: 300000, Events: 50000, Slow: []string{"ours-raw", "clientgo-typed-protobuf"}},
		{Name: million, Kind: "pods", Objects: 1_000_000, Events: 20000, Slow: []string{"ours-compressed"}},
	}
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
			c.Objects, c.Events = c.Objects/10, c.Events/10
			if i == 0 {
				c.Slow = c.Slow[:2] // ours-typed and what it is held against
			} else if len(c.Clients) > 0 {
				c.Slow = nil
			}
		}
	}
	return all
}
