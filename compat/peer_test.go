package compat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// endOfState is the bookmark that ends the events of a state.
const endOfState = "k8s.io/initial-events-end"

// request is one request, in which {rv:KEY}, {uid:KEY}, {list}, {old} and
// {continue:RESOURCE} stand for what the server said before: KEY is resource/name.
type request struct {
	method, path, query, accept, contentType, body string

	silent bool   // of the answer only the code of a write counts
	until  string // a watch is read until the event of the object of this name, or endOfState
}

func (r request) String() string {
	text := r.method + " " + r.path
	if r.query != "" {
		text += "?" + r.query
	}
	if r.accept != "" {
		text += "\n  accept: " + r.accept
	}
	if r.body != "" {
		text += "\n  " + r.contentType + ": " + r.body
	}
	return text
}

// peer is a server as one who sends requests remembers it.
type peer struct {
	s       *server
	rv, uid map[string]string // of an object, by resource/name
	list    string            // revision of the last list
	next    map[string]string // the last continue token of a list, by resource: what one of another resource means is nobody's business
	rvs     map[string]string // revision -> r1, r2 ...
	uids    map[string]string
	old     string              // revision of the first list of the epoch
	foreign map[string][]string // names of what is not ours, by the path of its collection
}

func newPeer(s *server) *peer { return &peer{s: s} }

// forget removes all objects of ours of these kinds, and what is known of them.
func (p *peer) forget(t *testing.T, kinds []randomKind) {
	t.Helper()
	for _, k := range kinds {
		for _, o := range p.all(t, k) {
			if slices.Contains(p.foreign[k.path()], o.Metadata.Name) {
				continue
			}
			path := k.path() + "/" + url.PathEscape(o.Metadata.Name)
			if len(o.Metadata.Finalizers) > 0 {
				p.must(t, "PATCH", path, "application/merge-patch+json", `{"metadata":{"finalizers":null}}`)
			}
			code, _, b, err := p.send(t.Context(), request{method: "DELETE", path: path, contentType: "application/json", body: `{"propagationPolicy":"Background","gracePeriodSeconds":0}`})
			if err != nil || code >= 300 && code != http.StatusNotFound { // the last finalizer was all that kept it
				t.Fatalf("%s: DELETE %s: %d, %v: %s", p.s.name, path, code, err, b)
			}
			p.finalize(t.Context(), path)
		}
	}
	*p = peer{s: p.s, rv: make(map[string]string), uid: make(map[string]string),
		next: make(map[string]string), rvs: make(map[string]string), uids: make(map[string]string), foreign: p.foreign}
	p.do(t.Context(), request{method: "GET", path: randomKinds[0].path(), silent: true}) // for {list}
}

type listed struct {
	Metadata struct {
		Name       string
		Finalizers []string
	}
}

