package apitest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/store"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/internal/protojson"
	"github.com/listwatch/listwatch/kube"
)

// view is the form in which a client wants objects.
type view struct {
	info    *object.Info
	as      string // "", "Table", "PartialObjectMetadata"
	version string // of meta.k8s.io
	include string // of a Table's rows: None, Metadata, Object
	columns bool   // a Table has been sent, with its columns

	standard *object.Object // the one that the Table of a list marks as the default

	binary bool // the answer is in protobuf

	refused *kube.Status // why it cannot be had of what is found
}

// parseView negotiates by the Accept header: the first clause that the server
// can serve.
func parseView(r *http.Request, info *object.Info, verb string) (*view, *kube.Status) {
	v := &view{info: info, include: r.URL.Query().Get("includeObject")}
	if wire.AcceptsNothing(r) {
		return v, nil
	}
	readable := false // JSON is, if only in some form
	for _, c := range wire.Clauses(r) {
		typ, params := c.Type, c.Params
		v.binary = typ == protojson.MediaType && servesBinary(info, verb, params)
		switch {
		case v.binary:
		case typ == wire.TypeYAML && verb != "watch":
		case typ == "application/*" && info.BuiltIn: // which is not what its routes offer
			continue
		case typ != wire.TypeJSON && typ != "*/*" && typ != "application/*":
			continue
		}
		if readable = true; params == nil {
			continue
		}
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
				v.refused = wire.BadRequest("Unable to convert to Table as requested: includeObject: Invalid value: %q: must be 'Metadata', 'Object', 'None', or empty", v.include)
			}
			v.as = as
			return v, nil
		case as == "PartialObjectMetadata" && verb == "list":
			v.refused = wire.NotAcceptable("you requested PartialObjectMetadata, but the requested object is a list (*%s)", info.GoType(info.ListKind()))
			return v, nil
		case as == "PartialObjectMetadataList" && verb == "get":
			v.refused = wire.NotAcceptable("you requested PartialObjectMetadataList, but the requested object is not a list (*%s)", info.GoType(info.Kind))
			if !info.BuiltIn {
				v.refused = wire.Raw("content is not a list")
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

// shown returns o in the form in which r is served.
func shown(r *object.Info, o *object.Object) *object.Object {
	switch {
	case r.Core.Plural != "":
		return eventOf(r, o)
	case !r.BuiltIn && o.Version != r.Version:
		return converted(r, o)
	}
	return o
}

// object returns o as an answer of its own.
func (v *view) object(o *object.Object) []byte {
	switch v.as {
	case "Table":
		return v.table([]*object.Object{o}, listMeta{ResourceVersion: o.Meta.ResourceVersion})
	case "PartialObjectMetadata":
		return v.partial(nil, o)
	}
	return slices.Clip(shown(v.info, o).Body) // what is appended goes to a copy
}

func (v *view) partial(b []byte, o *object.Object) []byte {
	b = append(b, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/`...)
	b = append(b, v.version...)
	b = append(b, `","metadata":`...)
	b = append(b, o.RawMeta...)
	return append(b, '}')
}

// event returns one frame of a watch, with its newline.
func (v *view) event(typ string, o *object.Object) []byte {
	b := append([]byte(`{"type":"`), typ...)
	b = append(b, `","object":`...)
	b = append(b, v.object(o)...)
	return append(b, '}', '\n')
}

// bookmark returns the frame of a bookmark; end marks the end of the initial
// events.
func (v *view) bookmark(rv uint64, end bool) []byte {
	o := kinds.Zero(v.info)
	if end {
		o.Meta.Annotations = map[string]string{"k8s.io/initial-events-end": "true"}
	}
	o.Seal(v.info, rv)
	return v.event("BOOKMARK", o)
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

// list returns p as the body of a LIST. metadataLast puts the metadata after
// the items, as lists of custom resources have it.
func (v *view) list(p *store.Page, metadataLast bool) []byte {
	meta := listMeta{ResourceVersion: strconv.FormatUint(p.RV, 10), Continue: p.Token, RemainingItemCount: p.Remaining}
	var b []byte
	switch v.as {
	case "Table":
		if standard := kinds.PrinterOf(v.info).Standard; standard != nil {
			v.standard = standard(p.Objects)
		}
		return append(v.table(p.Objects, meta), '\n')
	case "PartialObjectMetadata":
		b = append(b, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/`+v.version+`","metadata":`...)
		b = append(b, object.Marshal(meta)...)
		if len(p.Objects) == 0 {
			return append(b, `,"items":null}`+"\n"...)
		}
		b = append(b, `,"items":[`...)
		for i, o := range p.Objects {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.partial(b, o)
		}
		return append(b, "]}\n"...)
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
		items = shown(v.info, o).AppendItem(items, v.info)
	}
	items = append(items, ']')
	kind, version := object.Marshal(v.info.ListKind()), object.Marshal(v.info.APIVersion())
	if !v.info.BuiltIn {
		sorted := struct {
			Continue           string `json:"continue"`
			RemainingItemCount *int64 `json:"remainingItemCount,omitempty"`
			ResourceVersion    string `json:"resourceVersion"`
		}{meta.Continue, meta.RemainingItemCount, meta.ResourceVersion}
		return join(`{"apiVersion":`, string(version), `,`, string(items), `,"kind":`, string(kind), `,"metadata":`, string(object.Marshal(sorted)), "}\n")
	}
	if p.Sharding != nil {
		meta.ShardInfo = &shardInfo{p.Sharding.Text}
	}
	first, second := `"metadata":`+string(object.Marshal(meta)), string(items)
	if metadataLast {
		first, second = second, first
	}
	return join(`{"kind":`, string(kind), `,"apiVersion":`, string(version), `,`, first, `,`, second, "}\n")
}

func join(parts ...string) []byte { return []byte(strings.Join(parts, "")) }
