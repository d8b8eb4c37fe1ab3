package store

import (
	"testing"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

func TestTakenIsWhatOtherServicesHave(t *testing.T) {
	key := func(name string) kube.Key { return kube.Key{Namespace: "a", Name: name} }
	table := &Table{objects: make(map[kube.Key]*object.Object)}
	for name, spec := range map[string]string{
		"mine":  `{"clusterIP":"10.0.0.1","ports":[{"nodePort":30001}]}`,
		"other": `{"clusterIP":"10.0.0.2","healthCheckNodePort":30003,"ports":[{"nodePort":30002}]}`,
	} {
		o, err := object.Parse(kube.Services, []byte(`{"spec":`+spec+`}`))
		if err != nil {
			t.Fatal(err)
		}
		table.objects[key(name)] = o
	}
	taken := table.Taken(key("mine"))
	for v, want := range map[any]bool{"10.0.0.1": false, "10.0.0.2": true, int64(30001): false, int64(30002): true, int64(30003): true} {
		if got := taken(v); got != want {
			t.Errorf("%v: %v, want %v", v, got, want)
		}
	}
}
