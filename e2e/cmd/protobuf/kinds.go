package main

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	certificates "k8s.io/api/certificates/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	events "k8s.io/api/events/v1"
	flowcontrol "k8s.io/api/flowcontrol/v1"
	networking "k8s.io/api/networking/v1"
	node "k8s.io/api/node/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	scheduling "k8s.io/api/scheduling/v1"
	storage "k8s.io/api/storage/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is a kind that a client may send.
type kind struct {
	version schema.GroupVersion
	name    string
	typ     reflect.Type
}

// kinds are the stable kinds of all groups, less lists, which nobody sends, and of
// meta what a body may be.
func kinds() []kind {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		admissionregistration.AddToScheme, apps.AddToScheme, authentication.AddToScheme, authorization.AddToScheme,
		autoscalingv1.AddToScheme, autoscalingv2.AddToScheme, batch.AddToScheme, certificates.AddToScheme,
		coordination.AddToScheme, core.AddToScheme, discovery.AddToScheme, events.AddToScheme, flowcontrol.AddToScheme,
		networking.AddToScheme, node.AddToScheme, policy.AddToScheme, rbac.AddToScheme, resourcev1.AddToScheme,
		scheduling.AddToScheme, storage.AddToScheme, apiextensions.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err) // two types with one name: the versions above do not fit
		}
	}
	meta := schema.GroupVersion{Group: "meta.k8s.io", Version: "v1"}
	list := []kind{
		{meta, "DeleteOptions", reflect.TypeFor[metav1.DeleteOptions]()},
		{meta, "List", reflect.TypeFor[metav1.List]()},
		{meta, "PartialObjectMetadata", reflect.TypeFor[metav1.PartialObjectMetadata]()},
		{meta, "Status", reflect.TypeFor[metav1.Status]()},
	}
	for gvk, t := range scheme.AllKnownTypes() {
		if strings.HasSuffix(gvk.Kind, "List") || strings.HasSuffix(gvk.Kind, "Options") ||
			gvk.Version == runtime.APIVersionInternal || strings.HasSuffix(t.PkgPath(), "/meta/v1") || !isMessage(t) {
			continue
		}
		list = append(list, kind{gvk.GroupVersion(), gvk.Kind, t})
	}
	slices.SortFunc(list, func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.version.String(), b.version.String()), cmp.Compare(a.name, b.name))
	})
	return list
}
