package wire

import (
	"encoding/hex"
	"encoding/json"
)

// Head is the identity of an object.
type Head = struct { // without a name, for quotes in errors
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
}

// HeadOf returns the head of b for quotes in errors. v is the decoded b, and plain
// means that it is complete.
func HeadOf(v map[string]any, b []byte, plain bool) (h Head, err error) {
	version, kind := v["apiVersion"], v["kind"]
	h.APIVersion, _ = version.(string)
	h.Kind, _ = kind.(string)
	if plain && (version == nil || h.APIVersion != "") && (kind == nil || h.Kind != "") {
		return h, nil
	}
	h = Head{}
	err = json.Unmarshal(b, &h)
	return h, err
}

// NameIn returns metadata.name.
func NameIn(b []byte) string {
	var o struct{ Metadata struct{ Name string } }
	json.Unmarshal(b, &o) // no object has no name
	return o.Metadata.Name
}

// Summary returns the part of a body that kube-apiserver's errors quote.
func Summary(b []byte) string {
	const most = 30
	var text string
	switch {
	case len(b) == 0:
		return "<empty>"
	case b[0] == '{':
		text = string(b[:min(len(b), most)])
	default:
		text = hex.EncodeToString(b[:min(len(b), most)])
	}
	if len(b) > most {
		text += " ..."
	}
	return text
}
