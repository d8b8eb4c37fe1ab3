package apitest

import (
	"fmt"
	"slices"

	"github.com/listwatch/listwatch/kube"
)

// validateBuiltIn says what kube-apiserver 1.37 would refuse o for, of what users
// meet most, in its words: fields that are required, names, labels, ports, keys,
// selectors that do not fit, and what may not change. o is an object of one of the
// server's own types, with its defaults; old is nil on a create. No causes do not
// mean that the real server would take it.
func validateBuiltIn(res kube.Resource, o, old map[string]any) []kube.StatusCause {
	var r refusals
	r.metadata(res, object1(o, "metadata"))
	spec := object1(o, "spec")
	switch was := object1(old, "spec"); res.Plural {
	case "pods":
		if r.podSpec("spec", spec); old != nil {
			r.podUpdate(spec, was)
		}
	case "podtemplates":
		r.podSpec("template.spec", object1(object1(o, "template"), "spec"))
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
		for i, e := range list1(spec, "taints") {
			t, _ := e.(map[string]any)
			path := fmt.Sprintf("metadata.taints[%d]", i) // so it says
			r.each(path+".key", string1(t, "key"), qualifiedName(string1(t, "key")))
			r.oneOf(path, t, "effect", "NoSchedule", "PreferNoSchedule", "NoExecute")
		}
		if cidrs := list1(was, "podCIDRs"); len(cidrs) > 0 && !same(cidrs, spec["podCIDRs"]) {
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
		if lacks(spec, "accessModes") {
			r.required("spec.accessModes", "at least 1 access mode is required")
		}
		if quantityOf(object1(object1(spec, "resources"), "requests"), "storage") == "" {
			r.required("spec.resources[storage]")
		}
	case "ingresses":
		if spec["defaultBackend"] == nil && lacks(spec, "rules") {
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
	return r.causes
}

const immutable = "field is immutable"

func (r *refusals) service(spec, old map[string]any) {
	headless := spec["clusterIP"] == "None"
	ports := list1(spec, "ports")
	if len(ports) == 0 && !headless && spec["type"] != "ExternalName" {
		r.required("spec.ports")
	}
	if spec["type"] == "ExternalName" && (!lacks(spec, "clusterIPs") || string1(spec, "clusterIP") != "") {
		r.add("FieldValueForbidden", "spec.clusterIPs", "Forbidden: may not be set for ExternalName services")
	}
	if spec["type"] == "ExternalName" && string1(spec, "externalName") == "" {
		r.required("spec.externalName")
	}
	names, served := make(map[string]bool), make(map[string]bool)
	for i, e := range ports {
		p, _ := e.(map[string]any)
		path := fmt.Sprintf("spec.ports[%d]", i)
		switch name := string1(p, "name"); {
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
		id := fmt.Sprintf(`{"Name":"","Protocol":%q,"AppProtocol":null,"Port":%v,"TargetPort":0,"NodePort":0}`, string1(p, "protocol"), p["port"])
		if served[id] {
			r.add("FieldValueDuplicate", path, "Duplicate value: "+id)
		}
		served[id] = true
	}
	r.labels("spec.selector", object1(spec, "selector"))
	r.oneOf("spec", spec, "sessionAffinity", "ClientIP", "None")
	r.oneOf("spec", spec, "type", "ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
	if ip, was := spec["clusterIP"], string1(old, "clusterIP"); was != "" && ip != was && spec["type"] != "ExternalName" && old["type"] != "ExternalName" {
		r.invalid("spec.clusterIPs[0]", []any{ip}, "may not change once set")
	}
	if typ := string1(spec, "type"); headless && (typ == "NodePort" || typ == "LoadBalancer") {
		r.invalid("spec.clusterIPs[0]", "None", "may not be set to 'None' for "+typ+" services")
	}
}

// event refuses an Event elsewhere than what it is about. Those with an eventTime
// may be about what has no namespace.
func (r *refusals) event(o map[string]any) {
	about, ns := string1(object1(o, "involvedObject"), "namespace"), string1(object1(o, "metadata"), "namespace")
	wrong := about != ns && !(about == "" && ns == "default")
	if t := string1(o, "eventTime"); t != "" {
		wrong = about == "" && ns != "default" && ns != "kube-system"
	}
	if wrong {
		r.invalid("involvedObject.namespace", about, "does not match event.namespace")
	}
}

func (r *refusals) autoscaler(spec map[string]any) {
	most := int1(spec, "maxReplicas")
	if most < int1(spec, "minReplicas") {
		r.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
	}
	ref := object1(spec, "scaleTargetRef")
	for _, name := range [...]string{"kind", "name"} {
		if string1(ref, name) == "" {
			r.required("spec.scaleTargetRef." + name)
		}
	}
	if string1(ref, "apiVersion") == "" {
		r.invalid("spec.scaleTargetRef.apiVersion", "", "apiVersion must specify API group")
	}
	if most == 0 {
		r.required("spec.maxReplicas")
	}
}

func (r *refusals) rules(res kube.Resource, o map[string]any) {
	for i, e := range list1(o, "rules") {
		rule, _ := e.(map[string]any)
		path := fmt.Sprintf("rules[%d]", i)
		if lacks(rule, "verbs") {
			r.required(path + ".verbs")
		}
		switch urls := list1(rule, "nonResourceURLs"); {
		case len(urls) > 0 && res.Namespaced:
			r.invalid(path+".nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
		case len(urls) > 0:
		default:
			if lacks(rule, "apiGroups") {
				r.required(path+".apiGroups", "resource rules must supply at least one api group")
			}
			if lacks(rule, "resources") {
				r.required(path+".resources", "resource rules must supply at least one resource")
			}
		}
	}
}

func (r *refusals) binding(res kube.Resource, o map[string]any) {
	ref := object1(o, "roleRef")
	kinds := []string{"Role", "ClusterRole"}
	if !res.Namespaced {
		kinds = kinds[1:]
	}
	if kind := string1(ref, "kind"); !slices.Contains(kinds, kind) {
		r.unsupported("roleRef.kind", kind, slices.Clone(kinds)...)
	}
	if string1(ref, "name") == "" {
		r.required("roleRef.name")
	}
	for i, e := range list1(o, "subjects") {
		s, _ := e.(map[string]any)
		path := fmt.Sprintf("subjects[%d]", i)
		if string1(s, "name") == "" {
			r.required(path + ".name")
		}
		switch kind := string1(s, "kind"); kind {
		case "User", "Group":
		case "ServiceAccount":
			if string1(s, "namespace") == "" && !res.Namespaced {
				r.required(path + ".namespace")
			}
		default:
			r.unsupported(path+".kind", kind, "ServiceAccount", "User", "Group")
		}
	}
}
