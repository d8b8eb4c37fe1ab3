package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/crd"
	"github.com/listwatch/listwatch/kube"
)

// Convert adds a conversion between two versions of a custom resource: that of hub, which
// should be the one that is stored, and spoke. Call Convert once for each version other
// than hub; the server converts two of these versions to each other by way of hub. up and
// down are called concurrently, and must lose nothing: keep what a version cannot hold in
// an annotation. webhooktest.RoundTrip looks for lost members.
//
// The server keeps the metadata of an object except for labels and annotations, and drops members
// that the types do not have. If up or down fails, the conversion request fails with the text of
// the error, and with it the client's list or watch: up and down must convert every object that can
// be stored. For server-side apply, the API server also converts objects without the fields that
// a manager applied earlier, required ones and the metadata included. Convert panics if s runs, or
// if the conversion exists. For informers of hub in the same program, see Options.Service.
func Convert[Hub, Spoke kube.Object](s *Server, hub kube.Resource, spoke string, up func(Spoke) (Hub, error), down func(Hub) (Spoke, error)) {
	s.addConversion(hub, spoke, conversion{
		up:   func(b json.RawMessage) (json.RawMessage, error) { return converted(b, up) },
		down: func(b json.RawMessage) (json.RawMessage, error) { return converted(b, down) },
	})
}

// conversion converts between the hub and one other version.
type conversion struct {
	up, down func(json.RawMessage) (json.RawMessage, error)
}

// converter converts the objects of one resource.
type converter struct {
	hub    kube.Resource
	spokes map[string]conversion // by version
}

func converted[From, To kube.Object](b json.RawMessage, f func(From) (To, error)) (json.RawMessage, error) {
	from, err := codec.Decode[From](b)
	if err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	to, err := f(from)
	if err != nil {
		return nil, err
	}
	return codec.Encode(to)
}

// handle converts the objects of a ConversionReview.
func (c *converter) handle(ctx context.Context, body []byte) (any, outcome, error) {
	q, err := parseConversion(body)
	if err != nil {
		return nil, outcome{}, err
	}
	group, version, ok := strings.Cut(q.Desired, "/")
	if !ok || group != c.hub.Group || version != c.hub.Version && c.spokes[version].up == nil {
		return nil, outcome{}, fmt.Errorf("the ConversionReview asks for another version than those of %s", c.hub.GroupResource())
	}
	out := &conversionResponse{UID: q.UID, Converted: make([]json.RawMessage, 0, len(q.Objects)), Result: result{Status: "Success"}}
	failure := guarded(func() error {
		for _, b := range q.Objects {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			o, err := c.object(b, version)
			if err != nil {
				return err
			}
			out.Converted = append(out.Converted, o)
		}
		return nil
	})
	if failure != nil {
		out.Converted, out.Result = []json.RawMessage{}, result{Status: "Failure", Message: clip(failure.Error())}
	}
	return conversionReview{APIVersion: conversionVersion, Kind: "ConversionReview", Response: out}, outcome{allowed: failure == nil, err: failure}, nil
}

// object converts one object.
func (c *converter) object(b json.RawMessage, version string) (json.RawMessage, error) {
	id, err := codec.Skim(b)
	if err != nil {
		return nil, fmt.Errorf("read an object to convert: %w", err)
	}
	key := kube.Key{Namespace: kube.CleanName(id.Namespace), Name: kube.CleanName(id.Name)}
	group, from, _ := strings.Cut(id.APIVersion, "/")
	if group != c.hub.Group || id.Kind != c.hub.Kind || from != c.hub.Version && c.spokes[from].up == nil {
		return nil, fmt.Errorf("convert %s %s: it has another version than those of %s", c.hub.Kind, key, c.hub.GroupResource())
	}
	o := b
	if from != version && from != c.hub.Version {
		if o, err = c.spokes[from].up(o); err != nil {
			return nil, fmt.Errorf("convert %s %s from %s: %w", c.hub.Kind, key, from, err)
		}
	}
	if from != version && version != c.hub.Version {
		if o, err = c.spokes[version].down(o); err != nil {
			return nil, fmt.Errorf("convert %s %s to %s: %w", c.hub.Kind, key, version, err)
		}
	}
	if o, err = identified(b, o, c.hub.Group+"/"+version); err != nil {
		return nil, fmt.Errorf("convert %s %s: %w", c.hub.Kind, key, err)
	}
	return o, nil
}

// identified returns now with the kind and metadata of the object that was converted,
// except for labels and annotations, and with an apiVersion.
func identified(was, now json.RawMessage, apiVersion string) (json.RawMessage, error) {
	before, err := codec.Decode[map[string]any](was)
	if err != nil {
		return nil, err
	}
	after, err := codec.Decode[map[string]any](now)
	if err != nil {
		return nil, err
	}
	meta, _ := before["metadata"].(map[string]any)
	if meta == nil { // an object without the fields of a manager; API servers want metadata back
		meta = make(map[string]any)
	}
	changed, _ := after["metadata"].(map[string]any)
	for _, name := range []string{"labels", "annotations"} {
		delete(meta, name)
		if v, ok := changed[name]; ok && v != nil {
			meta[name] = v
		}
	}
	after["apiVersion"], after["kind"], after["metadata"] = apiVersion, before["kind"], meta
	return codec.Encode(after)
}

// Conversion returns the member spec.conversion of the definition of res, without the CA,
// which Run adds.
func (s *Server) Conversion(res kube.Resource) *crd.Conversion {
	return &crd.Conversion{Strategy: "Webhook", Webhook: map[string]any{
		"clientConfig":             s.options.clientConfig(conversionPath(res)),
		"conversionReviewVersions": []string{"v1"},
	}}
}

func conversionPath(res kube.Resource) string { return "/convert/" + res.GroupResource() }
