package apitest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/view"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/internal/protojson"
	"github.com/listwatch/listwatch/kube"
)

// payload is the body of a write.
type payload struct {
	json  []byte
	typ   string   // the media type that it was sent in; JSON also stands for protobuf
	twice []string // keys that occur more than once in YAML
}

// readBody returns the body of a write. Its media type must be one of accepted: the
// first one if the client sends none. If that is JSON, protobuf is accepted too, and
// treated as JSON.
func readBody(x *Exchange, accepted ...string) (p payload, st *kube.Status) {
	if p.typ, st = bodyType(x, accepted...); st != nil {
		return p, st
	}
	b, st := x.body.Read(x.srv.bodies, x.w, x.r, wire.BodyLimit)
	if p.json = b; st != nil {
		return p, st
	}
	x.turn.Weigh(p.typ, b)
	if st := x.decodes(x.srv.current(x.target)); st != nil {
		return p, st
	}
	if p.typ == wire.TypeYAML || p.typ == wire.TypeApply {
		var err error
		if p.json, p.twice, err = wire.FromYAML(b); err != nil && p.typ == wire.TypeApply {
			return p, wire.BadRequest("error encoding patch: %v", err)
		} else if err != nil {
			return p, wire.BadRequest("the object provided is unrecognized (must be of type %s): %v (%s)", x.target.res.Kind, err, wire.Summary(b))
		}
	}
	if p.typ == protojson.MediaType && len(b) > 0 {
		p.typ = wire.TypeJSON
		if p.json, st = protobufToJSON(x.target, b); st != nil {
			return p, st
		}
	}
	return p, nil
}

// decodes waits until it is the turn of x to decode its body, and o, which is stored.
func (x *Exchange) decodes(o *object.Object) *kube.Status {
	return x.turn.Take(x.srv.turns, x.r.Context(), o.Size())
}

// shows waits until it is the turn of x to show objects in another form than that in which they
// are stored, which decodes them.
func (x *Exchange) shows(w http.ResponseWriter, v *view.View, objects ...*object.Object) *kube.Status {
	return x.turn.Take(x.srv.turns, x.r.Context(), v.Decodes(w != x, objects...))
}

// bodyType returns the media type of a write's body, see readBody.
func bodyType(x *Exchange, accepted ...string) (string, *kube.Status) {
	ct := x.r.Header.Get("Content-Type")
	switch {
	case ct == "":
		return accepted[0], nil
	case slices.Contains(accepted, ct):
		return ct, nil
	}
	typ, _, err := mime.ParseMediaType(ct)
	binary := typ == protojson.MediaType && accepted[0] == wire.TypeJSON
	if err != nil || !binary && !slices.Contains(accepted, typ) {
		return "", wire.UnsupportedMediaType(accepted)
	}
	return typ, nil
}

// protobufToJSON converts what a typed client sends for t. Kinds without a known
// protobuf form are custom resources; kube-apiserver breaks the connection then.
func protobufToJSON(t target, b []byte) ([]byte, *kube.Status) {
	deletes := t.verb == "delete" || t.verb == "deletecollection"
	j, apiVersion, kind, err := protojson.Decode(b, wire.BodyLimit)
	if errors.Is(err, protojson.ErrUnknown) || err == nil && deletes && kind != "DeleteOptions" {
		if !deletes && !t.info.BuiltIn {
			return nil, wire.UnsupportedMediaType([]string{wire.TypeJSON})
		}
		err = fmt.Errorf("no kind %q is registered for version %q in scheme %q", kind, apiVersion, "pkg/runtime/scheme.go:111")
	}
	switch {
	case err == nil:
		return j, nil
	case deletes:
		return nil, wire.BadRequest("%v", err)
	case kind == "" && !bytes.HasPrefix(b, []byte("k8s\x00")):
		return nil, wire.BadRequest("the object provided is unrecognized (must be of type %s): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] (%s)", t.res.Kind, wire.Summary(b))
	case kind == "":
		return nil, wire.BadRequest("the object provided is unrecognized (must be of type %s): %v", t.res.Kind, err)
	}
	version := apiVersion[strings.LastIndexByte(apiVersion, '/')+1:]
	return nil, wire.BadRequest("%s in version %q cannot be handled as a %s: %v", kind, version, t.res.Kind, err)
}

