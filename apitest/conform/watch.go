package conform

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

func watchChecks() []check {
	return []check{
		{"watch sends what happens after the revision", watchFromRevision},
		{"watch resumes without gap or duplicate", watchResumes},
		{"watch without a revision begins with everything", watchUnset},
		{"initial events end with a marker", watchInitialEvents},
		{"initial events without bookmarks have no marker", watchInitialWithoutBookmarks},
		{"watch refuses what makes no sense", watchRefuses},
		{"watch ahead of the server is silent", watchAhead},
		{"watch with initial events ahead of the server gets an ERROR", watchInitialAhead},
		{"watch from a revision that is gone gets an ERROR", watchGone},
		{"initial events of a revision that is gone are those of now", watchInitialGone},
		{"watch ends at its timeout, after a bookmark", watchTimeout},
		{"watch does not end by the timeout of requests", watchOtherTimeout},
		{"watch sends no bookmark to those who did not ask", watchNoBookmark},
		{"watch translates transitions of a label selector", watchLabels},
		{"watch of one name", watchName},
		{"watch of all namespaces", watchAll},
		{"an update that changes nothing is no event", watchNoop},
		{"a new object of an old name has another UID", watchRecreated},
	}
}

// stream is an open watch.
type stream struct {
	e      *env
	resp   *http.Response
	lines  *bufio.Reader
	seen   string // revision of the last event that has one
	sorted bool   // revisions must increase
}

type event struct {
	Type   string          `json:"type"`
	Raw    json.RawMessage `json:"object"`
	Object object          `json:"-"`
}

// watch opens a watch on path; the response must be 200.
func (e *env) watch(path string, header ...string) *stream {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), patience)
	e.Cleanup(cancel)
	resp, err := e.open(ctx, "GET", path, "", header...)
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != 200 {
		b, _ := io.ReadAll(resp.Body) // only for the message
		e.Fatalf("watch %s: %d %s", path, resp.StatusCode, b)
	}
	return &stream{e: e, resp: resp, lines: bufio.NewReader(resp.Body)}
}

// next returns the next event, nil at the normal end of the stream.
func (s *stream) next() *event {
	s.e.Helper()
	line, err := s.lines.ReadBytes('\n')
	if err == io.EOF && len(line) == 0 {
		return nil
	}
	if err != nil {
		s.e.Fatalf("the stream broke after %d bytes of a line: %v", len(line), err)
	}
	ev := &event{}
	if err := json.Unmarshal(line, ev); err != nil {
		s.e.Fatalf("an event does not decode: %v: %s", err, line)
	}
	if err := json.Unmarshal(ev.Raw, &ev.Object); err != nil {
		s.e.Fatalf("an object does not decode: %v: %s", err, line)
	}
	if rv := ev.Object.Metadata.ResourceVersion; rv != "" && s.sorted {
		if rv != s.seen && newer(s.seen, rv) || rv == s.seen && ev.Type != "BOOKMARK" {
			s.e.Errorf("%s at %s after %s", ev.Type, rv, s.seen)
		}
		s.seen = rv
	}
	return ev
}

func (ev *event) String() string {
	if ev == nil {
		return "end"
	}
	if ev.Type == "BOOKMARK" {
		if ev.Object.Metadata.Annotations["k8s.io/initial-events-end"] == "true" {
			return "MARKER"
		}
		return "BOOKMARK"
	}
	return sprint("%s %s=%s", ev.Type, ev.Object.Metadata.Name, ev.Object.Data["k"])
}

// want checks the next events, without bookmarks, and returns the last one.
func (s *stream) want(events ...string) *event {
	s.e.Helper()
	var last *event
	for _, want := range events {
		last = s.next()
		for last.String() == "BOOKMARK" {
			last = s.next()
		}
		if last.String() != want {
			s.e.Fatalf("got %q, want %q", last, want)
		}
	}
	return last
}

