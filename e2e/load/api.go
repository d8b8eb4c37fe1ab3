package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// stampKey is the annotation that tells which write made a version.
const stampKey = "listwatch.test/write"

// object is what the load maker reads of any object.
type object struct {
	Metadata struct {
		UID             string            `json:"uid"`
		ResourceVersion string            `json:"resourceVersion"`
		Annotations     map[string]string `json:"annotations"`
	} `json:"metadata"`
}

// statusError is an answer that is no success.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return fmt.Sprintf("HTTP %d: %s", e.code, e.text) }

// retriable reports whether the answer is about the server's state, not the
// request. 404 and 409 come from an earlier attempt whose answer was lost.
func (e *statusError) retriable() bool {
	switch e.code {
	case http.StatusNotFound, http.StatusConflict, http.StatusTooManyRequests:
		return true
	}
	return e.code >= 500
}

// api is the few requests that the load maker needs.
type api struct {
	url  string
	http *http.Client
}

// do makes one attempt at a write.
func (a *api) do(ctx context.Context, op Op, s *slot, stamp, payload string) (object, error) {
	collection := a.url + s.kind.path(s.ns)
	switch op {
	case Created:
		return a.call(ctx, http.MethodPost, collection, "application/json", s.kind.object(s.ns, s.name, stamp, payload))
	case Updated:
		return a.call(ctx, http.MethodPatch, collection+"/"+s.name, "application/merge-patch+json", s.kind.patch(s.uid, s.rv, stamp, payload))
	default:
		return a.call(ctx, http.MethodDelete, collection+"/"+s.name, "application/json", map[string]any{
			"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
			"preconditions": map[string]any{"uid": s.uid},
		})
	}
}

// get reads the object in a slot; it is empty if there is none.
func (a *api) get(ctx context.Context, s *slot) (object, error) {
	o, err := a.call(ctx, http.MethodGet, a.url+s.kind.path(s.ns)+"/"+s.name, "", nil)
	if refused, ok := err.(*statusError); ok && refused.code == http.StatusNotFound {
		return object{}, nil
	}
	return o, err
}

func (a *api) call(ctx context.Context, method, url, contentType string, in any) (object, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return object{}, err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return object{}, err
	}
	if in != nil {
		req.Header.Set("Content-Type", contentType)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := a.http.Do(req)
	if err != nil {
		return object{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return object{}, err
	}
	if resp.StatusCode >= 300 {
		return object{}, &statusError{resp.StatusCode, string(data[:min(len(data), 500)])}
	}
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		return object{}, fmt.Errorf("decode the answer: %w", err)
	}
	return o, nil
}
