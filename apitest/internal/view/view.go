package view

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/internal/protojson"
	"github.com/listwatch/listwatch/kube"
)

// View is the form of objects that a client requested.
type View struct {
	Info    *object.Info
	as      string // "", "Table", "PartialObjectMetadata"
	version string // of meta.k8s.io
	include string // of a Table's rows: None, Metadata, Object
	columns bool   // a Table was sent, with its columns

	standard *object.Object // the one that the Table of a list marks as the default

	At     time.Time // ages in a Table count to it; zero = now
	Binary bool      // the response is in protobuf
	drop   bool      // metadata.managedFields are left out: KEP-5958

	Refused *kube.Status // why the form is not available
}

// Parse negotiates by the Accept header: the first clause that the server supports.
func Parse(r *http.Request, info *object.Info, verb string) (*View, *kube.Status) {
	v := &View{Info: info, include: r.URL.Query().Get("includeObject")}
	if wire.AcceptsNothing(r) {
		return v, nil
	}
	readable := false // JSON is, if only in some form
	for _, c := range wire.Clauses(r) {
		typ, params := c.Type, c.Params
		v.Binary = typ == protojson.MediaType && servesBinary(info, verb, params)
		switch {
		case v.Binary:
		case typ == wire.TypeYAML && verb != "watch":
		case typ == "application/*" && info.BuiltIn: // which is not what its routes offer
			continue
		case typ != wire.TypeJSON && typ != "*/*" && typ != "application/*":
			continue
		}
		if readable = true; params == nil {
			continue
		}
		v.drop = slices.Contains(strings.Split(params["drop"], "+"), "metadata.managedFields")
		as := params["as"]
		if as == "" || verb == "create" || verb == "update" || verb == "delete" {
			return v, nil
		}
		if params["g"] != "meta.k8s.io" || params["v"] != "v1" && params["v"] != "v1beta1" {
			continue
		}
		v.version = params["v"]
		switch {
		case as == "Table":
			switch v.include {
			case "":
				v.include = "Metadata"
			case "None", "Metadata", "Object":
			default:
				v.Refused = wire.BadRequest("Unable to convert to Table as requested: includeObject: Invalid value: %q: must be 'Metadata', 'Object', 'None', or empty", v.include)
			}
			v.as = as
			return v, nil
		case as == "PartialObjectMetadata" && verb == "list":
			v.Refused = wire.NotAcceptable("you requested PartialObjectMetadata, but the requested object is a list (*%s)", info.GoType(info.ListKind()))
			return v, nil
		case as == "PartialObjectMetadataList" && verb == "get":
			v.Refused = wire.NotAcceptable("you requested PartialObjectMetadataList, but the requested object is not a list (*%s)", info.GoType(info.Kind))
			if !info.BuiltIn {
				v.Refused = wire.Raw("content is not a list")
			}
			return v, nil
		case as == "PartialObjectMetadata", as == "PartialObjectMetadataList":
			v.as = "PartialObjectMetadata"
			return v, nil
		}
	}
	const all, streams = "application/json, application/yaml, application/vnd.kubernetes.protobuf", ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
	if yes, _ := wire.PrefersYAML(r); yes && verb == "watch" {
		return nil, wire.NotAcceptable("only the following media types are accepted: %s", streams[2:])
	}
	if info.BuiltIn && !readable && (verb == "list" || verb == "watch" || verb == "get") {
		st := wire.NotAcceptable("406: Not Acceptable\n\nAvailable representations: " + all)
		if verb != "get" {
			st.Message += streams
		}
		st.Details = &kube.StatusDetails{}
		return nil, st
	}
	return nil, wire.NotAcceptable("only the following media types are accepted: " + all)
}

// Shown returns o in the form in which r is served.
func Shown(r *object.Info, o *object.Object) *object.Object {
	switch {
	case r.Core.Plural != "":
		return eventOf(r, o)
	case converts(r, o):
		return convertedObject(r, o)
	}
	return o
}

// converts reports whether o is stored in another version than r.
func converts(r *object.Info, o *object.Object) bool {
	return !r.BuiltIn && (o.Version != r.Version || o.Moved)
}

// Decodes returns how many bytes of the objects are decoded at a time for a response: one after
// the other for a Table or another version, all of them for protobuf, and if the JSON is changed
// as a whole. Defaults of another version may make a list of small objects large: it counts as
// the largest.
func (v *View) Decodes(whole bool, objects ...*object.Object) (n int) {
	for _, o := range objects {
		size := len(o.Body)
		if v.as == "PartialObjectMetadata" {
			size = len(o.RawMeta)
		}
		switch {
		case v.as != "PartialObjectMetadata" && len(objects) > 1 && converts(v.Info, o):
			return wire.BodyLimit
		case whole || v.Binary:
			n += size
		case v.as == "Table" || v.Info.Core.Plural != "" || converts(v.Info, o):
			n = max(n, size)
		}
	}
	return n
}

// bare returns o without what v leaves out.
func (v *View) bare(o *object.Object) *object.Object {
	if !v.drop || len(o.Meta.ManagedFields) == 0 {
		return o
	}
	b := *o
	b.Meta.ManagedFields = nil
	b.Seal(v.Info, o.Revision)
	return &b
}

// Object returns o as a response.
func (v *View) Object(o *object.Object) []byte {
	switch v.as {
	case "Table":
		b, _ := v.table([]*object.Object{o}, listMeta{ResourceVersion: o.Meta.ResourceVersion})
		return b
	case "PartialObjectMetadata":
		return v.partial(nil, v.bare(o))
	}
	return slices.Clip(v.bare(Shown(v.Info, o)).Body) // what is appended goes to a copy
}

