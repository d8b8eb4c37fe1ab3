package kinds

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/kube"
)

// dataKinds are the kinds of the core group about data.
func dataKinds() []Kind {
	return []Kind{
		{
			Info:     object.Info{Resource: kube.ConfigMaps, ShortNames: []string{"cm"}},
			Validate: refuseConfigMap,
			Printer:  configMapPrinter,
		},
		{
			Info:     object.Info{Resource: kube.Secrets, Fields: []string{"type"}},
			Defaults: fillSecret,
			Validate: refuseSecret,
			Printer:  secretPrinter,
		},
	}
}

// fillSecret moves stringData to data.
func fillSecret(d *rules.Defaults, o map[string]any) {
	d.Text(o, "type", "Opaque")
	for name, v := range rules.ObjectAt(o, "data") {
		if v == nil {
			d.Put(rules.ObjectAt(o, "data"), name, "")
		}
	}
	if texts := rules.ObjectAt(o, "stringData"); len(texts) > 0 {
		data := d.Object(o, "data")
		for name, v := range texts {
			s, _ := v.(string)
			d.Put(data, name, base64.StdEncoding.EncodeToString([]byte(s)))
		}
	}
	d.Remove(o, "stringData")
}

func refuseConfigMap(r *rules.Refusals, o, old map[string]any) {
	data, binary := rules.ObjectAt(o, "data"), rules.ObjectAt(o, "binaryData")
	if old != nil && old["immutable"] == true {
		r.Unchangeable(o, old, "data", "binaryData")
	}
	for key := range rules.KeysOf(data) {
		if wrong := rules.DataKey(key); len(wrong) > 0 {
			r.Each("data["+key+"]", key, wrong)
		}
		if _, twice := binary[key]; twice {
			r.Invalid("data["+key+"]", key, "duplicate of key present in binaryData")
		}
	}
	for key := range rules.KeysOf(binary) {
		r.Each("binaryData["+key+"]", key, rules.DataKey(key))
	}
	size := decodedSize(binary)
	for _, v := range data {
		text, _ := v.(string)
		size += len(text)
	}
	refuseSize(r, "[]", size)
}

// maxData is how many bytes a ConfigMap or a Secret may hold.
const maxData = 1 << 20

func refuseSize(r *rules.Refusals, field string, size int) {
	if size > maxData {
		r.Add("FieldValueTooLong", field, fmt.Sprintf("Too long: may not be more than %d bytes", maxData))
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

// serviceAccountName is the annotation of a Secret that holds a token.
const serviceAccountName = "kubernetes.io/service-account.name"

func refuseSecret(r *rules.Refusals, o, old map[string]any) {
	data := rules.ObjectAt(o, "data")
	for key := range rules.KeysOf(data) {
		if wrong := rules.DataKey(key); len(wrong) > 0 {
			r.Each("data["+key+"]", key, wrong)
		}
	}
	refuseSize(r, "data", decodedSize(data))
	need := func(keys ...string) {
		for _, key := range keys {
			if _, ok := data[key]; !ok {
				r.Required("data[" + key + "]")
			}
		}
	}
	valid := func(key string) {
		b, err := base64.StdEncoding.DecodeString(rules.TextAt(data, key))
		if data[key] != nil && (err != nil || !json.Valid(b)) {
			r.Invalid("data["+key+"]", "<secret contents redacted>", "invalid character")
		}
	}
	switch o["type"] {
	case "kubernetes.io/tls":
		need("tls.crt", "tls.key")
	case "kubernetes.io/dockerconfigjson":
		need(".dockerconfigjson")
		valid(".dockerconfigjson")
	case "kubernetes.io/dockercfg":
		need(".dockercfg")
		valid(".dockercfg")
	case "kubernetes.io/basic-auth":
		if data["username"] == nil && data["password"] == nil {
			need("username", "password")
		}
	case "kubernetes.io/service-account-token":
		if rules.TextAt(rules.ObjectAt(rules.ObjectAt(o, "metadata"), "annotations"), serviceAccountName) == "" {
			r.Required("metadata.annotations[" + serviceAccountName + "]")
		}
	case "kubernetes.io/ssh-auth":
		if rules.TextAt(data, "ssh-privatekey") == "" {
			r.Required("data[ssh-privatekey]")
		}
	}
	if old == nil {
		return
	}
	if typ := rules.TextAt(o, "type"); typ != rules.TextAt(old, "type") {
		r.Invalid("type", typ, rules.Immutable)
	}
	if old["immutable"] == true {
		r.Unchangeable(o, old, "data")
	}
}

var configMapPrinter = columns.Printer{
	Columns: columns.List(columns.Text("Data", "number of entries"), columns.AgeColumn()),
	Cells: func(r *columns.Row) {
		var data, binary map[string]json.RawMessage
		r.Read("data", &data)
		r.Read("binaryData", &binary)
		r.Add(r.Meta.Name, len(data)+len(binary), r.Age())
	},
}

var secretPrinter = columns.Printer{
	Columns: columns.List(columns.Text("Type", "what the secret is for"), columns.Text("Data", "number of entries"), columns.AgeColumn()),
	Cells: func(r *columns.Row) {
		var typ string
		var data map[string]json.RawMessage
		r.Read("type", &typ)
		r.Read("data", &data)
		r.Add(r.Meta.Name, typ, len(data), r.Age())
	},
}
