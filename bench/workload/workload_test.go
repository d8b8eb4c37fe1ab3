package workload_test

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/bench/workload"
)

func TestObjectsHaveTheSizesTheyAreSaidToHave(t *testing.T) {
	sizes := map[string][2]int{"pods": {5500, 6500}, "configmaps": {900, 1400}, "widgets": {900, 1300}, "blobs": {180_000, 220_000}}
	for _, k := range workload.Kinds {
		ts, err := k.Templates(workload.Form{})
		if err != nil {
			t.Fatal(err)
		}
		for _, tmpl := range ts {
			if n, want := tmpl.Len(), sizes[k.Plural]; n < want[0] || n > want[1] {
				t.Errorf("%s: %d bytes, want %v", k.Plural, n, want)
			}
		}
	}
}

func TestEveryFormHoldsTheSamePod(t *testing.T) {
	pods, err := workload.ByPlural("pods")
	if err != nil {
		t.Fatal(err)
	}
	js, err := pods.Templates(workload.Form{})
	if err != nil {
		t.Fatal(err)
	}
	pb, err := pods.Templates(workload.Form{Proto: true})
	if err != nil {
		t.Fatal(err)
	}
	var fromJSON, fromProto corev1.Pod
	text := js[3].Append(nil, 123, 1000, 5_000_000_001)
	js[3].SetRevision(text, 5_000_000_007)
	if err := json.Unmarshal(text, &fromJSON); err != nil {
		t.Fatal(err)
	}
	binary := pb[3].Append(nil, 123, 1000, 5_000_000_001)
	pb[3].SetRevision(binary, 5_000_000_007)
	if err := fromProto.Unmarshal(binary); err != nil {
		t.Fatal(err)
	}
	fromProto.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
	a, _ := json.Marshal(fromJSON)
	b, _ := json.Marshal(fromProto)
	if string(a) != string(b) {
		t.Errorf("JSON and protobuf differ:\n%s\n%s", a, b)
	}
	if fromJSON.ResourceVersion != "5000000007" || fromJSON.Namespace != "team-06" {
		t.Errorf("revision %s, namespace %s", fromJSON.ResourceVersion, fromJSON.Namespace)
	}
	if n := len(fromJSON.ManagedFields); n != 2 {
		t.Errorf("%d entries of managedFields", n)
	}
}
