package compat_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	kubeprotobuf "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/protobuf"
	"github.com/listwatch/listwatch/internal/protojson"
)

var protobufSerializer = kubeprotobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

// tabled returns the kinds of the Go types of Kubernetes that our table has.
func tabled() (kinds []schema.GroupVersionKind) {
	for gvk := range scheme.Scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal || strings.HasSuffix(gvk.Kind, "Options") || protojson.Lookup(gvk.GroupVersion().String(), gvk.Kind) == nil {
			continue
		}
		kinds = append(kinds, gvk)
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return kinds
}

// sent returns what a server sends of an object in both encodings, the JSON as the
// object that it has decoded from its storage.
func sent(gvk schema.GroupVersionKind, o runtime.Object) (asProtobuf, asJSON []byte, stored runtime.Object, err error) {
	o.GetObjectKind().SetGroupVersionKind(gvk)
	var b bytes.Buffer
	if err := protobufSerializer.Encode(o, &b); err != nil {
		return nil, nil, nil, err
	}
	if stored, _, err = protobufSerializer.Decode(b.Bytes(), nil, nil); err != nil {
		return nil, nil, nil, err
	}
	stored.GetObjectKind().SetGroupVersionKind(gvk)
	asJSON, err = json.Marshal(stored)
	return b.Bytes(), asJSON, stored, err
}

func decodedJSON(t *testing.T, b []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return v
}

// TestProtobufOfRandomObjects: the protobuf of an object of any kind gives the JSON that
// Kubernetes' types give.
func TestProtobufOfRandomObjects(t *testing.T) {
	kinds := tabled()
	if len(kinds) < 60 {
		t.Fatalf("only %d kinds", len(kinds))
	}
	random := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(1), serializer.NewCodecFactory(scheme.Scheme))
	for _, gvk := range kinds {
		for range 30 {
			o, err := scheme.Scheme.New(gvk)
			if err != nil {
				t.Fatal(err)
			}
			random.Fill(o)
			binary, want, _, err := sent(gvk, o)
			if err != nil {
				t.Fatalf("%s: %v", gvk, err)
			}
			got, err := protobuf.JSON(binary)
			if err != nil {
				t.Fatalf("%s: %v", gvk, err)
			}
			if diff := cmp.Diff(decodedJSON(t, want), decodedJSON(t, got)); diff != "" {
				t.Fatalf("%s (-Kubernetes +ours):\n%s", gvk, diff)
			}
		}
	}
}

// TestProtobufIntoKubernetesTypes: types of k8s.io/api are filled from protobuf as
// Kubernetes fills them, and as their JSON is decoded.
func TestProtobufIntoKubernetesTypes(t *testing.T) {
	intoType[corev1.Pod](t, "v1", "Pod")
	intoType[corev1.Node](t, "v1", "Node")
	intoType[corev1.Service](t, "v1", "Service")
	intoType[corev1.ConfigMap](t, "v1", "ConfigMap")
	intoType[corev1.Secret](t, "v1", "Secret")
	intoType[corev1.PersistentVolume](t, "v1", "PersistentVolume")
	intoType[appsv1.Deployment](t, "apps/v1", "Deployment")
	intoType[appsv1.DaemonSet](t, "apps/v1", "DaemonSet")
	intoType[batchv1.CronJob](t, "batch/v1", "CronJob")
	intoType[networkingv1.NetworkPolicy](t, "networking.k8s.io/v1", "NetworkPolicy")
	if _, ok := protobuf.DecoderOf[*appsv1.StatefulSet]("apps/v1", "StatefulSet"); ok {
		t.Error("StatefulSet has a plan, but kind and apiVersion of its volumeClaimTemplates are only in JSON")
	}
	intoType[admissionregistrationv1.ValidatingAdmissionPolicy](t, "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy")
}

func intoType[T any, P interface {
	*T
	runtime.Object
}](t *testing.T, apiVersion, kind string) {
	t.Helper()
	decode, ok := protobuf.DecoderOf[P](apiVersion, kind)
	if !ok {
		t.Errorf("%s has no plan", kind)
		return
	}
	random := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(2), serializer.NewCodecFactory(scheme.Scheme))
	gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
	for range 100 {
		o := P(new(T))
		random.Fill(o)
		binary, text, want, err := sent(gvk, o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(binary)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		byJSON, err := codec.Decode[P](text)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if !equality.Semantic.DeepEqual(any(got), any(byJSON)) {
			t.Fatalf("%s from protobuf, and from JSON:\n%s", kind, cmp.Diff(asText(byJSON), asText(got)))
		}
		if a, b := asText(want), asText(got); a != b {
			t.Fatalf("%s (-Kubernetes +ours):\n%s", kind, cmp.Diff(a, b))
		}
	}
}

func asText(o any) string {
	b, err := json.MarshalIndent(o, "", " ")
	return fmt.Sprint(string(b), err)
}

// FuzzProtobuf: bytes that Kubernetes' decoder takes and ours takes mean the same.
func FuzzProtobuf(f *testing.F) {
	random := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(3), serializer.NewCodecFactory(scheme.Scheme))
	for _, gvk := range []schema.GroupVersionKind{{Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "Service"}, {Group: "apps", Version: "v1", Kind: "Deployment"}, {Version: "v1", Kind: "Event"}} {
		for range 5 {
			o, err := scheme.Scheme.New(gvk)
			if err != nil {
				f.Fatal(err)
			}
			random.Fill(o)
			if b, _, _, err := sent(gvk, o); err == nil {
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		o, gvk, err := protobufSerializer.Decode(b, nil, nil)
		if err != nil || protojson.Lookup(gvk.GroupVersion().String(), gvk.Kind) == nil {
			return
		}
		text, err := protobuf.JSON(b)
		if err != nil {
			return // ours may refuse what is broken in a field that theirs does not know
		}
		o.GetObjectKind().SetGroupVersionKind(*gvk)
		want, err := json.Marshal(o)
		if err != nil {
			return
		}
		if diff := cmp.Diff(decodedJSON(t, want), decodedJSON(t, text)); diff != "" {
			t.Errorf("%s (-Kubernetes +ours):\n%s", gvk, diff)
		}
	})
}