// statusPatchType is the 415 for a patch of t in a media type that is not accepted.
func statusPatchType(t target, accepted []string) *kube.Status {
	st := wire.UnsupportedMediaType(accepted)
	if t.info.BuiltIn {
		st.Message, st.Details = "415: Unsupported Media Type", &kube.StatusDetails{}
	}
	return st
}

// patchTypes returns the media types of patches of t.
func (t target) patchTypes() []string {
	if t.info.BuiltIn {
		return []string{wire.TypeJSONPatch, wire.TypeMerge, wire.TypeStrategic, wire.TypeApply}
	}
	return []string{wire.TypeJSONPatch, wire.TypeMerge, wire.TypeApply}
}

// refusalByGuard is the Status of a request that the guard of the listener refused:
// that of kube-apiserver if it refuses the request too, otherwise one with the guard's
// reason.
func refusalByGuard(x *Exchange) *kube.Status {
	switch t := x.target; {
	case x.refused.Code != http.StatusUnsupportedMediaType:
		return &kube.Status{Code: x.refused.Code, Reason: "Forbidden", Message: x.refused.Text}
	case t.table != nil && t.verb == "patch":
		return statusPatchType(t, t.patchTypes())
	case t.table != nil && x.r.Header.Get("Content-Type") != "":
		return wire.UnsupportedMediaType([]string{wire.TypeJSON})
	}
	return &kube.Status{Code: x.refused.Code, Reason: "UnsupportedMediaType", Message: x.refused.Text}
}

// decodeObject decodes an object to store at t.
func decodeObject(t target, b []byte) (*object.Object, *kube.Status) {
	res := t.res
	o, err := object.Parse(res, b)
	if err != nil {
		var head struct{ Kind string }
		if err := json.Unmarshal(b, &head); err != nil {
			return nil, wire.BadRequest("the object provided is unrecognized (must be of type %s): couldn't get version/kind; json parse error: %v", res.Kind, err)
		}
		return nil, wire.BadRequest("%s in version %q cannot be handled as a %s: %v", cmp.Or(head.Kind, res.Kind), res.Version, res.Kind, err)
	}
	if t.info.BuiltIn {
		o.Meta.ManagedFields = object.InOrder(o.Meta.ManagedFields)
	}
	return t.place(o)
}

// place sets the name and namespace of o from the URL, or returns an error if o has
// others.
func (t target) place(o *object.Object) (*object.Object, *kube.Status) {
	key := t.key
	if t.res.Namespaced {
		if o.Meta.Namespace != "" && o.Meta.Namespace != key.Namespace {
			return nil, wire.BadRequest("the namespace of the provided object does not match the namespace sent on the request")
		}
		o.Meta.Namespace = key.Namespace
	}
	if key.Name != "" && o.Meta.Name != "" && o.Meta.Name != key.Name {
		return nil, wire.BadRequest("the name of the object (%s) does not match the name on the URL (%s)", o.Meta.Name, key.Name)
	}
	o.Meta.Name = cmp.Or(o.Meta.Name, key.Name)
	o.Key = kube.Key{Namespace: o.Meta.Namespace, Name: o.Meta.Name}
	return o, nil
}

// notAllowed is the 405 for a verb that t does not have.
func (t target) notAllowed() *kube.Status {
	st := wire.MethodNotAllowed()
	if !t.info.BuiltIn && t.sub != "" {
		st.Message = fmt.Sprintf("%s is not supported on resources of kind %q", t.verb, t.res.GroupResource())
		st.Details = &kube.StatusDetails{Group: t.res.Group, Kind: t.res.Plural}
	}
	return st
}
