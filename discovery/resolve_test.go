package discovery_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/discovery"
)

func TestResolve(t *testing.T) {
	api := mustFetch(t, &server{aggregated: "v2"})
	for _, test := range []struct{ name, want string }{
		{"pods", "pods.v1"},
		{"pod", "pods.v1"},
		{"Pod", "pods.v1"},
		{"PODS", "pods.v1"},
		{" po ", "pods.v1"},
		{"pods.", "pods.v1"},
		{"pods.v1", "pods.v1"},
		{"pods.v1.", "pods.v1"},
		{"Pod.v1.", "pods.v1"},
		{"po.v1", "pods.v1"},
		{"pods.metrics.k8s.io", "pods.v1beta1.metrics.k8s.io"},
		{"PodMetrics", "pods.v1beta1.metrics.k8s.io"},
		{"deployments.apps", "deployments.v1.apps"},
		{"deploy.apps", "deployments.v1.apps"},
		{"deployments.v1.apps", "deployments.v1.apps"},
		{"Deployment.v1.apps", "deployments.v1.apps"},
		// Core and built-in groups win.
		{"events", "events.v1"},
		{"ev", "events.v1"},
		{"events.events.k8s.io", "events.v1.events.k8s.io"},
		{"events.v1.events.k8s.io", "events.v1.events.k8s.io"},
		{"ingresses", "ingresses.v1.networking.k8s.io"},
		{"Ingress", "ingresses.v1.networking.k8s.io"},
		{"king", "ingresses.v1alpha1.networking.internal.knative.dev"},
		// The short name of a custom resource does not hide a built-in one.
		{"cm", "configmaps.v1"},
		{"nodes", "nodes.v1"},
		// Versions.
		{"hpa", "horizontalpodautoscalers.v2.autoscaling"},
		{"hpa.v1.autoscaling", "horizontalpodautoscalers.v1.autoscaling"},
		{"crontabs", "crontabs.v1.example.com"},
		{"crontabs.v1beta1.example.com", "crontabs.v1beta1.example.com"},
		{"gadget", "gadgets.v1beta1.example.com"}, // not served in the preferred version
		// The beginning of a group.
		{"certificates.cert-manager", "certificates.v1.cert-manager.io"},
		{"certificates.networking", "certificates.v1alpha1.networking.internal.knative.dev"},
		{"certs", "certificates.v1.cert-manager.io"},
		// Categories.
		{"all", "pods.v1 services.v1 daemonsets.v1.apps deployments.v1.apps horizontalpodautoscalers.v2.autoscaling"},
		{"ALL", "pods.v1 services.v1 daemonsets.v1.apps deployments.v1.apps horizontalpodautoscalers.v2.autoscaling"},
		{"cert-manager", "certificates.v1.cert-manager.io"},
	} {
		t.Run(test.name, func(t *testing.T) {
			found, err := api.Resolve(test.name)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range found {
				got = append(got, r.String())
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestResolveEveryResourceByItsString(t *testing.T) {
	api := mustFetch(t, &server{})
	for r := range api.All() {
		found, err := api.Resolve(r.String())
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff([]discovery.Resource{r}, found); diff != "" {
			t.Errorf("%s (-want +got):\n%s", r, diff)
		}
	}
}

func TestResolveErrors(t *testing.T) {
	api := mustFetch(t, &server{aggregated: "v2"})
	for _, test := range []struct{ name, want string }{
		{"", "resolve resource: the name is empty"},
		{"pods/log", `resolve resource "pods/log": want a type only; subresources cannot be watched`},
		{"certificates", `"certificates" may be any of certificates.cert-manager.io, certificates.networking.internal.knative.dev: say which`},
		{"Certificate", `"Certificate" may be any of certificates.cert-manager.io, certificates.networking.internal.knative.dev: say which`},
		{"pdos", `the server has no resource type "pdos"; did you mean pods or pods.metrics.k8s.io?`},
		{"Deploymnt", `the server has no resource type "Deploymnt"; did you mean deployments.apps?`},
		{"crontab.example.org", `the server has no resource type "crontab.example.org"; did you mean crontabs.v1.example.com or crontabs.v1beta1.example.com?`},
		{"deployments.v1beta1.apps", `the server has no resource type "deployments.v1beta1.apps"; did you mean deployments.v1.apps?`},
		{"deployments.", `the server has no resource type "deployments."; did you mean deployments.v1.apps?`},
		{"unicorns", `the server has no resource type "unicorns"; "kubectl api-resources" lists those it has`},
		{"xy", `the server has no resource type "xy"; "kubectl api-resources" lists those it has`},
		{".metrics.k8s.io", `the server has no resource type ".metrics.k8s.io"; "kubectl api-resources" lists those it has`},
		{".", `the server has no resource type "."; "kubectl api-resources" lists those it has`},
	} {
		t.Run(test.name, func(t *testing.T) {
			found, err := api.Resolve(test.name)
			if err == nil {
				t.Fatalf("found %v", found)
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestResolveErrorsAreTyped(t *testing.T) {
	api := mustFetch(t, &server{aggregated: "v2"})
	_, err := api.Resolve("certificates")
	if e, ok := errors.AsType[*discovery.AmbiguousError](err); !ok || len(e.Candidates) != 2 {
		t.Errorf("error %v, want an AmbiguousError of two", err)
	}
	_, err = api.Resolve("pdos")
	if e, ok := errors.AsType[*discovery.UnknownError](err); !ok || len(e.Suggestions) != 2 {
		t.Errorf("error %v, want an UnknownError of two", err)
	}
}

func TestResolveCategoryWithoutWatchableMembers(t *testing.T) {
	body := `{"kind":"APIResourceList","groupVersion":"v1","resources":[
		{"name":"a","kind":"A","verbs":["get"],"categories":["odd"]},
		{"name":"b","kind":"B","categories":["odd"]}]}`
	api := mustFetch(t, &server{answers: map[string]answer{"/api/v1": {200, body}}})
	found, err := api.Resolve("odd")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range found {
		got = append(got, r.Watchable().Error())
	}
	want := []string{
		"a cannot be listed and watched: the server offers only: get",
		"b cannot be listed and watched: the server offers only: nothing",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWatchable(t *testing.T) {
	api := mustFetch(t, &server{})
	for name, want := range map[string]bool{"pods": true, "cs": false, "bindings": false, "pods.metrics.k8s.io": false, "gadgets": true} {
		found, err := api.Resolve(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := found[0].Watchable() == nil; got != want {
			t.Errorf("%s: watchable %t, want %t", name, got, want)
		}
	}
}
