package apitest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// ResourceInfo is a resource that a server serves: what discovery, Table and
// field selectors say of it.
type ResourceInfo struct {
	kube.Resource
	Singular   string   // default: Kind in lower case
	ShortNames []string // as kubectl takes them: "po"
	Categories []string // such as "all"
	Status     bool     // has a status subresource: a plain update leaves status alone
	Fields     []string // field selectors besides metadata.name and metadata.namespace
	Columns    []Column // of a Table, between NAME and AGE

	builtIn bool // typed in the server: lists without kind and apiVersion in the items
	noCount bool // has a spec but no metadata.generation
	returns bool // DELETE answers with the object, not with a Status
}

// Column is a column of a Table. See
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#additional-printer-columns.
type Column struct {
	Name     string
	Type     string // default: "string"
	Path     string // dotted path of the value, such as "spec.replicas"
	Priority int    // above 0: only shown by -o wide

	cell func(o *object) any
}

// counts reports whether o carries metadata.generation.
func (r *ResourceInfo) counts(o *object) bool {
	if r.noCount {
		return false
	}
	_, ok := o.field("spec")
	return ok
}

func (r *ResourceInfo) listKind() string { return r.Kind + "List" }

// selectable reports whether a field selector may name path.
func (r *ResourceInfo) selectable(path string) bool {
	return path == "metadata.name" || path == "metadata.namespace" && (r.Namespaced || r.builtIn) || slices.Contains(r.Fields, path)
}

func (r ResourceInfo) withDefaults() ResourceInfo {
	list := builtIns()
	i := slices.IndexFunc(list, func(b ResourceInfo) bool { return b.Resource == r.Resource })
	if i >= 0 && r.Singular == "" && r.ShortNames == nil && r.Categories == nil && r.Fields == nil && r.Columns == nil {
		r = list[i]
	}
	r.Singular = cmp.Or(r.Singular, strings.ToLower(r.Kind))
	return r
}

// builtIns are the resources that every server knows from the start: those of
// package kube.
func builtIns() []ResourceInfo {
	all := []string{"all"}
	list := []ResourceInfo{
		{Resource: kube.ConfigMaps, ShortNames: []string{"cm"}, Columns: configMapColumns()},
		{Resource: kube.Endpoints, ShortNames: []string{"ep"}},
		{Resource: kube.Events, ShortNames: []string{"ev"}, Fields: []string{
			"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
			"involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
			"reason", "reportingComponent", "source", "type"}},
		{Resource: kube.Namespaces, ShortNames: []string{"ns"}, Status: true, noCount: true, Fields: []string{"status.phase"},
			Columns: []Column{{Name: "Status", Path: "status.phase"}}},
		{Resource: kube.Nodes, ShortNames: []string{"no"}, Status: true, noCount: true, Fields: []string{"spec.unschedulable"},
			Columns: nodeColumns()},
		{Resource: kube.PersistentVolumeClaims, returns: true, ShortNames: []string{"pvc"}, Status: true, noCount: true},
		{Resource: kube.PersistentVolumes, returns: true, ShortNames: []string{"pv"}, Status: true, noCount: true},
		{Resource: kube.Pods, returns: true, ShortNames: []string{"po"}, Categories: all, Status: true, Columns: podColumns(), Fields: []string{
			"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
			"status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName"}},
		{Resource: kube.Secrets, Fields: []string{"type"}, Columns: secretColumns()},
		{Resource: kube.ServiceAccounts, returns: true, ShortNames: []string{"sa"}, noCount: true},
		{Resource: kube.Services, returns: true, ShortNames: []string{"svc"}, Categories: all, Status: true, noCount: true,
			Fields: []string{"spec.clusterIP", "spec.type"}, Columns: []Column{
				{Name: "Type", Path: "spec.type"}, {Name: "Cluster-IP", Path: "spec.clusterIP"}}},
		{Resource: kube.DaemonSets, ShortNames: []string{"ds"}, Categories: all, Status: true},
		{Resource: kube.Deployments, ShortNames: []string{"deploy"}, Categories: all, Status: true, Columns: deploymentColumns()},
		{Resource: kube.ReplicaSets, ShortNames: []string{"rs"}, Categories: all, Status: true, Fields: []string{"status.replicas"}},
		{Resource: kube.StatefulSets, ShortNames: []string{"sts"}, Categories: all, Status: true},
		{Resource: kube.CronJobs, ShortNames: []string{"cj"}, Categories: all, Status: true},
		{Resource: kube.Jobs, Categories: all, Status: true, Fields: []string{"status.successful"}},
		{Resource: kube.Leases, noCount: true},
		{Resource: kube.EndpointSlices},
		{Resource: kube.Ingresses, ShortNames: []string{"ing"}, Status: true},
		{Resource: kube.CustomResourceDefinitions, ShortNames: []string{"crd", "crds"}, Categories: []string{"api-extensions"}, Status: true},
	}
	for i := range list {
		list[i].builtIn = true
	}
	return list
}
