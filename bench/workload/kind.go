package workload

import "fmt"

// Namespaces is how many namespaces the objects are spread over, in equal parts
// and in order.
const Namespaces = 50

// Variants is how many renderings of each kind differ in more than identity.
const Variants = 8

// Kind is a kind of object that the server can send.
type Kind struct {
	Plural     string // as it is in the URL
	APIVersion string
	Kind       string
	Custom     bool // a custom resource: no protobuf, and items of a list name their kind

	object func(variant int) rendered
}

// Kinds are all there are.
var Kinds = []Kind{
	{Plural: "pods", APIVersion: "v1", Kind: "Pod", object: pod},
	{Plural: "configmaps", APIVersion: "v1", Kind: "ConfigMap", object: configMap},
	{Plural: "widgets", APIVersion: CustomAPIVersion, Kind: "Widget", Custom: true, object: widget},
	{Plural: "blobs", APIVersion: CustomAPIVersion, Kind: "Blob", Custom: true, object: blob},
}

// CustomAPIVersion is that of the custom resources.
const CustomAPIVersion = "bench.listwatch.dev/v1"

// ByPlural returns the kind of that plural.
func ByPlural(plural string) (Kind, error) {
	for _, k := range Kinds {
		if k.Plural == plural {
			return k, nil
		}
	}
	return Kind{}, fmt.Errorf("no kind %q", plural)
}

// Path returns the URL path of the collection; all namespaces where it is empty.
func (k Kind) Path(namespace string) string {
	p := "/api/v1"
	if k.Custom {
		p = "/apis/" + k.APIVersion
	}
	if namespace != "" {
		p += "/namespaces/" + namespace
	}
	return p + "/" + k.Plural
}

// Namespace returns the namespace of object number i of n.
func Namespace(i, n int) string { return NamespaceName(i * Namespaces / n) }

// NamespaceName returns the name of the j-th namespace.
func NamespaceName(j int) string { return fmt.Sprintf("team-%02d", j) }

// Form is how objects are written.
type Form struct {
	Proto   bool // protobuf instead of JSON
	Partial bool // metadata only, as PartialObjectMetadata
}

// Templates renders the variants of a kind.
func (k Kind) Templates(f Form) ([]Template, error) {
	if f.Proto && k.Custom && !f.Partial {
		return nil, fmt.Errorf("%s has no protobuf", k.Plural)
	}
	out := make([]Template, Variants)
	for v := range out {
		b, err := k.object(v).marshal(f)
		if err != nil {
			return nil, fmt.Errorf("render %s: %w", k.Plural, err)
		}
		out[v] = newTemplate(b)
	}
	return out, nil
}
