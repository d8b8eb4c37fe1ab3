package events

import (
	"strings"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// Reference says what an Event is about. [About] makes one of an object; a literal
// does where there is none at hand.
type Reference struct {
	Kind            string `json:"kind"`
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name"`
	UID             string `json:"uid,omitempty"` // kubectl describe asks for the Events of it
	APIVersion      string `json:"apiVersion,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	FieldPath       string `json:"fieldPath,omitempty"` // the part of the object, such as spec.containers{web}
}

// About refers to o, an object of r. Where o has no GetUID that returns a string,
// as in k8s.io/api, the UID is looked up in its JSON, which takes longer. Of what is
// no object, such as nil, it is an empty Reference, which Eventf does not take.
func About(r kube.Resource, o kube.Object) (ref Reference) {
	defer func() {
		if recover() != nil { // a nil pointer
			ref = Reference{}
		}
	}()
	ref = Reference{
		Kind: r.Kind, APIVersion: r.APIVersion(),
		Name: o.GetName(), ResourceVersion: o.GetResourceVersion(), UID: uidOf(o),
	}
	if r.Namespaced {
		ref.Namespace = o.GetNamespace()
	}
	return ref
}

func uidOf(o kube.Object) string {
	if u, ok := o.(interface{ GetUID() string }); ok {
		return u.GetUID()
	}
	b, err := codec.Encode(o)
	if err != nil {
		return ""
	}
	id, _ := codec.Skim(b)
	return id.UID
}

// Field refers to a part of the same object.
func (r Reference) Field(path string) Reference {
	r.FieldPath = path
	return r
}

// object is r without what differs between two Events about one object.
func (r Reference) object() Reference {
	r.ResourceVersion, r.FieldPath = "", ""
	return r
}

// clone returns a copy that is kept without what its texts may be parts of: those of
// a codec.Raw are parts of the whole object.
func (r Reference) clone() Reference {
	for _, s := range []*string{&r.Kind, &r.Namespace, &r.Name, &r.UID, &r.APIVersion, &r.ResourceVersion, &r.FieldPath} {
		*s = strings.Clone(*s)
	}
	return r
}

// home is the namespace of Events about it: a cluster scoped object has none.
func (r Reference) home() string {
	if r.Namespace == "" {
		return "default"
	}
	return r.Namespace
}

// String names it in a log line.
func (r Reference) String() string {
	return r.Kind + " " + kube.Key{Namespace: r.Namespace, Name: r.Name}.String()
}
