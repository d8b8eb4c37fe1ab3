package protojson_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/internal/protojson"
)

// TestEncodeAsKubernetesWould: what Kubernetes decoded is encoded as Kubernetes did.
func TestEncodeAsKubernetesWould(t *testing.T) {
	files, err := filepath.Glob("testdata/*.pb")
	if err != nil || len(files) == 0 {
		t.Fatalf("no pairs: %v", err)
	}
	for _, file := range files {
		text := load(t, strings.TrimSuffix(file, ".pb")+".json")
		got, err := protojson.Encode(text, "", "")
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		back, _, _, err := protojson.Decode(got, limit)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if diff := cmp.Diff(value(t, text), value(t, back)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

func TestEncode(t *testing.T) {
	for _, c := range []struct {
		in   string
		want string
	}{
		{`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"},"data":{"b":"2","a":"1"}}]}`,
			string(object("v1", "ConfigMapList", part(1, part(1), part(2, "7"), part(3)),
				part(2, part(1, part(1, "a"), part(2), part(3), part(4), part(5), part(6), number(7, 0), part(8)), part(2, part(1, "a"), part(2, "1")), part(2, part(1, "b"), part(2, "2")))))},
		{`{"kind":"Status","apiVersion":"v1","code":410}`, string(object("v1", "Status", part(1, part(1), part(2), part(3)), part(2), part(3), part(4), number(6, 410)))},
	} {
		got, err := protojson.Encode([]byte(c.in), "", "")
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got\n%q, %v, want\n%q", c.in, got, err, c.want)
		}
	}
	for in, want := range map[string]error{
		`{"kind":"Gizmo","apiVersion":"v1"}`:        protojson.ErrUnknown,
		`{"kind":"GizmoList","apiVersion":"v1"}`:    protojson.ErrUnknown,
		`[]`:                                        nil,
		`{"kind":"Pod","apiVersion":"v1","spec":5}`: nil,
		`{"kind":"Pod","apiVersion":"v1","metadata":{"name":5}}`:               nil,
		`{"kind":"Pod","apiVersion":"v1","metadata":{"labels":["hunter2"]}}`:   nil,
		`{"kind":"Pod","apiVersion":"v1","metadata":{"finalizers":{"a":"b"}}}`: nil,
	} {
		if _, err := protojson.Encode([]byte(in), "", ""); err == nil || want != nil && !errors.Is(err, want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", in, err)
		}
	}
}
