package lease

import (
	"fmt"
	"maps"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// record is the part of the spec of a Lease that replicas exchange. See
// https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/lease-v1/.
type record struct {
	Holder      string `json:"holderIdentity"` // "" = nobody
	Seconds     int    `json:"leaseDurationSeconds"`
	Transitions int    `json:"leaseTransitions"`

	// The times come from other clocks and are only compared for equality.
	Acquired string `json:"acquireTime"`
	Renewed  string `json:"renewTime"`
}

// micro is the API's form of a MicroTime: always six digits.
const micro = "2006-01-02T15:04:05.000000Z07:00"

func stamp(t time.Time) string { return t.UTC().Format(micro) }

// released reports whether the last holder released the Lease. A Lease without a holder
// whose duration is longer than a second is new, or somebody erased the holder, who may
// not have noticed.
func (r record) released() bool {
	return r.Holder == "" && r.Seconds == 1 && r.Renewed != ""
}

// object is a Lease as read from the server.
type object struct {
	tree     map[string]any // the whole object: unknown members are written back unchanged
	uid      string
	revision kube.Revision
	record   record
	mark     string // changes if the uid or anything in the spec changes
}

func parseObject(raw codec.Raw) (object, error) {
	o := object{uid: raw.GetUID(), revision: kube.Revision(raw.GetResourceVersion())}
	var known struct {
		Spec record `json:"spec"`
	}
	if err := raw.Decode(&known); err != nil {
		return object{}, err
	}
	if err := raw.Decode(&o.tree); err != nil {
		return object{}, err
	}
	spec, err := codec.Encode(o.tree["spec"])
	if err != nil {
		return object{}, err
	}
	o.record, o.mark = known.Spec, o.uid+" "+string(spec)
	return o, nil
}

// newObject returns a Lease that does not exist yet.
func newObject(k kube.Key) object {
	return object{tree: map[string]any{
		"apiVersion": kube.Leases.APIVersion(),
		"kind":       kube.Leases.Kind,
		"metadata":   map[string]any{"namespace": k.Namespace, "name": k.Name},
	}}
}

// annotation returns the value of an annotation, "" if there is none.
func (o object) annotation(name string) string {
	metadata, _ := o.tree["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	value, _ := annotations[name].(string)
	return value
}

// annotated returns the object with an annotation.
func (o object) annotated(name, value string) object {
	o.tree = maps.Clone(o.tree)
	member(member(o.tree, "metadata"), "annotations")[name] = value
	return o
}

// with returns the object with another record and more labels. All other members stay,
// such as the strategy and the preferred holder of coordinated elections.
func (o object) with(r record, labels map[string]string) (codec.Raw, error) {
	tree := maps.Clone(o.tree)
	spec := member(tree, "spec")
	spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"] = r.Holder, r.Seconds, r.Transitions
	for name, at := range map[string]string{"acquireTime": r.Acquired, "renewTime": r.Renewed} {
		if delete(spec, name); at != "" {
			spec[name] = at
		}
	}
	if len(labels) > 0 {
		has := member(member(tree, "metadata"), "labels")
		for name, value := range labels {
			has[name] = value
		}
	}
	b, err := codec.Encode(tree)
	if err != nil {
		return codec.Raw{}, fmt.Errorf("encode the Lease: %w", err)
	}
	return codec.ParseRaw(b)
}

// member replaces a map in tree by a copy, and returns the copy.
func member(tree map[string]any, name string) map[string]any {
	old, _ := tree[name].(map[string]any)
	fresh := maps.Clone(old)
	if fresh == nil {
		fresh = make(map[string]any)
	}
	tree[name] = fresh
	return fresh
}
