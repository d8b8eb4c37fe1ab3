package discovery

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"slices"

	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// subresource is a subresource in discovery.
type subresource struct {
	name  string
	kind  groupVersionKind
	verbs []string
}

var (
	partVerbs  = []string{"get", "patch", "update"}
	proxyVerbs = []string{"create", "delete", "get", "patch", "update"}
	askVerbs   = []string{"create"}
	talkVerbs  = []string{"create", "get"}
)

// connectionsOf are the subresources other than status and scale. Those that need a
// kubelet are refused, but clients find them in discovery.
func connectionsOf(r *object.Info) []*subresource {
	own := func(kind string) groupVersionKind { return groupVersionKind{Version: r.Version, Kind: kind} }
	switch r.Resource {
	case kube.Namespaces:
		return []*subresource{{"finalize", own(r.Kind), []string{"update"}}}
	case kube.Nodes, kube.Services:
		return []*subresource{{"proxy", own(r.Kind + "ProxyOptions"), proxyVerbs}}
	case kube.ServiceAccounts:
		return []*subresource{{"token", groupVersionKind{"authentication.k8s.io", "v1", "TokenRequest"}, askVerbs}}
	case kinds.CertificateSigningRequests:
		return []*subresource{{kinds.Approval, groupVersionKind{r.Group, r.Version, r.Kind}, partVerbs}}
	case kube.Pods:
		return []*subresource{
			{"attach", own("PodAttachOptions"), talkVerbs},
			{"binding", own("Binding"), askVerbs},
			{kinds.EphemeralContainers, own("Pod"), partVerbs},
			{"eviction", groupVersionKind{"policy", "v1", "Eviction"}, askVerbs},
			{"exec", own("PodExecOptions"), talkVerbs},
			{"log", own("Pod"), []string{"get"}},
			{"portforward", own("PodPortForwardOptions"), talkVerbs},
			{"proxy", own("PodProxyOptions"), proxyVerbs},
			{kinds.Resize, own("Pod"), partVerbs},
		}
	}
	return nil
}

// subresourcesOf returns those of r, sorted by name.
func subresourcesOf(r *object.Info) (list []*subresource) {
	if r.BuiltIn {
		list = connectionsOf(r)
	}
	if r.Scale != nil {
		list = append(list, &subresource{"scale", groupVersionKind{"autoscaling", "v1", "Scale"}, partVerbs})
	}
	if r.Status {
		list = append(list, &subresource{"status", groupVersionKind{r.Group, r.Version, r.Kind}, partVerbs})
	}
	if r.BuiltIn {
		slices.SortFunc(list, func(a, b *subresource) int { return cmp.Compare(a.name, b.name) })
	} else {
		slices.Reverse(list) // of a custom resource, the status comes first
	}
	return list
}

// verbsOf returns the verbs of r.
func verbsOf(r *object.Info) []string {
	switch {
	case kinds.IsReview(r.Resource) || r.Resource == kinds.Bindings:
		return askVerbs
	case r.Resource == kube.Namespaces:
		return []string{"create", "delete", "get", "list", "patch", "update", "watch"}
	case !r.BuiltIn:
		return []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	}
	return []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
}

// storageHash is a hash of the version in which r is stored, without
// showing the version.
func storageHash(r *object.Info) string {
	if kinds.IsReview(r.Resource) || r.Resource == kinds.Bindings {
		return "" // it is not stored
	}
	res := r.Resource
	if r.Kept != nil {
		res = r.Kept.Resource
	} else if r.Core.Plural != "" {
		res = r.Core
	}
	sum := sha256.Sum256([]byte(res.Group + "/" + res.Version + "/" + res.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

// groupOrder has the groups of kube-apiserver's own resources by their priority; other
// groups follow, in alphabetical order. It matters if two groups have a resource with
// the same name.
var groupOrder = [...]string{
	"", "apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "autoscaling",
	"batch", "certificates.k8s.io", "networking.k8s.io", "policy", "rbac.authorization.k8s.io", "storage.k8s.io",
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "scheduling.k8s.io", "coordination.k8s.io", "node.k8s.io",
	"discovery.k8s.io", "resource.k8s.io", "flowcontrol.apiserver.k8s.io", "storagemigration.k8s.io",
}

func compareGroups(a, b string) int {
	place := func(group string) int {
		if i := slices.Index(groupOrder[:], group); i >= 0 {
			return i
		}
		return len(groupOrder)
	}
	return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
}
