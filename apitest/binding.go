package apitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// binding is the body that a scheduler sends.
type binding struct {
	Kind, APIVersion string
	Metadata         struct {
		Name                string
		UID                 string
		ResourceVersion     string
		Labels, Annotations map[string]string
	}
	Target struct{ Kind, Name string }
}

// bind handles the request to run a pod on a node. See
// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/binding-v1/.
func (s *Server) bind(x *Exchange, w http.ResponseWriter) *kube.Status {
	var b binding
	opts, st := readAction(x, "Binding", "v1", &b)
	if st != nil {
		return st
	}
	key := x.target.key
	switch {
	case key.Name == "":
		key.Name = b.Metadata.Name
	case key.Name != b.Metadata.Name:
		return wire.BadRequest("name in URL does not match name in Binding object")
	}
	switch {
	case b.Target.Kind != "" && b.Target.Kind != "Node":
		return wire.Raw("target.kind: Unsupported value: %q: supported values: \"Node\", \"<empty>\"", b.Target.Kind)
	case b.Target.Name == "":
		return wire.Raw("target.name: Required value")
	}
	s.store.Lock()
	defer s.store.Unlock()
	pods := s.store.Table(kube.Pods)
	old := pods.Get(key)
	if old == nil {
		return wire.NotFound(kube.Pods, key.Name)
	}
	if st := b.fits(old); st != nil {
		return st
	}
	if !opts.dry {
		s.store.Commit(pods, key, b.bound(old))
	}
	wire.WriteStatus(w, &kube.Status{Code: http.StatusCreated})
	return nil
}

// fits returns why the pod cannot be bound.
func (b *binding) fits(pod *object.Object) *kube.Status {
	name := pod.Key.Name
	conflict := func(format string, args ...any) *kube.Status {
		return wire.Conflict(kube.Resource{Plural: "pods/binding"}, name, fmt.Sprintf(format, args...))
	}
	m := b.Metadata
	switch {
	case m.UID != "" && m.UID != pod.Meta.UID:
		return conflict("Precondition failed: UID in precondition: %s, UID in object meta: %s", m.UID, pod.Meta.UID)
	case m.ResourceVersion != "" && m.ResourceVersion != pod.Meta.ResourceVersion:
		return conflict("Precondition failed: ResourceVersion in precondition: %s, ResourceVersion in object meta: %s", m.ResourceVersion, pod.Meta.ResourceVersion)
	case pod.Meta.DeletionTimestamp != "":
		return conflict("pod %s is being deleted, cannot be assigned to a host", name)
	case pod.FieldText("spec.nodeName") != "":
		return conflict("pod %s is already assigned to node %q", name, pod.FieldText("spec.nodeName"))
	}
	if gates, _ := pod.Lookup("spec.schedulingGates").([]any); len(gates) > 0 {
		return conflict("pod %s has non-empty .spec.schedulingGates", name)
	}
	return nil
}

// bound returns the pod with its node.
func (b *binding) bound(pod *object.Object) *object.Object {
	o := &object.Object{Key: pod.Key, Meta: pod.Meta, Fields: pod.Fields}
	spec, _ := o.Field("spec")
	o.SetField("spec", object.SetAt(spec, "nodeName", b.Target.Name), true)
	o.Meta.Labels = with(o.Meta.Labels, b.Metadata.Labels)
	o.Meta.Annotations = with(o.Meta.Annotations, b.Metadata.Annotations)
	status, _ := o.Field("status")
	var list struct{ Conditions []map[string]any }
	columns.DecodeLenient(status, &list)
	scheduled := map[string]any{"type": "PodScheduled", "status": "True", "lastProbeTime": nil, "lastTransitionTime": object.Timestamp()}
	found := false
	for i, c := range list.Conditions {
		if c["type"] == "PodScheduled" {
			list.Conditions[i], found = scheduled, true
		}
	}
	if !found {
		list.Conditions = append(list.Conditions, scheduled)
	}
	o.SetField("status", object.SetAt(status, "conditions", list.Conditions), true)
	return o
}

// with returns m and more merged; it changes neither.
func with(m, more map[string]string) map[string]string {
	if len(more) == 0 {
		return m
	}
	all := make(map[string]string, len(m)+len(more))
	maps.Copy(all, m)
	maps.Copy(all, more)
	return all
}

// readAction reads the body of a create that stores nothing: an object of kind and
// apiVersion, or of a beta version of the same group, into v.
func readAction(x *Exchange, kind, apiVersion string, v any) (opts writeOptions, st *kube.Status) {
	if opts, st = parseWriteOptions(x, "CreateOptions", wire.TypeJSON); st != nil {
		return opts, st
	}
	p, st := readBody(x, wire.TypeJSON, wire.TypeYAML)
	if st != nil {
		return opts, st
	}
	var head struct{ Kind, APIVersion string }
	if err := json.Unmarshal(p.json, &head); err != nil {
		return opts, wire.BadRequest("the object provided is unrecognized (must be of type %s): couldn't get version/kind; json parse error: %v (%s)", kind, err, wire.Summary(p.json))
	}
	version := apiVersion[len(apiVersion)-2:]
	switch {
	case head.Kind != "" && head.Kind != kind:
		return opts, wire.BadRequest("%s in version %q cannot be handled as a %s: converting (%s.%s) to (core.%s): unknown conversion", head.Kind, version, kind, version, head.Kind, kind)
	}
	if err := json.Unmarshal(p.json, v); err != nil {
		return opts, wire.BadRequest("%s in version %q cannot be handled as a %s: %v", kind, version, kind, err)
	}
	b, st := x.srv.admitAction(x, opts.dry, p.json)
	if st != nil {
		return opts, st
	}
	reflect.ValueOf(v).Elem().SetZero()
	if err := json.Unmarshal(b, v); err != nil {
		return opts, wire.Internal(err.Error())
	}
	return opts, nil
}
