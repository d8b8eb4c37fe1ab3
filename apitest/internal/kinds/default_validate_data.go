package kinds

import (
	"encoding/base64"
	"fmt"
	"strings"
)

func (r *Refusals) configMap(o, old map[string]any) {
	data, binary := ObjectAt(o, "data"), ObjectAt(o, "binaryData")
	if old != nil && old["immutable"] == true {
		r.unchangeable(o, old, "data", "binaryData")
	}
	for key := range keysOf(data) {
		if wrong := dataKey(key); len(wrong) > 0 {
			r.each("data["+key+"]", key, wrong)
		}
		if _, twice := binary[key]; twice {
			r.invalid("data["+key+"]", key, "duplicate of key present in binaryData")
		}
	}
	for key := range keysOf(binary) {
		r.each("binaryData["+key+"]", key, dataKey(key))
	}
	size := decodedSize(binary)
	for _, v := range data {
		text, _ := v.(string)
		size += len(text)
	}
	r.fits("[]", size)
}

// maxData is how many bytes a ConfigMap or a Secret may hold.
const maxData = 1 << 20

func (r *Refusals) fits(field string, size int) {
	if size > maxData {
		r.add("FieldValueTooLong", field, fmt.Sprintf("Too long: may not be more than %d bytes", maxData))
	}
}

// decodedSize counts the bytes of values in base64.
func decodedSize(data map[string]any) (size int) {
	for _, v := range data {
		text, _ := v.(string)
		size += base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(text, "=")))
	}
	return size
}

// unchangeable refuses changes of what is immutable.
func (r *Refusals) unchangeable(o, old map[string]any, names ...string) {
	const why = "Forbidden: field is immutable when `immutable` is set"
	if o["immutable"] != true {
		r.add("FieldValueForbidden", "immutable", why)
	}
	for _, name := range names {
		if !equalText(ObjectAt(o, name), ObjectAt(old, name)) {
			r.add("FieldValueForbidden", name, why)
		}
	}
}

func (r *Refusals) secret(o, old map[string]any) {
	data := ObjectAt(o, "data")
	for key := range keysOf(data) {
		if wrong := dataKey(key); len(wrong) > 0 {
			r.each("data["+key+"]", key, wrong)
		}
	}
	r.fits("data", decodedSize(data))
	need := func(keys ...string) {
		for _, key := range keys {
			if _, ok := data[key]; !ok {
				r.required("data[" + key + "]")
			}
		}
	}
	switch o["type"] {
	case "kubernetes.io/tls":
		need("tls.crt", "tls.key")
	case "kubernetes.io/dockerconfigjson":
		need(".dockerconfigjson")
	case "kubernetes.io/dockercfg":
		need(".dockercfg")
	case "kubernetes.io/ssh-auth":
		need("ssh-privatekey")
	}
	if old == nil {
		return
	}
	if typ := TextAt(o, "type"); typ != TextAt(old, "type") {
		r.invalid("type", typ, immutable)
	}
	if old["immutable"] == true {
		r.unchangeable(o, old, "data")
	}
}
