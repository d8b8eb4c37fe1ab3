package refs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOf: what objects name, each once with all that it is for.
func TestOf(t *testing.T) {
	const pod = `"serviceAccountName":"robot","nodeName":"n1","priorityClassName":"high","imagePullSecrets":[{"name":"registry"}],
		"volumes":[{"name":"conf","configMap":{"name":"settings"}},{"name":"keys","secret":{"secretName":"tls"}},{"name":"data","persistentVolumeClaim":{"claimName":"disk"}},
			{"name":"all","projected":{"sources":[{"configMap":{"name":"ca"}},{"secret":{"name":"tls"}},{"serviceAccountToken":{"path":"token"}}]}},{"name":"tmp","emptyDir":{}}],
		"initContainers":[{"name":"prepare","envFrom":[{"configMapRef":{"name":"settings"}}]}],
		"containers":[{"name":"app","env":[{"name":"A","value":"1"},{"name":"B","valueFrom":{"secretKeyRef":{"name":"login","key":"b"}}},{"name":"C","valueFrom":{"secretKeyRef":{"name":"login","key":"c"}}},
			{"name":"D","valueFrom":{"configMapKeyRef":{"name":"flags","key":"d"}}}]}]`
	ofPod := []Ref{
		{"nodes", "", "n1", "node"}, {"serviceaccounts", "shop", "robot", "account"},
		{"configmaps", "shop", "settings", "volume conf, environment of prepare"}, {"secrets", "shop", "tls", "volume keys, volume all"},
		{"persistentvolumeclaims", "shop", "disk", "volume data"}, {"configmaps", "shop", "ca", "volume all"},
		{"secrets", "shop", "login", "environment of app"}, {"configmaps", "shop", "flags", "environment of app"},
		{"secrets", "shop", "registry", "image pull secret"}, {"priorityclasses.scheduling.k8s.io", "", "high", "priority"},
	}
	const meta = `{"metadata":{"namespace":"shop","name":"web"},`
	for _, tt := range []struct {
		typ, text string
		want      []Ref
	}{
		{"pods", meta + `"spec":{` + pod + `}}`, ofPod},
		{"deployments.apps", meta + `"spec":{"template":{"spec":{` + pod + `}}}}`, ofPod},
		{"cronjobs.batch", meta + `"spec":{"jobTemplate":{"spec":{"template":{"spec":{` + pod + `}}}}}}`, ofPod},
		{"statefulsets.apps", meta + `"spec":{"serviceName":"db","template":{"spec":{"serviceAccountName":"robot"}}}}`,
			[]Ref{{"services", "shop", "db", "governing service"}, {"serviceaccounts", "shop", "robot", "account"}}},
		{autoscalers, meta + `"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}}}`, []Ref{{"deployments.apps", "shop", "web", "what it scales"}}},
		{autoscalers, meta + `"spec":{"scaleTargetRef":{"apiVersion":"v1","kind":"ReplicationController","name":"web"}}}`, []Ref{{"replicationcontrollers", "shop", "web", "what it scales"}}},
		{ingresses, meta + `"spec":{"ingressClassName":"nginx","rules":[{"http":{"paths":[{"backend":{"service":{"name":"web","port":{"number":80}}}},{"backend":{"service":{"name":"api"}}}]}}],"tls":[{"secretName":"cert"}]}}`,
			[]Ref{{"ingressclasses.networking.k8s.io", "", "nginx", "class"}, {"services", "shop", "web", "backend"}, {"services", "shop", "api", "backend"}, {"secrets", "shop", "cert", "TLS"}}},
		{"persistentvolumes", `{"spec":{"storageClassName":"fast","claimRef":{"namespace":"shop","name":"disk"}}}`,
			[]Ref{{"persistentvolumeclaims", "shop", "disk", "claim"}, {"storageclasses.storage.k8s.io", "", "fast", "class"}}},
		{bindings, meta + `"roleRef":{"kind":"ClusterRole","name":"view"},"subjects":[{"kind":"User","name":"jane"},{"kind":"ServiceAccount","namespace":"ci","name":"robot"}]}`,
			[]Ref{{allRoles, "", "view", "role"}, {"serviceaccounts", "ci", "robot", "subject"}}},
		{slicesType, meta + `"endpoints":[{"targetRef":{"kind":"Pod","namespace":"shop","name":"web-1"}},{"targetRef":{"kind":"VM","name":"x"}}]}`, []Ref{{"pods", "shop", "web-1", "endpoint"}}},
		{"pods", `{"metadata":{"namespace":"shop"},"spec":{"volumes":"none","nodeName":"n1"}}`, []Ref{{"nodes", "", "n1", "node"}}},
		{"widgets.example.com", meta + `"spec":{` + pod + `}}`, []Ref{}},
	} {
		if diff := cmp.Diff(tt.want, Of(tt.typ, tt.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.typ, diff)
		}
		for _, r := range Of(tt.typ, tt.text) {
			if !May(tt.typ, r.Type) && r.Type != "nodes" { // whose pods are too many
				t.Errorf("%s names %s, and May does not say so", tt.typ, r.Type)
			}
		}
	}
}

// TestMay: what may be scaled is not known by its type.
func TestMay(t *testing.T) {
	for other, want := range map[string]bool{"widgets.example.com": true, "deployments.apps": true, "configmaps": false} {
		if got := May(autoscalers, other); got != want {
			t.Errorf("an autoscaler of %s: %t", other, got)
		}
	}
}

// TestOwnerMay: the claims of a StatefulSet's pods are those of each.
func TestOwnerMay(t *testing.T) {
	for _, tt := range []struct {
		owner, other string
		want         bool
	}{{"ReplicaSet", "persistentvolumeclaims", true}, {"StatefulSet", "persistentvolumeclaims", false}, {"StatefulSet", "secrets", true}, {"Widget", "secrets", false}} {
		if got := OwnerMay(tt.owner, tt.other); got != tt.want {
			t.Errorf("%s for its pods' %s: %t", tt.owner, tt.other, got)
		}
	}
}
