package crd

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hidden is not exported, but its fields are.
type hidden struct {
	Image string `json:"image"`
}

func TestEmbeddedStructWithANameIsAMember(t *testing.T) {
	const object = `{"type":"object","required":["image"],"properties":{"image":{"type":"string"}}}`
	for _, tt := range []struct{ name, got, want string }{
		{"by value", specOf[struct {
			hidden `json:"common"`
		}](t), `{"type":"object","required":["common"],"properties":{"common":` + object + `}}`},
		{"by pointer", specOf[struct {
			*hidden `json:"common,omitempty"`
		}](t), `{"type":"object","properties":{"common":` + object + `}}`},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
