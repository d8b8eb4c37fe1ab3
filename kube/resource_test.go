package kube_test

import (
	"testing"

	"github.com/listwatch/listwatch/kube"
)

func TestResourcePath(t *testing.T) {
	odd := kube.Resource{Group: "ex ample", Version: "v1/..", Plural: "fo?os", Kind: "Foo", Namespaced: true}
	for _, tt := range []struct {
		res       kube.Resource
		namespace string
		want      string
	}{
		{kube.Pods, "", "/api/v1/pods"},
		{kube.Pods, "default", "/api/v1/namespaces/default/pods"},
		{kube.Nodes, "", "/api/v1/nodes"},
		{kube.Nodes, "default", "/api/v1/nodes"},
		{kube.Namespaces, "default", "/api/v1/namespaces"},
		{kube.Deployments, "", "/apis/apps/v1/deployments"},
		{kube.Deployments, "default", "/apis/apps/v1/namespaces/default/deployments"},
		{kube.CustomResourceDefinitions, "x", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"},
		{odd, "a/b", "/apis/ex%20ample/v1%2F../namespaces/a%2Fb/fo%3Fos"},
	} {
		if got := tt.res.Path(tt.namespace); got != tt.want {
			t.Errorf("%v.Path(%q) = %q, want %q", tt.res, tt.namespace, got, tt.want)
		}
	}
}

func TestResourceObjectPath(t *testing.T) {
	web := kube.Key{Namespace: "default", Name: "web"}
	for _, tt := range []struct {
		res  kube.Resource
		key  kube.Key
		sub  []string
		want string
	}{
		{kube.Pods, web, nil, "/api/v1/namespaces/default/pods/web"},
		{kube.Pods, web, []string{"status"}, "/api/v1/namespaces/default/pods/web/status"},
		{kube.Pods, web, []string{"proxy", "a b"}, "/api/v1/namespaces/default/pods/web/proxy/a%20b"},
		{kube.Nodes, web, nil, "/api/v1/nodes/web"},
		{kube.Deployments, web, []string{"scale"}, "/apis/apps/v1/namespaces/default/deployments/web/scale"},
		{kube.Nodes, kube.Key{Name: "a/b?c%d"}, nil, "/api/v1/nodes/a%2Fb%3Fc%25d"},
	} {
		if got := tt.res.ObjectPath(tt.key, tt.sub...); got != tt.want {
			t.Errorf("%v.ObjectPath(%v, %q) = %q, want %q", tt.res, tt.key, tt.sub, got, tt.want)
		}
	}
}

func TestResourceNames(t *testing.T) {
	for _, tt := range []struct {
		res                       kube.Resource
		apiVersion, str, groupRes string
	}{
		{kube.Pods, "v1", "pods.v1", "pods"},
		{kube.Deployments, "apps/v1", "deployments.v1.apps", "deployments.apps"},
		{kube.Leases, "coordination.k8s.io/v1", "leases.v1.coordination.k8s.io", "leases.coordination.k8s.io"},
	} {
		if got := tt.res.APIVersion(); got != tt.apiVersion {
			t.Errorf("APIVersion() = %q, want %q", got, tt.apiVersion)
		}
		if got := tt.res.String(); got != tt.str {
			t.Errorf("String() = %q, want %q", got, tt.str)
		}
		if got := tt.res.GroupResource(); got != tt.groupRes {
			t.Errorf("GroupResource() = %q, want %q", got, tt.groupRes)
		}
	}
}
