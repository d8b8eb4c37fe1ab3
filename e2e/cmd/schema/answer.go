package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// testCase is a story about one object, told by a person but for the answers.
type testCase struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // "apps/v1 Deployment deployments", or "example.com/v1 Foo foos" of CRD

	CRD    json.RawMessage `json:"crd,omitempty"`    // openAPIV3Schema
	Status bool            `json:"status,omitempty"` // the CRD has a status subresource
	Steps  []step          `json:"steps"`
}

// step is a request. Create is a POST; update, merge, json, strategic and apply
// go to the object.
type step struct {
	Do    string `json:"do"`
	Sub   string `json:"sub,omitempty"`
	Query string `json:"query,omitempty"`

	Body json.RawMessage `json:"body,omitempty"`
	Text string          `json:"text,omitempty"` // instead of Body, where bytes matter

	Code     int             `json:"code"`
	Warnings []string        `json:"warnings,omitempty"`
	Answer   json.RawMessage `json:"answer,omitempty"` // an object or a Status
}

var contentTypes = map[string]string{
	"create": "application/json", "update": "application/json", "apply": "application/apply-patch+yaml",
	"merge": "application/merge-patch+json", "json": "application/json-patch+json",
	"strategic": "application/strategic-merge-patch+json",
}

// answer plays the cases of a file and writes the answers into it.
func (s *server) answer(ctx context.Context, file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var cases []testCase
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&cases); err != nil {
		return err
	}
	for i := range cases {
		if err := s.play(ctx, &cases[i]); err != nil {
			return fmt.Errorf("case %q: %w", cases[i].Name, err)
		}
	}
	var out bytes.Buffer
	out.WriteString("[\n")
	for i, c := range cases {
		if i > 0 {
			out.WriteString(",\n")
		}
		if err := appendCase(&out, c); err != nil {
			return err
		}
	}
	out.WriteString("\n]\n")
	return os.WriteFile(file, out.Bytes(), 0o644)
}

