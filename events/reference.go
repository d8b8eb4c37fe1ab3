package events

import (
	"strings"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/uid"
	"github.com/listwatch/listwatch/kube"
)

// Reference names the object that an Event is about. [About] makes one from an object;
// use a literal where you do not have the object.
type Reference struct {
	Kind            string `json:"kind"`
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name"`
	UID             string `json:"uid,omitempty"` // kubectl describe selects Events by it
	APIVersion      string `json:"apiVersion,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	FieldPath       string `json:"fieldPath,omitempty"` // the part of the object, such as spec.containers{web}
}

// About returns a reference to o, an object of r. If o has no method GetUID() string, as
// types of k8s.io/api, the UID is read from its JSON, which takes longer. For a nil
// object it returns an empty Reference, which Eventf drops.
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
	if id, ok := uid.Of(&o); ok {
		return id
	}
	b, err := codec.Encode(o)
	if err != nil {
		return ""
	}
	id, _ := codec.Skim(b)
	return id.UID
}

// Field returns a reference to a part of the same object.
func (r Reference) Field(path string) Reference {
	r.FieldPath = path
	return r
}

// object returns r without the members that differ between Events about one object.
func (r Reference) object() Reference {
	r.ResourceVersion, r.FieldPath = "", ""
	return r
}

// clone returns a copy that does not keep the whole object in memory: the strings of a
// codec.Raw are parts of its JSON.
func (r Reference) clone() Reference {
	for _, s := range []*string{&r.Kind, &r.Namespace, &r.Name, &r.UID, &r.APIVersion, &r.ResourceVersion, &r.FieldPath} {
		*s = strings.Clone(*s)
	}
	return r
}

// home returns the namespace of Events about r: default for cluster-scoped objects.
func (r Reference) home() string {
	if r.Namespace == "" {
		return "default"
	}
	return r.Namespace
}

// String returns kind, namespace and name, for log lines.
func (r Reference) String() string {
	return r.Kind + " " + kube.Key{Namespace: r.Namespace, Name: r.Name}.String()
}