func (v *View) partial(b []byte, o *object.Object) []byte {
	b = append(b, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/`...)
	b = append(b, v.version...)
	b = append(b, `","metadata":`...)
	b = append(b, o.RawMeta...)
	return append(b, '}')
}

// Event returns one frame of a watch, with its newline.
func (v *View) Event(typ string, o *object.Object) []byte {
	b := append([]byte(`{"type":"`), typ...)
	b = append(b, `","object":`...)
	b = append(b, v.Object(o)...)
	return append(b, '}', '\n')
}

// Bookmark returns the frame of a bookmark; end marks the end of the initial
// events.
func (v *View) Bookmark(rv uint64, end bool) []byte {
	o := kinds.Zero(v.Info)
	if end {
		o.Meta.Annotations = map[string]string{"k8s.io/initial-events-end": "true"}
	}
	o.Seal(v.Info, rv)
	return v.Event("BOOKMARK", o)
}

// listMeta is the metadata of a list in the order of kube-apiserver's fields.
type listMeta struct {
	ResourceVersion    string `json:"resourceVersion,omitempty"`
	Continue           string `json:"continue,omitempty"`
	RemainingItemCount *int64 `json:"remainingItemCount,omitempty"`

	ShardInfo *shardInfo `json:"shardInfo,omitempty"` // of typed lists only
}

type shardInfo struct {
	Selector string `json:"selector"`
}

// mostAdded limits the bytes that defaults of another version add to a list.
const mostAdded = 32 << 20

// List returns p as the body of a LIST. metadataLast puts the metadata after
// the items, as lists of custom resources have it.
func (v *View) List(p *store.Page, metadataLast bool) ([]byte, *kube.Status) {
	meta := listMeta{ResourceVersion: strconv.FormatUint(p.RV, 10), Continue: p.Token, RemainingItemCount: p.Remaining}
	var b []byte
	switch v.as {
	case "Table":
		if standard := kinds.PrinterOf(v.Info).Standard; standard != nil {
			v.standard = standard(p.Objects)
		}
		b, st := v.table(p.Objects, meta)
		return append(b, '\n'), st
	case "PartialObjectMetadata":
		b = append(b, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/`+v.version+`","metadata":`...)
		b = append(b, object.Marshal(meta)...)
		if len(p.Objects) == 0 {
			return append(b, `,"items":null}`+"\n"...), nil
		}
		b = append(b, `,"items":[`...)
		for i, o := range p.Objects {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.partial(b, v.bare(o))
		}
		return append(b, "]}\n"...), nil
	}
	size := 1 << 10
	for _, o := range p.Objects {
		size += len(o.Body) + 1
	}
	items := append(make([]byte, 0, size), `"items":[`...)
	for i, o := range p.Objects {
		if i > 0 {
			items = append(items, ',')
		}
		if items = v.bare(Shown(v.Info, o)).AppendItem(items, v.Info); len(items) > size+mostAdded {
			return nil, v.tooMuchAdded()
		}
	}
	items = append(items, ']')
	kind, version := string(object.Marshal(v.Info.ListKind())), string(object.Marshal(v.Info.APIVersion()))
	if !v.Info.BuiltIn {
		sorted := struct {
			Continue           string `json:"continue"`
			RemainingItemCount *int64 `json:"remainingItemCount,omitempty"`
			ResourceVersion    string `json:"resourceVersion"`
		}{meta.Continue, meta.RemainingItemCount, meta.ResourceVersion}
		return join(`{"apiVersion":`+version+`,`, items, `,"kind":`+kind+`,"metadata":`+string(object.Marshal(sorted))+"}\n"), nil
	}
	if p.Sharding != nil {
		meta.ShardInfo = &shardInfo{p.Sharding.Text}
	}
	head, metadata := `{"kind":`+kind+`,"apiVersion":`+version+`,`, `"metadata":`+string(object.Marshal(meta))
	if metadataLast {
		return join(head, items, `,`+metadata+"}\n"), nil
	}
	return join(head+metadata+`,`, items, "}\n"), nil
}

func (v *View) tooMuchAdded() *kube.Status {
	return &kube.Status{Code: http.StatusRequestEntityTooLarge, Reason: "RequestEntityTooLarge",
		Message: fmt.Sprintf("The defaults of version %s add more than %d bytes to this list: list fewer objects, with limit", v.Info.Version, mostAdded)}
}

func join(head string, items []byte, tail string) []byte {
	return slices.Concat([]byte(head), items, []byte(tail))
}

// servesBinary reports whether r is served in protobuf with these parameters of an
// Accept header: built-in kinds, and the metadata of any kind.
func servesBinary(r *object.Info, verb string, params map[string]string) bool {
	if verb == "delete" || verb == "deletecollection" {
		return false // JSON suffices for their response, which is a Status as a rule
	}
	switch params["as"] {
	case "":
		return r.BuiltIn && protojson.Lookup(r.APIVersion(), r.Kind) != nil
	case "PartialObjectMetadata", "PartialObjectMetadataList":
		return params["v"] == "v1"
	}
	return false
}

// Send sends body, which is JSON, in the negotiated form.
func (v *View) Send(w http.ResponseWriter, code int, body []byte) {
	if v.Binary {
		if b, err := protojson.Encode(body, v.Info.APIVersion(), v.Info.Kind); err == nil {
			wire.WriteJSON(w, code, protojson.MediaType, b)
			return
		}
	}
	wire.WriteJSON(w, code, "application/json", body)
}
