package workload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// rendered is an object that can be written in each form.
type rendered struct {
	meta *metav1.ObjectMeta
	typ  metav1.TypeMeta
	full any // what is written as JSON
}

func (r rendered) marshal(f Form) ([]byte, error) {
	full := r.full
	if f.Partial {
		full = &metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"},
			ObjectMeta: *r.meta,
		}
	}
	if f.Proto {
		return full.(interface{ Marshal() ([]byte, error) }).Marshal()
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(full)
	return bytes.TrimSpace(b.Bytes()), err
}

var born = metav1.NewTime(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))

// meta is the metadata of an object, with placeholders.
func meta(prefix string, variant int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:              prefix + "-" + hole('@'),
		Namespace:         hole('~'),
		UID:               types.UID(hole('^')),
		ResourceVersion:   hole('?'),
		Generation:        1,
		CreationTimestamp: born,
		Labels: map[string]string{
			"app":     fmt.Sprintf("checkout-%d", variant),
			"team":    "payments",
			"version": "v1.42.0",
		},
	}
}

// managed is an entry of managedFields.
func managed(manager, subresource string, tree string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &born,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(tree), Subresource: subresource,
	}
}

func configMap(variant int) rendered {
	o := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"},
		ObjectMeta: meta("settings", variant),
		Data: map[string]string{
			"log.level":       "info",
			"endpoint":        "https://" + hole('`') + ":8443/api/v1",
			"fingerprint":     hole('|'),
			"features.yaml":   "checkout:\n  express: true\n  wallets: [a, b, c]\n  retries: 3\nshipping:\n  carriers:\n  - first\n  - second\n",
			"connections.ini": "[pool]\nmin = 4\nmax = 64\nidle = 30s\n[tls]\nverify = true\nca = /etc/ssl/certs/ca.crt\n",
		},
	}
	o.ManagedFields = []metav1.ManagedFieldsEntry{managed("kubectl-client-side-apply", "",
		`{"f:data":{".":{},"f:connections.ini":{},"f:endpoint":{},"f:features.yaml":{},"f:fingerprint":{},"f:log.level":{}},"f:metadata":{"f:labels":{".":{},"f:app":{},"f:team":{},"f:version":{}}}}`)}
	return rendered{&o.ObjectMeta, o.TypeMeta, o}
}

// A widget is a custom resource of about 1 KB, a blob one of about 200 KB.
func widget(variant int) rendered {
	return custom("Widget", variant, map[string]any{
		"size": 3 + variant, "color": "blue", "paused": false, "checksum": hole('|'),
		"template": map[string]any{"image": "registry.example.com/widgets/core:v3", "args": []string{"--listen=:8080", "--level=info", "--metrics=:9090", "--shutdown-timeout=30s", "--workers=16"}},
	})
}

func blob(variant int) rendered {
	rules := make([]any, 1000)
	for i := range rules {
		rules[i] = map[string]any{
			"id": fmt.Sprintf("rule-%04d", i), "action": "allow", "priority": i,
			"from": []string{fmt.Sprintf("10.%d.0.0/16", i%256), "192.168.0.0/16"}, "to": "service-" + hole('@'),
			"ports": []any{map[string]any{"port": 8000 + i, "protocol": "TCP"}},
			"note":  "written by the policy controller",
		}
	}
	return custom("Blob", variant, map[string]any{"rules": rules, "checksum": hole('!')})
}

func custom(kind string, variant int, spec map[string]any) rendered {
	m := meta("example", variant)
	m.ManagedFields = []metav1.ManagedFieldsEntry{managed("widget-controller", "",
		`{"f:spec":{".":{},"f:checksum":{},"f:color":{},"f:paused":{},"f:size":{},"f:template":{".":{},"f:args":{},"f:image":{}}}}`)}
	t := metav1.TypeMeta{Kind: kind, APIVersion: CustomAPIVersion}
	return rendered{&m, t, map[string]any{
		"apiVersion": t.APIVersion, "kind": t.Kind, "metadata": m, "spec": spec,
		"status": map[string]any{"phase": "Ready", "observedGeneration": 1, "endpoint": hole('`')},
	}}
}