// appendCase writes a step and its answer on a line each.
func appendCase(out *bytes.Buffer, c testCase) error {
	steps := c.Steps
	c.Steps = nil
	head, err := encode(c)
	if err != nil {
		return err
	}
	out.Write(bytes.TrimSuffix(head, []byte("null}")))
	out.WriteString("[")
	for i, st := range steps {
		code, warnings, answer := st.Code, st.Warnings, st.Answer
		st.Warnings, st.Answer = nil, nil
		request, err := encode(st)
		if err != nil {
			return err
		}
		reply, err := encode(step{Code: code, Warnings: warnings, Answer: answer})
		if err != nil {
			return err
		}
		if i > 0 {
			out.WriteString(",")
		}
		request = bytes.TrimSuffix(request, fmt.Appendf(nil, `"code":%d}`, code))
		fmt.Fprintf(out, "\n  %s\n   %s", request, bytes.TrimPrefix(reply, []byte(`{"do":"",`)))
	}
	out.WriteString("]}")
	return nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

func (s *server) play(ctx context.Context, c *testCase) error {
	words := strings.Fields(c.Kind)
	if len(words) != 3 {
		return fmt.Errorf("kind %q is not apiVersion, kind and plural", c.Kind)
	}
	base := "/apis/" + words[0]
	if !strings.Contains(words[0], "/") {
		base = "/api/" + words[0]
	}
	base += "/namespaces/default/" + words[2]
	if c.CRD != nil {
		if err := s.createCRD(ctx, c, words[1], words[2], base); err != nil {
			return err
		}
	}
	for i := range c.Steps {
		st := &c.Steps[i]
		if contentTypes[st.Do] == "" {
			return fmt.Errorf("step %d: it does not say what to do", i+1)
		}
		method, path, revision := http.MethodPatch, base+"/"+c.object(), ""
		switch st.Do {
		case "create":
			method, path = http.MethodPost, base
		case "update":
			method = http.MethodPut
			var live struct {
				Metadata struct{ ResourceVersion string }
			}
			if err := s.get(ctx, path, &live); err != nil {
				return fmt.Errorf("step %d: %w", i+1, err)
			}
			revision = live.Metadata.ResourceVersion
		}
		if st.Sub != "" {
			path += "/" + st.Sub
		}
		if st.Query != "" {
			path += "?" + st.Query
		}
		body := []byte(st.Text)
		if st.Body != nil {
			body = st.Body
		}
		body = bytes.Replace(body, []byte(`"resourceVersion":"1"`), []byte(`"resourceVersion":"`+revision+`"`), 1)
		var err error
		if st.Code, st.Warnings, st.Answer, err = s.do(ctx, method, path, contentTypes[st.Do], body); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

// object is the name of the object in c.
func (c *testCase) object() string {
	var o struct{ Metadata struct{ Name string } }
	for _, st := range c.Steps {
		json.Unmarshal(st.Body, &o) // a patch may be an array
		json.Unmarshal([]byte(st.Text), &o)
		if o.Metadata.Name != "" {
			return o.Metadata.Name
		}
	}
	return "none"
}

func (s *server) do(ctx context.Context, method, path, contentType string, body []byte) (int, []string, json.RawMessage, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "tester/1")
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return 0, nil, nil, err
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return 0, nil, nil, fmt.Errorf("%s %s: %s: %w", method, path, resp.Status, err)
	}
	still(v)
	b, err = encode(v)
	for was, is := range map[string]string{ // within texts, where quotes are escaped
		`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ`: when,
		`(uid\\+":\\+")[-0-9a-f]{36}`:      "${1}u",
		`(resourceVersion\\+":\\+")\d+`:    "${1}1",
	} {
		b = regexp.MustCompile(was).ReplaceAll(b, []byte(is))
	}
	return resp.StatusCode, resp.Header.Values("Warning"), b, err
}

const when = "2026-01-01T00:00:00Z"

// still takes from an object what differs from run to run.
func still(v any) {
	o, _ := v.(map[string]any)
	if details, _ := o["details"].(map[string]any); details != nil && details["causes"] != nil {
		stillCauses(o, details["causes"].([]any))
	}
	meta, _ := o["metadata"].(map[string]any)
	if meta == nil || o["kind"] == "Status" {
		return
	}
	for name, value := range map[string]string{"uid": "u", "resourceVersion": "1", "creationTimestamp": when} {
		if meta[name] != nil {
			meta[name] = value
		}
	}
	managed, _ := meta["managedFields"].([]any)
	key := func(v any) string {
		e := v.(map[string]any)
		return fmt.Sprint(e["operation"], e["manager"], e["apiVersion"], e["subresource"])
	}
	for _, e := range managed {
		if e := e.(map[string]any); e["time"] != nil {
			e["time"] = when
		}
	}
	slices.SortFunc(managed, func(a, b any) int { return cmp.Compare(key(a), key(b)) })
}

// stillCauses sorts causes, which come in any order, and what the message of a 422
// says of them.
func stillCauses(status map[string]any, causes []any) {
	text := func(v any) string {
		c := v.(map[string]any)
		return fmt.Sprintf("%v: %v", c["field"], c["message"])
	}
	slices.SortFunc(causes, func(a, b any) int { return cmp.Compare(text(a), text(b)) })
	message, _ := status["message"].(string)
	if head, _, ok := strings.Cut(message, " is invalid: ["); ok {
		var texts []string
		for _, c := range causes {
			texts = append(texts, text(c))
		}
		status["message"] = head + " is invalid: [" + strings.Join(texts, ", ") + "]"
	}
}

// createCRD makes the type of c and waits until it is served.
func (s *server) createCRD(ctx context.Context, c *testCase, kind, plural, base string) error {
	gv := strings.Split(strings.Fields(c.Kind)[0], "/")
	version := map[string]any{"name": gv[1], "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": c.CRD}}
	if c.Status {
		version["subresources"] = map[string]any{"status": map[string]any{}}
	}
	crd, err := encode(map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + gv[0]},
		"spec": map[string]any{"group": gv[0], "scope": "Namespaced", "versions": []any{version},
			"names": map[string]any{"kind": kind, "plural": plural}}})
	if err != nil {
		return err
	}
	path := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	code, _, answer, err := s.do(ctx, http.MethodPost, path, "application/json", crd)
	if err != nil {
		return err
	}
	if code != http.StatusCreated {
		return fmt.Errorf("create the CRD: %s", answer)
	}
	query := "?" + url.Values{"dryRun": {"All"}}.Encode()
	for { // writes are refused for a while after Established
		code, _, _, err := s.do(ctx, http.MethodPost, base+query, "application/json", []byte(`{}`))
		if err == nil && code != http.StatusNotFound && code != http.StatusTooManyRequests {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
