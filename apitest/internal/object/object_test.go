package object

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/kube"
)

// TestObjectOfIsParseObject: an object made of a value is the one that would be
// parsed of its JSON, and its metadata's value is what its JSON says.
func TestObjectOfIsParseObject(t *testing.T) {
	for _, meta := range []string{
		`null`, `{}`, `"text"`, `{"name":"a"}`, `{"name":null,"namespace":"n","uid":"u"}`, `{"name":1}`, `{"Name":"a"}`, `{"selfLink":"/a","generateName":"g"}`,
		`{"generation":3,"deletionGracePeriodSeconds":0}`, `{"generation":1.5}`, `{"deletionGracePeriodSeconds":30}`,
		`{"labels":{"a":"b","<":"é"},"annotations":{}}`, `{"labels":null}`, `{"labels":{"a":null}}`, `{"labels":{"a":1}}`, `{"labels":[]}`,
		`{"finalizers":["x","y"]}`, `{"finalizers":[]}`, `{"finalizers":[null]}`, `{"finalizers":["a",1]}`, `{"finalizers":{}}`,
		`{"ownerReferences":[{"uid":"1","name":"o"}],"resourceVersion":"7"}`, `{"ownerReferences":null}`, `{"other":1}`,
		`{"creationTimestamp":"2026-01-01T00:00:00Z","deletionTimestamp":null}`,
		`{"managedFields":null}`, `{"managedFields":[]}`, `{"managedFields":[{}]}`, `{"managedFields":"x"}`, `{"managedFields":[null]}`, `{"managedFields":[{"manager":1}]}`,
		`{"managedFields":[{"subresource":"","time":"2026-01-01T00:00:00Z","manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:a":{}}}]}`,
		`{"managedFields":[{"manager":"a","extra":"b"}]}`, `{"managedFields":[{"manager":"a","fieldsV1":null}]}`, `{"managedFields":[{"manager":"a","fieldsV1":"x"}]}`,
	} {
		for _, rest := range []string{``, `,"data":{"b":"1","a":"<"},"kind":"ConfigMap"`, `,"apiVersion":"v1","immutable":null,"kind":""`, `,"kind":"Pod"`, `,"kind":1`} {
			body := []byte(`{"metadata":` + meta + rest + `}`)
			v, err := schema.DecodeObject(body)
			if err != nil {
				t.Fatal(err)
			}
			encoded, err := schema.Encode(v)
			if err != nil {
				t.Fatal(err)
			}
			want, err := Parse(kube.ConfigMaps, encoded)
			got, ok := Of(kube.ConfigMaps, v, true)
			switch {
			case !ok:
				continue
			case err != nil:
				t.Errorf("%s: got an object, want %v", body, err)
				continue
			}
			want.Meta.ManagedFields = InOrder(want.Meta.ManagedFields)
			if diff := gocmp.Diff(want.Meta, got.Meta); diff != "" || want.Key != got.Key {
				t.Errorf("%s: metadata (-parsed +made):\n%s", body, diff)
			}
			want.Meta.ManagedFields = nil
			if diff := gocmp.Diff(decoded(want.Meta.append(nil)), any(got.Meta.value())); diff != "" {
				t.Errorf("%s: value (-of the JSON +of the metadata):\n%s", body, diff)
			}
			for i, f := range got.Fields {
				if diff := gocmp.Diff(string(want.Fields[i].Value), string(f.Value)); diff != "" || f.Name != want.Fields[i].Name {
					t.Errorf("%s: %s (-parsed +made):\n%s", body, f.Name, diff)
				}
			}
			if len(got.Fields) != len(want.Fields) {
				t.Errorf("%s: %d fields, want %d", body, len(got.Fields), len(want.Fields))
			}
		}
	}
}