// all lists the objects of a kind.
func (p *peer) all(t *testing.T, k randomKind) []listed {
	t.Helper()
	var list struct{ Items []listed }
	if err := json.Unmarshal(p.must(t, "GET", k.path(), "", ""), &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// finalize ends a namespace that is being deleted, as its controller would, which
// does not run beside kube-apiserver; apitest does it itself.
func (p *peer) finalize(ctx context.Context, path string) {
	if !namespacePath.MatchString(path) || p.s.name != real {
		return
	}
	code, _, b, err := p.send(ctx, request{method: "GET", path: path})
	if err != nil || code != http.StatusOK || !bytes.Contains(b, []byte(`"deletionTimestamp"`)) || !bytes.Contains(b, []byte(`"spec":{"finalizers"`)) {
		return
	}
	var o map[string]any
	if json.Unmarshal(b, &o) != nil {
		return
	}
	o["spec"] = map[string]any{}
	if b, err = json.Marshal(o); err == nil {
		p.send(ctx, request{method: "PUT", path: path + "/finalize", contentType: "application/json", body: string(b)})
	}
}

var namespacePath = regexp.MustCompile(`^/api/v1/namespaces/[^/]+$`)

func (p *peer) must(t *testing.T, method, path, contentType, body string) []byte {
	t.Helper()
	code, _, b, err := p.send(t.Context(), request{method: method, path: path, contentType: contentType, body: body})
	if err != nil || code >= 300 {
		t.Fatalf("%s: %s %s: %d, %v: %s", p.s.name, method, path, code, err, b)
	}
	return b
}

var placeholder = regexp.MustCompile(`\{(rv|uid):[a-z]+/[a-zA-Z0-9_.-]+\}|\{continue:[a-z]+\}|\{list\}|\{old\}`)

func (p *peer) fill(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(s string) string {
		kind, key, _ := strings.Cut(s[1:len(s)-1], ":")
		switch kind {
		case "rv":
			return p.rv[key]
		case "uid":
			return p.uid[key]
		case "list":
			return p.list
		case "old":
			return p.old
		}
		return p.next[key]
	})
}

func (p *peer) send(ctx context.Context, r request) (int, http.Header, []byte, error) {
	target := p.s.url + r.path
	if r.query != "" {
		q, err := url.ParseQuery(r.query)
		if err != nil {
			return 0, nil, nil, err
		}
		for _, values := range q {
			for i := range values {
				values[i] = p.fill(values[i])
			}
		}
		target += "?" + q.Encode()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, target, strings.NewReader(p.fill(r.body)))
	if err != nil {
		return 0, nil, nil, err
	}
	req.Header.Set("User-Agent", "random/1.0")
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	resp, err := p.s.http.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	if r.until != "" && resp.StatusCode == http.StatusOK {
		b, err := readUntil(resp.Body, r.until)
		return resp.StatusCode, resp.Header, b, err
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	return resp.StatusCode, resp.Header, b, err
}

// readUntil reads the events of a watch up to the first of an object of that
// name, or the first ERROR.
func readUntil(body io.Reader, name string) ([]byte, error) {
	dec := json.NewDecoder(body)
	var all []json.RawMessage
	for {
		var event json.RawMessage
		if err := dec.Decode(&event); err != nil {
			return nil, fmt.Errorf("after %d events: %w", len(all), err)
		}
		all = append(all, event)
		if eventType, of := about(event); of == name || eventType == "ERROR" || name == endOfState && bytes.Contains(event, []byte(endOfState)) {
			return json.Marshal(all)
		}
	}
}

// settling is what servers choose by chance, and what stands for it.
var settling = []struct {
	is   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`"(?:[0-9]+[dhms]){1,2}"`), `"AGE"`}, // in the rows of a Table
	{regexp.MustCompile(`(\bA-|\ba_b|\"-)[bcdfghjklmnpqrstvwxz2456789]{5}\b`), "${1}NAME"},
	{regexp.MustCompile(`\b(gen[0-9]+)-[bcdfghjklmnpqrstvwxz2456789]{5}\b`), "$1-NAME"},
	{regexp.MustCompile(`"10\.[0-9]+\.[0-9]+\.[0-9]+"`), `"ADDRESS"`}, // of a Service
	{regexp.MustCompile(`"nodePort": 3[0-9]{4}\b`), `"nodePort": PORT`},
	{regexp.MustCompile(`\b([0-9]+):3[0-9]{4}/`), "$1:PORT/"},
	{regexp.MustCompile(`(the ResourceVersion in record \()[0-9]+\)`), "${1}UNTOLD)"}, // a deletion of many answers with what was
}

func settleChance(text string) string {
	for _, s := range settling {
		text = s.is.ReplaceAllString(text, s.with)
	}
	return text
}

// do sends a request and returns the answer in words that both servers share.
func (p *peer) do(ctx context.Context, r request) string {
	code, header, b, err := p.send(ctx, r)
	if err != nil {
		return "error: " + err.Error()
	}
	if r.method != "GET" {
		p.finalize(ctx, r.path)
	}
	text := fmt.Sprint(code)
	for _, name := range []string{"Content-Type", "Warning", "Allow", "Retry-After"} {
		for _, v := range header.Values(name) {
			text += "\n" + name + ": " + v
		}
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		text += "\n" + normal(string(b))
	} else {
		v = p.translate(resourceOf(r.path), v)
		if events, ok := v.([]any); ok && r.until != "" {
			sortInitial(r, events)
		}
		pretty, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			return "error: " + err.Error()
		}
		text += "\n" + settleChance(normal(string(pretty)))
	}
	if r.silent && r.method == "GET" {
		return ""
	} else if r.silent {
		return fmt.Sprint(code)
	}
	return text
}

// sortInitial sorts the events of a state, which come in no order.
func sortInitial(r request, events []any) {
	if strings.Contains(r.query, "resourceVersion={list}") && !strings.Contains(r.query, "sendInitialEvents") {
		return
	}
	n := slices.IndexFunc(events, func(e any) bool { return e.(map[string]any)["type"] != "ADDED" })
	if n < 0 {
		n = len(events) - 1 // the last is the one that ends it
	}
	slices.SortFunc(events[:n], func(a, b any) int { return strings.Compare(nameOf(a), nameOf(b)) })
}

func nameOf(event any) string {
	b, err := json.Marshal(event)
	if err != nil {
		return ""
	}
	_, name := about(b)
	return name
}

// about returns the type of an event and the name of its object, which may be in
// the row of a Table.
func about(event []byte) (eventType, name string) {
	type named struct{ Metadata struct{ Name string } }
	var e struct {
		Type   string
		Object struct {
			named
			Rows []struct{ Object named }
		}
	}
	if json.Unmarshal(event, &e) != nil {
		return "ERROR", ""
	}
	if len(e.Object.Rows) > 0 {
		return e.Type, e.Object.Rows[0].Object.Metadata.Name
	}
	return e.Type, e.Object.Metadata.Name
}
