package codec_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

func TestKnown(t *testing.T) {
	const object = `{"kind":"Pod","metadata":{"name":"a","managedFields":[1]},"spec":{"nodeName":null,"x":{"y":[1,{"z":2}]}}}`
	type pod struct {
		kube.Meta `json:"metadata"`
		Spec      struct {
			NodeName string `json:"nodeName"`
		} `json:"spec"`
	}
	known, err := codec.Known[pod]([]byte(object))
	if diff := cmp.Diff(`{"metadata":{"name":"a"},"spec":{"nodeName":null}}`, string(known)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if raw, err := codec.Known[codec.Raw]([]byte(object)); err != nil || string(raw) != object {
		t.Errorf("of a Raw: %s, %v", raw, err)
	}
	if _, err := codec.Known[pod]([]byte(object[:40])); err == nil {
		t.Error("no error of JSON that is cut")
	}
}
