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

// grade and shade are bytes with their own JSON; octet is one.
type (
	grade uint8
	shade uint8
	octet uint8
)

func (*grade) MarshalText() ([]byte, error) { return []byte("A"), nil }
func (shade) MarshalJSON() ([]byte, error)  { return []byte(`{"dark":true}`), nil }
func (shade) Schema() Schema                { return Schema{Type: "object", PreserveUnknownFields: true} }

func TestSliceOfBytesWithTheirOwnJSONIsAList(t *testing.T) {
	got := specOf[struct {
		G []grade `json:"g,omitempty"`
		S []shade `json:"s,omitempty"`
		O []octet `json:"o,omitempty"`
	}](t)
	const want = `{"type":"object","properties":{"g":{"type":"array","items":{"type":"string"}},"o":{"type":"string","format":"byte"},"s":{"type":"array","items":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

type (
	tagged struct {
		A string `json:"X"`
	}
	untagged struct{ X int }
)

// TestNamesOfFieldsAreThoseOfEncodingJSON: it ignores names with characters that are none of names,
// and at one depth a name from a tag hides the others.
func TestNamesOfFieldsAreThoseOfEncodingJSON(t *testing.T) {
	const x = `{"type":"object","required":["X"],"properties":{"X":{"type":"string"}}}`
	for _, tt := range []struct{ name, got, want string }{
		{"a quote", specOf[struct {
			//lint:ignore SA5008 the name has no effect, which is tested
			A string `json:"a'b,omitempty"`
		}](t), `{"type":"object","properties":{"A":{"type":"string"}}}`},
		{"a quote, of an embedded struct", specOf[struct {
			//lint:ignore SA5008 the name has no effect, which is tested
			tagged `json:"a'b"`
		}](t), x},
		{"signs", specOf[struct {
			A string `json:"ä /~$:1,omitempty"`
		}](t), `{"type":"object","properties":{"ä /~$:1":{"type":"string"}}}`},
		{"tagged, then not", specOf[struct {
			tagged
			untagged
		}](t), x},
		{"untagged, then tagged", specOf[struct {
			untagged
			tagged
		}](t), x},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
