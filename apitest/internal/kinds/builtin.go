package kinds

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/schema"
	"github.com/listwatch/listwatch/kube"
)

// All are the resources that every server knows from the start.
func All() []object.Info {
	all := []string{"all"}
	workload := &object.Scale{SpecReplicas: "spec.replicas", StatusReplicas: "status.replicas", Selector: "spec.selector"}
	list := []object.Info{
		{Resource: kube.ConfigMaps, ShortNames: []string{"cm"}},
		{Resource: kube.Endpoints, ShortNames: []string{"ep"}},
		{Resource: kube.Events, ShortNames: []string{"ev"}, Fields: []string{
			"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
			"involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
			"reason", "reportingComponent", "source", "type"}},
		{Resource: kube.Namespaces, ShortNames: []string{"ns"}, Status: true, NoCount: true, Fields: []string{"status.phase"}},
		{Resource: kube.Nodes, ShortNames: []string{"no"}, Status: true, NoCount: true, Fields: []string{"spec.unschedulable"}},
		{Resource: kube.PersistentVolumeClaims, Returns: true, ShortNames: []string{"pvc"}, Status: true, NoCount: true},
		{Resource: kube.PersistentVolumes, Returns: true, ShortNames: []string{"pv"}, Status: true, NoCount: true},
		{Resource: kube.Pods, Returns: true, ShortNames: []string{"po"}, Categories: all, Status: true, Fields: []string{
			"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
			"status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName"}},
		{Resource: kube.Secrets, Fields: []string{"type"}},
		{Resource: kube.ServiceAccounts, Returns: true, ShortNames: []string{"sa"}, NoCount: true},
		{Resource: kube.Services, Returns: true, ShortNames: []string{"svc"}, Categories: all, Status: true, NoCount: true,
			Fields: []string{"spec.clusterIP", "spec.type"}},
		{Resource: kube.DaemonSets, ShortNames: []string{"ds"}, Categories: all, Status: true},
		{Resource: kube.Deployments, Scale: workload, ShortNames: []string{"deploy"}, Categories: all, Status: true},
		{Resource: kube.ReplicaSets, Scale: workload, ShortNames: []string{"rs"}, Categories: all, Status: true, Fields: []string{"status.replicas"}},
		{Resource: kube.StatefulSets, Scale: workload, ShortNames: []string{"sts"}, Categories: all, Status: true},
		{Resource: kube.CronJobs, ShortNames: []string{"cj"}, Categories: all, Status: true},
		{Resource: kube.Jobs, Categories: all, Status: true, Fields: []string{"status.successful"}},
		{Resource: kube.Leases, NoCount: true},
		{Resource: kube.EndpointSlices},
		{Resource: kube.Ingresses, ShortNames: []string{"ing"}, Status: true},
		{Resource: kube.CustomResourceDefinitions, ShortNames: []string{"crd", "crds"}, Categories: []string{"api-extensions"}, Status: true},

		{Resource: Bindings, NoCount: true},
		{Resource: core("limitranges", "LimitRange"), ShortNames: []string{"limits"}, NoCount: true},
		{Resource: core("podtemplates", "PodTemplate"), Returns: true},
		{Resource: core("replicationcontrollers", "ReplicationController"), ShortNames: []string{"rc"}, Categories: all, Status: true, Scale: workload, Fields: []string{"status.replicas"}},
		{Resource: core("resourcequotas", "ResourceQuota"), Returns: true, ShortNames: []string{"quota"}, Status: true, NoCount: true},
		{Resource: Named("apps", "controllerrevisions", "ControllerRevision"), NoCount: true},
		{Resource: kube.Resource{Group: "autoscaling", Version: "v2", Plural: "horizontalpodautoscalers", Kind: "HorizontalPodAutoscaler", Namespaced: true}, ShortNames: []string{"hpa"}, Categories: all, Status: true},
		{Resource: Named("events.k8s.io", "events", "Event"), Core: kube.Events, ShortNames: []string{"ev"}, Fields: []string{
			"regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid", "regarding.apiVersion", "regarding.resourceVersion",
			"regarding.fieldPath", "reason", "reportingController", "type"}},
		{Resource: cluster("networking.k8s.io", "ingressclasses", "IngressClass")},
		{Resource: Named("networking.k8s.io", "networkpolicies", "NetworkPolicy"), ShortNames: []string{"netpol"}},
		{Resource: Named("policy", "poddisruptionbudgets", "PodDisruptionBudget"), ShortNames: []string{"pdb"}, Status: true},
		{Resource: cluster("rbac.authorization.k8s.io", "clusterroles", "ClusterRole"), NoCount: true},
		{Resource: cluster("rbac.authorization.k8s.io", "clusterrolebindings", "ClusterRoleBinding"), NoCount: true},
		{Resource: Named("rbac.authorization.k8s.io", "roles", "Role"), NoCount: true},
		{Resource: Named("rbac.authorization.k8s.io", "rolebindings", "RoleBinding"), NoCount: true},
		{Resource: cluster("scheduling.k8s.io", "priorityclasses", "PriorityClass"), ShortNames: []string{"pc"}},
		{Resource: cluster("storage.k8s.io", "storageclasses", "StorageClass"), Returns: true, ShortNames: []string{"sc"}, NoCount: true},
		{Resource: MutatingConfigurations, Categories: []string{"api-extensions"}},
		{Resource: ValidatingConfigurations, Categories: []string{"api-extensions"}},
	}
	list = append(list, rareBuiltIns()...)
	for _, r := range Reviews {
		list = append(list, object.Info{Resource: r, NoCount: true})
	}
	for i := range list {
		list[i].BuiltIn = true
	}
	return list
}

func core(plural, kind string) kube.Resource { return Named("", plural, kind) }

// Named returns a resource of version v1 whose objects have namespaces.
func Named(group, plural, kind string) kube.Resource {
	return kube.Resource{Group: group, Version: "v1", Plural: plural, Kind: kind, Namespaced: true}
}

// cluster returns a resource of version v1 whose objects have none.
func cluster(group, plural, kind string) kube.Resource {
	return kube.Resource{Group: group, Version: "v1", Plural: plural, Kind: kind}
}

// Complete returns r with its defaults; a built-in resource of which no more is said,
// with all that is known of it.
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

// Bindings is the resource that stores nothing: to create one is to say where a
// pod runs, as pods/binding does.
var Bindings = core("bindings", "Binding")

// Reviews are questions in the form of a create; nothing is stored. See
// https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access.
var Reviews = []kube.Resource{
	cluster("authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview"),
	cluster("authentication.k8s.io", "tokenreviews", "TokenReview"),
	Named("authorization.k8s.io", "localsubjectaccessreviews", "LocalSubjectAccessReview"),
	cluster("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview"),
	cluster("authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview"),
	cluster("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview"),
}

// The resources that configure webhooks.
var (
	MutatingConfigurations   = kube.Resource{Group: "admissionregistration.k8s.io", Version: "v1", Plural: "mutatingwebhookconfigurations", Kind: "MutatingWebhookConfiguration"}
	ValidatingConfigurations = kube.Resource{Group: "admissionregistration.k8s.io", Version: "v1", Plural: "validatingwebhookconfigurations", Kind: "ValidatingWebhookConfiguration"}
)

// CertificateSigningRequests is a resource that package kube does not name.
var CertificateSigningRequests = cluster("certificates.k8s.io", "certificatesigningrequests", "CertificateSigningRequest")