func watchFromRevision(e *env) {
	e.create("a", "", "1")
	rv := e.list("").Metadata.ResourceVersion
	s := e.watch(e.path("?watch=true&resourceVersion=" + rv))
	s.sorted, s.seen = true, rv
	same(e, "content type", s.resp.Header.Get("Content-Type"), "application/json")
	e.create("b", "", "1")
	updated := e.update("a", "", "2")
	e.delete("b")
	e.delete("a")
	added := s.want("ADDED b=1")
	same(e, "kind", added.Object.Kind+" "+added.Object.APIVersion, "ConfigMap v1")
	modified := s.want("MODIFIED a=2")
	same(e, "revision", modified.Object.Metadata.ResourceVersion, updated.Metadata.ResourceVersion)
	deleted := s.want("DELETED b=1")
	if !newer(deleted.Object.Metadata.ResourceVersion, modified.Object.Metadata.ResourceVersion) {
		e.Error("DELETED does not carry the revision of the deletion")
	}
	same(e, "uid", deleted.Object.Metadata.UID, added.Object.Metadata.UID)
	s.want("DELETED a=2")
}

func watchResumes(e *env) {
	rv := e.list("").Metadata.ResourceVersion
	s := e.watch(e.path("?watch=1&resourceVersion=" + rv))
	var texts, revisions []string
	for _, step := range []func(){
		func() { e.create("a", "", "1") }, func() { e.update("a", "", "2") }, func() { e.create("b", "", "1") },
		func() { e.delete("a") }, func() { e.create("a", "", "3") }, func() { e.delete("b") },
	} {
		step()
		ev := s.next()
		texts, revisions = append(texts, ev.String()), append(revisions, ev.Object.Metadata.ResourceVersion)
	}
	same(e, "events", texts, []string{"ADDED a=1", "MODIFIED a=2", "ADDED b=1", "DELETED a=2", "ADDED a=3", "DELETED b=1"})
	for i, rv := range revisions {
		s := e.watch(e.path("?watch=1&timeoutSeconds=1&resourceVersion=" + rv))
		s.sorted, s.seen = true, rv
		s.want(append(slices.Clone(texts[i+1:]), "end")...)
	}
}

func watchUnset(e *env) {
	e.create("b", "", "1")
	e.create("a", "", "1")
	for _, query := range []string{"", "&resourceVersion=", "&resourceVersion=0"} {
		s := e.watch(e.path("?watch=1" + query))
		got := []string{s.next().String(), s.next().String()}
		slices.Sort(got)
		same(e, "initial events", got, []string{"ADDED a=1", "ADDED b=1"})
		e.update("a", "", "2")
		s.want("MODIFIED a=2")
		e.update("a", "", "1")
		s.want("MODIFIED a=1")
	}
}

func watchInitialEvents(e *env) {
	e.create("b", "", "1")
	last := e.create("a", "", "1")
	for _, rv := range []string{"", "0", last.Metadata.ResourceVersion} {
		s := e.watch(e.path("?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=" + rv))
		got := []string{s.next().String(), s.next().String()}
		slices.Sort(got)
		same(e, "initial events", got, []string{"ADDED a=1", "ADDED b=1"})
		marker := s.want("MARKER").Object
		same(e, "kind of the marker", marker.Kind+" "+marker.APIVersion, "ConfigMap v1")
		if at := marker.Metadata.ResourceVersion; at == "" || newer(last.Metadata.ResourceVersion, at) {
			e.Errorf("the marker is at %q, before the last write at %s", at, last.Metadata.ResourceVersion)
		}
		s.sorted, s.seen = true, marker.Metadata.ResourceVersion
		e.update("a", "", "2")
		s.want("MODIFIED a=2")
		last = e.update("a", "", "1")
		s.want("MODIFIED a=1")
	}
	s := e.watch(e.path("?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=" + last.Metadata.ResourceVersion))
	e.update("a", "", "3")
	s.want("MODIFIED a=3")
}

func watchInitialWithoutBookmarks(e *env) {
	e.create("a", "", "1")
	s := e.watch(e.path("?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1"))
	same(e, "first", s.next().String(), "ADDED a=1")
	same(e, "then", s.next().String(), "end")
}

