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

// Kind is the definition of a built-in resource. A field that is nil or empty means the
// behaviour of most resources.
type Kind struct {
	Info object.Info

	// Defaults sets the defaults that kube-apiserver sets when it decodes an object: see
	// [SetDefaults].
	Defaults func(d *rules.Defaults, o map[string]any)

	// Assign sets the members that kube-apiserver adds later: see [Assign].
	Assign func(d *rules.Defaults, o, old map[string]any, taken func(any) bool)

	// Validate checks an object as kube-apiserver does: see [Validate].
	Validate func(r *rules.Refusals, o, old map[string]any)

	// Status is the status of every new object, as JSON: mostly numbers that Go encodes even
	// if they are 0. NewStatus returns one that depends on the object.
	Status    string
	NewStatus func(o map[string]any) map[string]any

	// Zero is the JSON of a zero Go value without apiVersion, kind and metadata, as a
	// bookmark has it.
	Zero string

	Printer  columns.Printer
	Strategy Strategy
}

// id identifies a resource in all its versions.
type id struct{ group, plural string }

// catalog holds the kinds. It is immutable, so all servers of a process share it.
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

// nothingKnown is the kind of resources that are not built in.
var nothingKnown Kind

// kindOf returns the kind of res, or nothingKnown.
func kindOf(res kube.Resource) *Kind {
	if k := catalog().byID[id{res.Group, res.Plural}]; k != nil {
		return k
	}
	return &nothingKnown
}

// All returns the resources that every server serves from the start.
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

// SetDefaults sets the members that kube-apiserver 1.37 sets by code, not by schema, when it
// decodes an object of a built-in type, in every write: the defaults of the API, and
// conversions such as that of a Secret's stringData. Members that are set do not change, and a
// second call changes nothing. Values have the types of package schema; o must have been
// decoded as its type.
//
// The writer of an object owns these members in managedFields; those of Assign have no owner.
func SetDefaults(res kube.Resource, o map[string]any) (changed bool) {
	f := kindOf(res).Defaults
	if f == nil {
		return false
	}
	var d rules.Defaults
	f(&d, o)
	return d.Changed
}

// Assign sets the members that kube-apiserver adds after it has updated managedFields: by
// admission plugins that are enabled by default, and before it stores an object. o has a
// built-in type, its defaults, its name and its UID; old is nil for a create. taken reports
// whether an address (a string) or a port (an int64) belongs to another Service. Members that
// are set do not change, and a second call changes nothing.
//
// Assign does not add what only controllers of a real cluster remove: the finalizers of
// volumes and claims, and the taint of new nodes. Nor does it set the service account of a
// pod: the real plugin refuses pods in a namespace without one, which a controller creates.
func Assign(res kube.Resource, o, old map[string]any, taken func(any) bool) (changed bool) {
	f := kindOf(res).Assign
	if f == nil {
		return false
	}
	var d rules.Defaults
	f(&d, o, old, taken)
	return d.Changed
}

// Validate returns the causes for which kube-apiserver 1.37 would refuse o, in its words. It
// checks what users meet most often: required fields, names, labels, ports, keys, selectors
// that do not match, and immutable fields. o has a built-in type and its defaults; old is nil
// for a create. The real server may refuse an object for which Validate returns no cause.
func Validate(res kube.Resource, o, old map[string]any) []kube.StatusCause {
	var r rules.Refusals
	r.Metadata(res, rules.ObjectAt(o, "metadata"))
	if f := kindOf(res).Validate; f != nil {
		f(&r, o, old)
	}
	return r.Causes
}

// NewStatus returns the status that kube-apiserver sets in a new object of res, a built-in
// type; nil = none. o must have its defaults.
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

// ZeroStatus returns the status that all new objects of res have in common; "" if they differ
// or have none.
func ZeroStatus(res kube.Resource) string { return kindOf(res).Status }

// Zero returns an empty object of r.
func Zero(r *object.Info) *object.Object {
	o := &object.Object{}
	if !r.BuiltIn {
		return o
	}
	ms, err := object.Members([]byte("{" + kindOf(r.Resource).Zero + "}"))
	if err != nil {
		panic(err) // the JSON is a constant of this package
	}
	o.Fields = ms
	return o
}

// PrinterOf returns the printer of r: that of the kind for a built-in resource, the columns of
// the definition for a custom one.
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

// Named returns a namespaced resource of version v1.
func Named(group, plural, kind string) kube.Resource {
	return kube.Resource{Group: group, Version: "v1", Plural: plural, Kind: kind, Namespaced: true}
}

// cluster returns a cluster scoped resource of version v1.
func cluster(group, plural, kind string) kube.Resource {
	return kube.Resource{Group: group, Version: "v1", Plural: plural, Kind: kind}
}

// Complete returns r with its defaults. For a built-in resource without further fields these
// are the definition of its kind.
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

// Subresources that return the whole object, and change only a part of it.
const (
	EphemeralContainers = "ephemeralcontainers"
	Resize              = "resize"
	Approval            = "approval"
)
