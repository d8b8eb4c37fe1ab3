package apitest

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/listwatch/listwatch/apitest/schema"
	"github.com/listwatch/listwatch/kube"
)

// builtIns are the resources that every server knows from the start.
func builtIns() []resourceInfo {
	all := []string{"all"}
	workload := &scalePaths{SpecReplicas: "spec.replicas", StatusReplicas: "status.replicas", Selector: "spec.selector"}
	list := []resourceInfo{
		{Resource: kube.ConfigMaps, ShortNames: []string{"cm"}},
		{Resource: kube.Endpoints, ShortNames: []string{"ep"}},
		{Resource: kube.Events, ShortNames: []string{"ev"}, Fields: []string{
			"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
			"involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
			"reason", "reportingComponent", "source", "type"}},
		{Resource: kube.Namespaces, ShortNames: []string{"ns"}, Status: true, noCount: true, Fields: []string{"status.phase"}},
		{Resource: kube.Nodes, ShortNames: []string{"no"}, Status: true, noCount: true, Fields: []string{"spec.unschedulable"}},
		{Resource: kube.PersistentVolumeClaims, returns: true, ShortNames: []string{"pvc"}, Status: true, noCount: true},
		{Resource: kube.PersistentVolumes, returns: true, ShortNames: []string{"pv"}, Status: true, noCount: true},
		{Resource: kube.Pods, returns: true, ShortNames: []string{"po"}, Categories: all, Status: true, Fields: []string{
			"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
			"status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName"}},
		{Resource: kube.Secrets, Fields: []string{"type"}},
		{Resource: kube.ServiceAccounts, returns: true, ShortNames: []string{"sa"}, noCount: true},
		{Resource: kube.Services, returns: true, ShortNames: []string{"svc"}, Categories: all, Status: true, noCount: true,
			Fields: []string{"spec.clusterIP", "spec.type"}},
		{Resource: kube.DaemonSets, ShortNames: []string{"ds"}, Categories: all, Status: true},
		{Resource: kube.Deployments, Scale: workload, ShortNames: []string{"deploy"}, Categories: all, Status: true},
		{Resource: kube.ReplicaSets, Scale: workload, ShortNames: []string{"rs"}, Categories: all, Status: true, Fields: []string{"status.replicas"}},
		{Resource: kube.StatefulSets, Scale: workload, ShortNames: []string{"sts"}, Categories: all, Status: true},
		{Resource: kube.CronJobs, ShortNames: []string{"cj"}, Categories: all, Status: true},
		{Resource: kube.Jobs, Categories: all, Status: true, Fields: []string{"status.successful"}},
		{Resource: kube.Leases, noCount: true},
		{Resource: kube.EndpointSlices},
		{Resource: kube.Ingresses, ShortNames: []string{"ing"}, Status: true},
		{Resource: kube.CustomResourceDefinitions, ShortNames: []string{"crd", "crds"}, Categories: []string{"api-extensions"}, Status: true},

		{Resource: bindings, noCount: true},
		{Resource: core("limitranges", "LimitRange"), ShortNames: []string{"limits"}, noCount: true},
		{Resource: core("podtemplates", "PodTemplate"), returns: true},
		{Resource: core("replicationcontrollers", "ReplicationController"), ShortNames: []string{"rc"}, Categories: all, Status: true, Scale: workload, Fields: []string{"status.replicas"}},
		{Resource: core("resourcequotas", "ResourceQuota"), returns: true, ShortNames: []string{"quota"}, Status: true, noCount: true},
		{Resource: named("apps", "controllerrevisions", "ControllerRevision"), noCount: true},
		{Resource: kube.Resource{Group: "autoscaling", Version: "v2", Plural: "horizontalpodautoscalers", Kind: "HorizontalPodAutoscaler", Namespaced: true}, ShortNames: []string{"hpa"}, Categories: all, Status: true},
		{Resource: named("events.k8s.io", "events", "Event"), core: kube.Events, ShortNames: []string{"ev"}, Fields: []string{
			"regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid", "regarding.apiVersion", "regarding.resourceVersion",
			"regarding.fieldPath", "reason", "reportingController", "type"}},
		{Resource: cluster("networking.k8s.io", "ingressclasses", "IngressClass")},
		{Resource: named("networking.k8s.io", "networkpolicies", "NetworkPolicy"), ShortNames: []string{"netpol"}},
		{Resource: named("policy", "poddisruptionbudgets", "PodDisruptionBudget"), ShortNames: []string{"pdb"}, Status: true},
		{Resource: cluster("rbac.authorization.k8s.io", "clusterroles", "ClusterRole"), noCount: true},
		{Resource: cluster("rbac.authorization.k8s.io", "clusterrolebindings", "ClusterRoleBinding"), noCount: true},
		{Resource: named("rbac.authorization.k8s.io", "roles", "Role"), noCount: true},
		{Resource: named("rbac.authorization.k8s.io", "rolebindings", "RoleBinding"), noCount: true},
		{Resource: cluster("scheduling.k8s.io", "priorityclasses", "PriorityClass"), ShortNames: []string{"pc"}},
		{Resource: cluster("storage.k8s.io", "storageclasses", "StorageClass"), returns: true, ShortNames: []string{"sc"}, noCount: true},
		{Resource: mutatingConfigurations, Categories: []string{"api-extensions"}},
		{Resource: validatingConfigurations, Categories: []string{"api-extensions"}},
	}
	list = append(list, rareBuiltIns()...)
	for _, r := range reviews {
		list = append(list, resourceInfo{Resource: r, noCount: true})
	}
	for i := range list {
		list[i].builtIn = true
	}
	return list
}

func core(plural, kind string) kube.Resource { return named("", plural, kind) }

func named(group, plural, kind string) kube.Resource {
	return kube.Resource{Group: group, Version: "v1", Plural: plural, Kind: kind, Namespaced: true}
}

func cluster(group, plural, kind string) kube.Resource {
	return kube.Resource{Group: group, Version: "v1", Plural: plural, Kind: kind}
}

func completed(r resourceInfo) resourceInfo {
	list := builtIns()
	i := slices.IndexFunc(list, func(b resourceInfo) bool { return b.Resource == r.Resource })
	if i >= 0 && r.Singular == "" && r.ShortNames == nil && r.Categories == nil && r.Fields == nil && r.Columns == nil {
		r = list[i]
	}
	r.Singular = cmp.Or(r.Singular, strings.ToLower(r.Kind))
	r.typ = sync.OnceValue(func() *schema.Type { return typeOf(&r) })
	return r
}
