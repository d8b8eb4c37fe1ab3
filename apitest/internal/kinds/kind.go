package kinds

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/kube"
)

// Kind is all that the server knows of a built-in resource. What is nil or empty is
// nothing special.
type Kind struct {
	Info object.Info

	// Defaults fills in what kube-apiserver fills in when it decodes an object: see
	// [SetDefaults].
	Defaults func(d *rules.Defaults, o map[string]any)

	// Assign fills in what it adds later: see [Assign].
	Assign func(d *rules.Defaults, o, old map[string]any, taken func(any) bool)

	// Validate refuses what it refuses: see [Validate].
	Validate func(r *rules.Refusals, o, old map[string]any)

	// Status is that of every new object, as JSON: mostly numbers that Go does not leave
	// out. NewStatus returns one that depends on the object.
	Status    string
	NewStatus func(o map[string]any) map[string]any

	// Zero has the members, besides the head, of a new Go value, in JSON: what a bookmark
	// has.
	Zero string

	Printer  columns.Printer
	Strategy Strategy
}

// id names a resource in whatever version.
type id struct{ group, plural string }

// catalog has the kinds. Nothing in it changes, so all servers of a process share it.
var catalog = sync.OnceValue(func() (c struct {
	list []Kind
	byID map[id]*Kind
}) {
	c.list = slices.Concat(
		dataKinds(), eventKinds(), namespaceKinds(), nodeKinds(), podKinds(), serviceKinds(), volumeKinds(), workloadKinds(),
		admissionKinds(), apiextensionsKinds(), apiregistrationKinds(), appsKinds(), autoscalingKinds(), batchKinds(), certificatesKinds(), coordinationKinds(),
		deviceKinds(), discoveryKinds(), flowcontrolKinds(), migrationKinds(), networkingKinds(), policyKinds(), rbacKinds(), runtimeKinds(),
		schedulingKinds(), storageKinds(), reviewKinds())
	c.byID = make(map[id]*Kind)
	for i := range c.list {
		k := &c.list[i]
		k.Info.BuiltIn = true
		c.byID[id{k.Info.Group, k.Info.Plural}] = k
	}
	return c
})

// nothingKnown is the kind of what is not built in.
var nothingKnown Kind

// kindOf returns the kind of res, one of which nothing is known where there is none.
func kindOf(res kube.Resource) *Kind {
	if k := catalog().byID[id{res.Group, res.Plural}]; k != nil {
		return k
	}
	return &nothingKnown
}

// All returns the resources that every server knows from the start.
func All() []object.Info {
	var list []object.Info
	for _, k := range catalog().list {
		list = append(list, k.Info)
	}
	return list
}

// workloadScale says where workloads have what their scale subresource shows.
func workloadScale() *object.Scale {
	return &object.Scale{SpecReplicas: "spec.replicas", StatusReplicas: "status.replicas", Selector: "spec.selector"}
}

// SetDefaults fills in what kube-apiserver 1.37 fills in by code, not by schema,
// when it decodes an object of its own types, in whatever write: the defaults of
// the API, and values in another writing, such as a Secret's stringData. What is
// set stays as it is, and a second call changes nothing. Values are those of
// package schema; o must have been read as its type.
//
// Who writes an object owns these fields; those of Assign belong to nobody.
func SetDefaults(res kube.Resource, o map[string]any) (changed bool) {
	f := kindOf(res).Defaults
	if f == nil {
		return false
	}
	var d rules.Defaults
	f(&d, o)
	return d.Changed
}

// Assign fills in what kube-apiserver adds after it has noted in managedFields who
// wrote what: by admission plugins that are on by default, and before it stores an
// object. o, of a built-in type, has its defaults, its name and its UID; old is nil
// on a create. taken reports whether an address, a string, or a port, an int64,
// belongs to another Service. What is set stays as it is, and a second call
// changes nothing.
//
// Assign leaves out what only controllers of a real cluster can remove: the finalizers of
// volumes and claims, and the taint of new nodes. It also gives a pod no service account:
// the server's plugin refuses pods in a namespace without one, and a controller creates it.
func Assign(res kube.Resource, o, old map[string]any, taken func(any) bool) (changed bool) {
	f := kindOf(res).Assign
	if f == nil {
		return false
	}
	var d rules.Defaults
	f(&d, o, old, taken)
	return d.Changed
}

// Validate says what kube-apiserver 1.37 would refuse o for, of what users
// meet most, in its words: fields that are required, names, labels, ports, keys,
// selectors that do not fit, and what may not change. o is an object of one of the
// server's own types, with its defaults; old is nil on a create. No causes do not
// mean that the real server would take it.
func Validate(res kube.Resource, o, old map[string]any) []kube.StatusCause {
	var r rules.Refusals
	r.Metadata(res, rules.ObjectAt(o, "metadata"))
	if f := kindOf(res).Validate; f != nil {
		f(&r, o, old)
	}
	return r.Causes
}

// NewStatus returns the status that kube-apiserver gives a new object of res, one
// of its own types, once o has its defaults; nil where it gives none.
func NewStatus(res kube.Resource, o map[string]any) map[string]any {
	k := kindOf(res)
	switch {
	case k.NewStatus != nil:
		return k.NewStatus(o)
	case k.Status == "":
		return nil
	}
	return object.DecodeValue([]byte(k.Status))
}

// ZeroStatus is the status that is the same for all new objects of res, "" where it is
// not, or there is none.
func ZeroStatus(res kube.Resource) string { return kindOf(res).Status }

// Zero returns an object of r with nothing in it.
func Zero(r *object.Info) *object.Object {
	o := &object.Object{}
	if !r.BuiltIn {
		return o
	}
	ms, err := object.Members([]byte("{" + kindOf(r.Resource).Zero + "}"))
	if err != nil {
		panic(err) // it is ours
	}
	o.Fields = ms
	return o
}

// PrinterOf returns the printer of r: the server's own for what is built in, the
// columns of the definition for custom resources.
func PrinterOf(r *object.Info) columns.Printer {
	if !r.BuiltIn {
		return columns.Custom(r)
	}
	if p := kindOf(r.Resource).Printer; p.Cells != nil {
		return p
	}
	return columns.CreatedAt
}

func core(plural, kind string) kube.Resource { return Named("", plural, kind) }

// Named returns a resource of version v1 whose objects have namespaces.
func Named(group, plural, kind string) kube.Resource {
	return kube.Resource{Group: group, Version: "v1", Plural: plural, Kind: kind, Namespaced: true}
}

// cluster returns a resource of version v1 whose objects have none.
func cluster(group, plural, kind string) kube.Resource {
	return kube.Resource{Group: group, Version: "v1", Plural: plural, Kind: kind}
}

// Complete returns r with its defaults; a built-in resource of which no more is said,
// with all that is known of it.
func Complete(r object.Info) object.Info {
	list := All()
	i := slices.IndexFunc(list, func(b object.Info) bool { return b.Resource == r.Resource })
	if i >= 0 && r.Singular == "" && r.ShortNames == nil && r.Categories == nil && r.Fields == nil && r.Columns == nil {
		r = list[i]
	}
	r.Singular = cmp.Or(r.Singular, strings.ToLower(r.Kind))
	r.Type = sync.OnceValue(func() *schema.Type { return object.TypeOf(&r) })
	return r
}

// Subresources that show the whole object, and may change a part of it only.
const (
	EphemeralContainers = "ephemeralcontainers"
	Resize              = "resize"
	Approval            = "approval"
)
