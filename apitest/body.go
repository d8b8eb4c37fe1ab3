package apitest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/listwatch/listwatch/apitest/protobuf"
	"github.com/listwatch/listwatch/kube"
)

// bodyLimit is the largest body of a write, as kube-apiserver's.
const bodyLimit = 3 << 20

// Media types of writes.
const (
	typeJSON      = "application/json"
	typeYAML      = "application/yaml"
	typeJSONPatch = "application/json-patch+json"
	typeMerge     = "application/merge-patch+json"
	typeStrategic = "application/strategic-merge-patch+json"
	typeApply     = "application/apply-patch+yaml"
)

// readBody returns the body of a write as JSON, and its media type, which is one
// of accepted: the first where the client names none. Where that is JSON, protobuf
// is accepted too, and passes for it.
func readBody(x *exchange, accepted ...string) (b []byte, typ string, st *kube.Status) {
	if typ, st = bodyType(x, accepted...); st != nil {
		return nil, "", st
	}
	b, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, bodyLimit))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return nil, "", &kube.Status{Code: http.StatusRequestEntityTooLarge, Reason: "RequestEntityTooLarge",
			Message: fmt.Sprintf("Request entity too large: limit is %d", bodyLimit), Details: &kube.StatusDetails{}}
	}
	if err != nil {
		return nil, "", statusBadRequest("read the body: %v", err)
	}
	if typ == typeYAML || typ == typeApply {
		if b, err = yamlToJSON(b); err != nil {
			return nil, "", statusBadRequest("error decoding YAML: %v", err)
		}
	}
	if typ == protobuf.MediaType && len(b) > 0 {
		typ = typeJSON
		if b, st = protobufToJSON(x.target, b); st != nil {
			return nil, "", st
		}
	}
	return b, typ, nil
}

// bodyType returns the media type of a write's body, as readBody has it.
func bodyType(x *exchange, accepted ...string) (string, *kube.Status) {
	ct := x.r.Header.Get("Content-Type")
	if ct == "" {
		return accepted[0], nil
	}
	typ, _, err := mime.ParseMediaType(ct)
	binary := typ == protobuf.MediaType && accepted[0] == typeJSON
	if err != nil || !binary && !slices.Contains(accepted, typ) {
		return "", statusMediaType(accepted)
	}
	return typ, nil
}

// protobufToJSON converts what a typed client sends for t. Kinds without a known
// protobuf form are custom resources; kube-apiserver breaks the connection then.
func protobufToJSON(t target, b []byte) ([]byte, *kube.Status) {
	deletes := t.verb == "delete" || t.verb == "deletecollection"
	j, apiVersion, kind, err := protobuf.Decode(b)
	if errors.Is(err, protobuf.ErrUnknown) || err == nil && deletes && kind != "DeleteOptions" {
		if !deletes && !t.info.builtIn {
			return nil, statusMediaType([]string{typeJSON})
		}
		err = fmt.Errorf("no kind %q is registered for version %q in scheme %q", kind, apiVersion, "pkg/runtime/scheme.go:111")
	}
	switch {
	case err == nil:
		return j, nil
	case deletes:
		return nil, statusBadRequest("%v", err)
	case kind == "":
		return nil, statusBadRequest("the object provided is unrecognized (must be of type %s): %v", t.res.Kind, err)
	}
	version := apiVersion[strings.LastIndexByte(apiVersion, '/')+1:]
	return nil, statusBadRequest("%s in version %q cannot be handled as a %s: %v", kind, version, t.res.Kind, err)
}

func statusMediaType(accepted []string) *kube.Status {
	if accepted[0] == typeJSON {
		accepted = []string{typeJSON, typeYAML, protobuf.MediaType}
	}
	return &kube.Status{Code: http.StatusUnsupportedMediaType, Reason: "UnsupportedMediaType",
		Message: "the body of the request was in an unknown format - accepted media types include: " + strings.Join(accepted, ", ")}
}

// yamlToJSON converts one YAML document. JSON passes as it is.
func yamlToJSON(b []byte) ([]byte, error) {
	if t := bytes.TrimLeft(b, " \t\r\n"); len(t) > 0 && t[0] == '{' && json.Valid(t) {
		return t, nil
	}
	var v any
	if err := yaml.Unmarshal(b, &v); err != nil {
		return nil, errors.New("it is not YAML") // the parser's error quotes the document
	}
	j, err := json.Marshal(v)
	if err != nil {
		return nil, errors.New("it has a key that is not a string, or a number that JSON has not")
	}
	return j, nil
}

// decodeObject reads an object that is to be stored at t.
func decodeObject(t target, b []byte) (*object, *kube.Status) {
	res, key := t.res, t.key
	var head struct{ Kind string }
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, statusBadRequest("the object provided is unrecognized (must be of type %s): couldn't get version/kind; json parse error: %v", res.Kind, err)
	}
	o, err := parseObject(res, b)
	if err != nil {
		return nil, statusBadRequest("%s in version %q cannot be handled as a %s: %v", cmp.Or(head.Kind, res.Kind), res.Version, res.Kind, err)
	}
	if res.Namespaced {
		if o.meta.Namespace != "" && o.meta.Namespace != key.Namespace {
			return nil, statusBadRequest("the namespace of the provided object does not match the namespace sent on the request")
		}
		o.meta.Namespace = key.Namespace
	}
	if key.Name != "" && o.meta.Name != "" && o.meta.Name != key.Name {
		return nil, statusBadRequest("the name of the object (%s) does not match the name on the URL (%s)", o.meta.Name, key.Name)
	}
	o.meta.Name = cmp.Or(o.meta.Name, key.Name)
	o.key = kube.Key{Namespace: o.meta.Namespace, Name: o.meta.Name}
	return o, nil
}