func watchRefuses(e *env) {
	const match = "resourceVersionMatch"
	for _, c := range []struct {
		query  string
		causes []cause
	}{
		{"resourceVersionMatch=NotOlderThan&resourceVersion=1", []cause{
			{"FieldValueForbidden", "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided", match}}},
		{"resourceVersionMatch=Exact&resourceVersion=1", []cause{
			{"FieldValueForbidden", "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided", match},
			{"FieldValueNotSupported", `Unsupported value: "Exact": supported values: "NotOlderThan"`, match}}},
		{"sendInitialEvents=true", []cause{
			{"FieldValueForbidden", "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan", match}}},
		{"continue=nonsense", []cause{{"FieldValueForbidden", "Forbidden: resourceVersionMatch is forbidden when continue is provided", match}}},
		{"continue=nonsense&resourceVersion=0", []cause{{"FieldValueForbidden", "Forbidden: resourceVersionMatch is forbidden when continue is provided", match}}},
		{"continue=nonsense&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", []cause{
			{"FieldValueForbidden", "Forbidden: resourceVersionMatch is forbidden when continue is provided", match}}},
		{"sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1", []cause{
			{"FieldValueForbidden", "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan", match},
			{"FieldValueNotSupported", `Unsupported value: "Exact": supported values: "NotOlderThan"`, match}}},
	} {
		st := e.send("GET", e.path("?watch=1&timeoutSeconds=1&"+c.query), "").refused(422, "Invalid")
		same(e, "causes of "+c.query, st.Details.Causes, c.causes)
	}
	e.send("GET", e.path("?watch=1&timeoutSeconds=1&fieldSelector=spec.nothing%3Da"), "").refused(400, "BadRequest")
	e.send("GET", e.path("?watch=1&timeoutSeconds=soon"), "").refused(400, "BadRequest")
	e.send("GET", e.path("?watch=1&timeoutSeconds=1&limit="), "").refused(400, "BadRequest")
	rv := e.create("a", "", "1").Metadata.ResourceVersion
	same(e, "a watch without time", e.watch(e.path("?watch=1&timeoutSeconds=-1&resourceVersion="+rv)).next().String(), "end")
}

func watchAhead(e *env) {
	e.create("a", "", "1")
	s := e.watch(e.path("?watch=1&timeoutSeconds=1&resourceVersion=999999999"))
	e.create("b", "", "1")
	same(e, "event", s.next().String(), "end")
}

func watchInitialAhead(e *env) {
	s := e.watch(e.path("?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=999999999&timeoutSeconds=8"))
	s.wantError(504, "Timeout")
}

// wantError checks that an ERROR event arrives, and then the end.
func (s *stream) wantError(code int, reason string) {
	s.e.Helper()
	ev := s.next()
	if ev == nil || ev.Type != "ERROR" {
		s.e.Fatalf("got %s, want ERROR", ev)
	}
	st := &status{}
	if err := json.Unmarshal(ev.Raw, st); err != nil {
		s.e.Fatal(err)
	}
	same(s.e, "ERROR", sprint("%s %s %d %s", st.Kind, st.Status, st.Code, st.Reason), sprint("Status Failure %d %s", code, reason))
	same(s.e, "after the ERROR", s.next().String(), "end")
}

// watchGone requests the oldest possible revision. A server that has its whole history
// may serve it.
func watchGone(e *env) {
	s := e.watch(e.path("?watch=1&timeoutSeconds=1&resourceVersion=1"))
	ev := s.next()
	if ev == nil || ev.Type != "ERROR" {
		return
	}
	st := &status{}
	if err := json.Unmarshal(ev.Raw, st); err != nil {
		e.Fatal(err)
	}
	same(e, "ERROR", sprint("%d %s", st.Code, st.Reason), "410 Expired")
	if !strings.HasPrefix(st.Message, "too old resource version: 1 (") {
		e.Errorf("message %q", st.Message)
	}
	same(e, "after the ERROR", s.next().String(), "end")
}

// watchInitialGone lists first what is not older than the object: the initial events are
// those of a cache, which may not have it yet.
func watchInitialGone(e *env) {
	e.list("resourceVersionMatch=NotOlderThan&resourceVersion=" + e.create("a", "", "1").Metadata.ResourceVersion)
	s := e.watch(e.path("?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=1"))
	s.want("ADDED a=1", "MARKER")
}

// watchOtherTimeout: the parameter timeout applies to requests other than watches.
func watchOtherTimeout(e *env) {
	start := time.Now()
	s := e.watch(e.path("?watch=1&timeout=1s&timeoutSeconds=3"))
	s.want("end")
	if d := time.Since(start); d < 2*time.Second {
		e.Errorf("the watch of 3 s lived %v", d)
	}
}

