package kinds

import (
	"fmt"
	"slices"

	"github.com/listwatch/listwatch/kube"
)

// Validate says what kube-apiserver 1.37 would refuse o for, of what users
// meet most, in its words: fields that are required, names, labels, ports, keys,
// selectors that do not fit, and what may not change. o is an object of one of the
// server's own types, with its defaults; old is nil on a create. No causes do not
// mean that the real server would take it.
func Validate(res kube.Resource, o, old map[string]any) []kube.StatusCause {
	var r Refusals
	r.Metadata(res, ObjectAt(o, "metadata"))
	spec := ObjectAt(o, "spec")
	switch was := ObjectAt(old, "spec"); res.Plural {
	case "pods":
		if r.podSpec("spec", spec); old != nil {
			r.podUpdate(spec, was)
		}
	case "podtemplates":
		r.podSpec("template.spec", ObjectAt(ObjectAt(o, "template"), "spec"))
	case "deployments", "replicasets", "statefulsets", "daemonsets":
		r.workload(res, spec, was)
	case "replicationcontrollers":
		r.replicationController(spec)
	case "jobs":
		r.natural("spec", spec, "parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
		r.job(o, spec, was)
	case "cronjobs":
		r.cronJob(spec)
	case "services":
		r.service(spec, was)
	case "leases":
		r.lease(spec)
	case "nodes":
		for i, e := range ListAt(spec, "taints") {
			t, _ := e.(map[string]any)
			path := fmt.Sprintf("metadata.taints[%d]", i) // so it says
			r.each(path+".key", TextAt(t, "key"), qualifiedName(TextAt(t, "key")))
			r.oneOf(path, t, "effect", "NoSchedule", "PreferNoSchedule", "NoExecute")
		}
		if cidrs := ListAt(was, "podCIDRs"); len(cidrs) > 0 && !SameValue(cidrs, spec["podCIDRs"]) {
			r.add("FieldValueForbidden", "spec.podCIDRs", `Forbidden: node updates may not change podCIDR except from "" to valid`)
		}
	case "endpointslices":
		r.endpointSlice(o, old)
	case "storageclasses":
		r.storageClass(o, old)
	case "priorityclasses":
		r.priorityClass(o, old)
	case "configmaps":
		r.configMap(o, old)
	case "secrets":
		r.secret(o, old)
	case "persistentvolumeclaims":
		if Lacks(spec, "accessModes") {
			r.required("spec.accessModes", "at least 1 access mode is required")
		}
		if quantityOf(ObjectAt(ObjectAt(spec, "resources"), "requests"), "storage") == "" {
			r.required("spec.resources[storage]")
		}
	case "ingresses":
		if spec["defaultBackend"] == nil && Lacks(spec, "rules") {
			r.invalid("spec", nil, "either `defaultBackend` or `rules` must be specified")
		}
	case "horizontalpodautoscalers":
		r.autoscaler(spec)
	case "events":
		r.event(o)
	case "roles", "clusterroles":
		r.rules(res, o)
	case "mutatingwebhookconfigurations", "validatingwebhookconfigurations":
		r.webhooks(o)
	case "rolebindings", "clusterrolebindings":
		r.binding(res, o)
	}
	return r.Causes
}

const immutable = "field is immutable"

func (r *Refusals) service(spec, old map[string]any) {
	headless := spec["clusterIP"] == "None"
	ports := ListAt(spec, "ports")
	if len(ports) == 0 && !headless && spec["type"] != "ExternalName" {
		r.required("spec.ports")
	}
	if spec["type"] == "ExternalName" && (!Lacks(spec, "clusterIPs") || TextAt(spec, "clusterIP") != "") {
		r.add("FieldValueForbidden", "spec.clusterIPs", "Forbidden: may not be set for ExternalName services")
	}
	if spec["type"] == "ExternalName" && TextAt(spec, "externalName") == "" {
		r.required("spec.externalName")
	}
	names, served := make(map[string]bool), make(map[string]bool)
	for i, e := range ports {
		p, _ := e.(map[string]any)
		path := fmt.Sprintf("spec.ports[%d]", i)
		switch name := TextAt(p, "name"); {
		case name == "" && len(ports) > 1:
			r.required(path + ".name")
		case name == "":
		case names[name]:
			r.duplicate(path+".name", name)
		default:
			r.each(path+".name", name, labelName(name))
			names[name] = true
		}
		r.port(path+".port", p["port"])
		if p["port"] == nil {
			r.port(path+".port", int64(0))
		}
		r.oneOf(path, p, "protocol", "SCTP", "TCP", "UDP")
		r.port(path+".targetPort", p["targetPort"])
		if s, ok := p["targetPort"].(string); ok {
			r.each(path+".targetPort", s, portName(s))
		}
		id := fmt.Sprintf(`{"Name":"","Protocol":%q,"AppProtocol":null,"Port":%v,"TargetPort":0,"NodePort":0}`, TextAt(p, "protocol"), p["port"])
		if served[id] {
			r.add("FieldValueDuplicate", path, "Duplicate value: "+id)
		}
		served[id] = true
	}
	r.labels("spec.selector", ObjectAt(spec, "selector"))
	r.oneOf("spec", spec, "sessionAffinity", "ClientIP", "None")
	r.oneOf("spec", spec, "type", "ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
	if ip, was := spec["clusterIP"], TextAt(old, "clusterIP"); was != "" && ip != was && spec["type"] != "ExternalName" && old["type"] != "ExternalName" {
		r.invalid("spec.clusterIPs[0]", []any{ip}, "may not change once set")
	}
	if typ := TextAt(spec, "type"); headless && (typ == "NodePort" || typ == "LoadBalancer") {
		r.invalid("spec.clusterIPs[0]", "None", "may not be set to 'None' for "+typ+" services")
	}
}

// event refuses an Event elsewhere than what it is about. Those with an eventTime
// may be about what has no namespace.
func (r *Refusals) event(o map[string]any) {
	about, ns := TextAt(ObjectAt(o, "involvedObject"), "namespace"), TextAt(ObjectAt(o, "metadata"), "namespace")
	wrong := about != ns && !(about == "" && ns == "default")
	if t := TextAt(o, "eventTime"); t != "" {
		wrong = about == "" && ns != "default" && ns != "kube-system"
	}
	if wrong {
		r.invalid("involvedObject.namespace", about, "does not match event.namespace")
	}
}

func (r *Refusals) autoscaler(spec map[string]any) {
	most := IntAt(spec, "maxReplicas")
	if most < IntAt(spec, "minReplicas") {
		r.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
	}
	ref := ObjectAt(spec, "scaleTargetRef")
	for _, name := range [...]string{"kind", "name"} {
		if TextAt(ref, name) == "" {
			r.required("spec.scaleTargetRef." + name)
		}
	}
	if TextAt(ref, "apiVersion") == "" {
		r.invalid("spec.scaleTargetRef.apiVersion", "", "apiVersion must specify API group")
	}
	if most == 0 {
		r.required("spec.maxReplicas")
	}
}

func (r *Refusals) rules(res kube.Resource, o map[string]any) {
	for i, e := range ListAt(o, "rules") {
		rule, _ := e.(map[string]any)
		path := fmt.Sprintf("rules[%d]", i)
		if Lacks(rule, "verbs") {
			r.required(path + ".verbs")
		}
		switch urls := ListAt(rule, "nonResourceURLs"); {
		case len(urls) > 0 && res.Namespaced:
			r.invalid(path+".nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
		case len(urls) > 0:
		default:
			if Lacks(rule, "apiGroups") {
				r.required(path+".apiGroups", "resource rules must supply at least one api group")
			}
			if Lacks(rule, "resources") {
				r.required(path+".resources", "resource rules must supply at least one resource")
			}
		}
	}
}

func (r *Refusals) binding(res kube.Resource, o map[string]any) {
	ref := ObjectAt(o, "roleRef")
	kinds := []string{"Role", "ClusterRole"}
	if !res.Namespaced {
		kinds = kinds[1:]
	}
	if kind := TextAt(ref, "kind"); !slices.Contains(kinds, kind) {
		r.unsupported("roleRef.kind", kind, slices.Clone(kinds)...)
	}
	if TextAt(ref, "name") == "" {
		r.required("roleRef.name")
	}
	for i, e := range ListAt(o, "subjects") {
		s, _ := e.(map[string]any)
		path := fmt.Sprintf("subjects[%d]", i)
		if TextAt(s, "name") == "" {
			r.required(path + ".name")
		}
		switch kind := TextAt(s, "kind"); kind {
		case "User", "Group":
		case "ServiceAccount":
			if TextAt(s, "namespace") == "" && !res.Namespaced {
				r.required(path + ".namespace")
			}
		default:
			r.unsupported(path+".kind", kind, "ServiceAccount", "User", "Group")
		}
	}
}
