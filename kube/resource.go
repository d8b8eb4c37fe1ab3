package kube

import (
	"net/url"
	"strings"
)

// Resource identifies a kind of object in the API. Group, Version and Plural form its
// URLs; Kind is the kind in its objects. Group is empty for the core API. Package
// discovery finds the Resource for a name that a user types.
type Resource struct {
	Group      string
	Version    string
	Plural     string
	Kind       string
	Namespaced bool
}

// Common resources. Any other is a literal:
//
//	foos := kube.Resource{Group: "example.com", Version: "v1", Plural: "foos", Kind: "Foo", Namespaced: true}
//
// All packages share these variables: do not change them.
var (
	ConfigMaps             = Resource{"", "v1", "configmaps", "ConfigMap", true}
	Endpoints              = Resource{"", "v1", "endpoints", "Endpoints", true}
	Events                 = Resource{"", "v1", "events", "Event", true}
	Namespaces             = Resource{"", "v1", "namespaces", "Namespace", false}
	Nodes                  = Resource{"", "v1", "nodes", "Node", false}
	PersistentVolumeClaims = Resource{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true}
	PersistentVolumes      = Resource{"", "v1", "persistentvolumes", "PersistentVolume", false}
	Pods                   = Resource{"", "v1", "pods", "Pod", true}
	Secrets                = Resource{"", "v1", "secrets", "Secret", true}
	ServiceAccounts        = Resource{"", "v1", "serviceaccounts", "ServiceAccount", true}
	Services               = Resource{"", "v1", "services", "Service", true}

	DaemonSets   = Resource{"apps", "v1", "daemonsets", "DaemonSet", true}
	Deployments  = Resource{"apps", "v1", "deployments", "Deployment", true}
	ReplicaSets  = Resource{"apps", "v1", "replicasets", "ReplicaSet", true}
	StatefulSets = Resource{"apps", "v1", "statefulsets", "StatefulSet", true}

	CronJobs       = Resource{"batch", "v1", "cronjobs", "CronJob", true}
	Jobs           = Resource{"batch", "v1", "jobs", "Job", true}
	Leases         = Resource{"coordination.k8s.io", "v1", "leases", "Lease", true}
	EndpointSlices = Resource{"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", true}
	Ingresses      = Resource{"networking.k8s.io", "v1", "ingresses", "Ingress", true}

	CustomResourceDefinitions = Resource{"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false}
)

// APIVersion returns the apiVersion of objects of r: "v1" or "apps/v1".
func (r Resource) APIVersion() string {
	if r.Group == "" {
		return r.Version
	}
	return r.Group + "/" + r.Version
}

// String returns "pods.v1" or "deployments.v1.apps": kubectl's TYPE.VERSION.GROUP,
// without a final dot for the core group.
func (r Resource) String() string {
	return strings.TrimSuffix(r.Plural+"."+r.Version+"."+r.Group, ".")
}

// GroupResource returns "pods" or "deployments.apps", the form in messages of the
// server.
func (r Resource) GroupResource() string {
	return strings.TrimSuffix(r.Plural+"."+r.Group, ".")
}

// Path returns the URL path of the collection of r in namespace; all namespaces if that
// is empty or r is cluster scoped.
func (r Resource) Path(namespace string) string {
	base := "/api/"
	if r.Group != "" {
		base = "/apis/" + url.PathEscape(r.Group) + "/"
	}
	base += url.PathEscape(r.Version)
	if namespace != "" && r.Namespaced {
		base += "/namespaces/" + url.PathEscape(namespace)
	}
	return base + "/" + url.PathEscape(r.Plural)
}

// ObjectPath returns the URL path of one object, or of its subresource ("status",
// "scale"). The namespace of k is ignored if r is cluster scoped.
func (r Resource) ObjectPath(k Key, subresource ...string) string {
	p := r.Path(k.Namespace) + "/" + url.PathEscape(k.Name)
	for _, s := range subresource {
		p += "/" + url.PathEscape(s)
	}
	return p
}