// watchTimeout expects a bookmark about 2 s before the deadline: there is one because
// the revision has changed since the watch began.
func watchTimeout(e *env) {
	rv := e.list("").Metadata.ResourceVersion
	start := time.Now()
	s := e.watch(e.path("?watch=1&allowWatchBookmarks=true&timeoutSeconds=5&resourceVersion=" + rv))
	s.sorted, s.seen = true, rv
	last := e.create("a", "", "1").Metadata.ResourceVersion
	s.want("ADDED a=1")
	ev := s.next()
	if ev.String() != "BOOKMARK" {
		e.Fatalf("got %s, want a bookmark", ev)
	}
	m := ev.Object.Metadata
	same(e, "bookmark", object{Kind: ev.Object.Kind, APIVersion: ev.Object.APIVersion, Metadata: m},
		object{Kind: "ConfigMap", APIVersion: "v1", Metadata: metadata{ResourceVersion: m.ResourceVersion}})
	if newer(last, m.ResourceVersion) {
		e.Errorf("the bookmark is at %s, before the last event at %s", m.ResourceVersion, last)
	}
	s.want("end")
	if d := time.Since(start); d < 4*time.Second || d > 15*time.Second {
		e.Errorf("the watch of 5 s lived %v", d)
	}
}

func watchNoBookmark(e *env) {
	rv := e.list("").Metadata.ResourceVersion
	s := e.watch(e.path("?watch=1&timeoutSeconds=4&resourceVersion=" + rv))
	e.create("a", "", "1")
	same(e, "first", s.next().String(), "ADDED a=1")
	same(e, "then", s.next().String(), "end")
}

func watchLabels(e *env) {
	rv := e.list("").Metadata.ResourceVersion
	s := e.watch(e.path("?watch=1&labelSelector=l%3D1&resourceVersion=" + rv))
	s.sorted, s.seen = true, rv
	e.create("a", "", "1")
	e.update("a", "l=1", "2")
	e.update("a", "l=1", "3")
	out := e.update("a", "l=2", "4")
	e.update("a", "l=3", "5")
	e.update("a", "l=1", "6")
	e.delete("a")
	e.create("b", "l=1", "7")
	s.want("ADDED a=2", "MODIFIED a=3")
	// An object that is no longer selected has its last selected state, at the new
	// revision.
	left := s.want("DELETED a=3").Object
	same(e, "labels", left.Metadata.Labels, map[string]string{"l": "1"})
	same(e, "revision", left.Metadata.ResourceVersion, out.Metadata.ResourceVersion)
	s.want("ADDED a=6", "DELETED a=6", "ADDED b=7")
}

func watchName(e *env) {
	rv := e.list("").Metadata.ResourceVersion
	s := e.watch(e.path("?watch=1&fieldSelector=metadata.name%3Da&resourceVersion=" + rv))
	e.create("ab", "", "1")
	e.create("a", "", "1")
	e.delete("ab")
	e.delete("a")
	s.want("ADDED a=1", "DELETED a=1")
}

func watchAll(e *env) {
	rv := e.list("").Metadata.ResourceVersion
	s := e.watch("/api/v1/configmaps?watch=1&fieldSelector=metadata.namespace%3D" + e.ns + "&resourceVersion=" + rv)
	e.create("a", "", "1")
	s.want("ADDED a=1")
}

func watchNoop(e *env) {
	created := e.create("a", "l=1", "1")
	s := e.watch(e.path("?watch=1&resourceVersion=" + created.Metadata.ResourceVersion))
	same(e, "revision", e.update("a", "l=1", "1").Metadata.ResourceVersion, created.Metadata.ResourceVersion)
	e.update("a", "l=1", "2")
	s.want("MODIFIED a=2")
}

func watchRecreated(e *env) {
	first := e.create("a", "", "1")
	s := e.watch(e.path("?watch=1&resourceVersion=" + first.Metadata.ResourceVersion))
	e.delete("a")
	second := e.create("a", "", "1")
	same(e, "uid of the deleted", s.want("DELETED a=1").Object.Metadata.UID, first.Metadata.UID)
	same(e, "uid of the new", s.want("ADDED a=1").Object.Metadata.UID, second.Metadata.UID)
	if first.Metadata.UID == second.Metadata.UID || first.Metadata.UID == "" {
		e.Errorf("the UIDs are %q and %q", first.Metadata.UID, second.Metadata.UID)
	}
}
