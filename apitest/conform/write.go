package conform

import (
	"strings"
	"time"
)

func writeChecks() []check {
	return []check{
		{"create fills in what the server knows", createFills},
		{"create refuses", createRefuses},
		{"create takes names, not what the server gives", createIgnores},
		{"update needs the current revision or none", updateRevision},
		{"update replaces the object", updateReplaces},
		{"each write has a revision of its own, and its event has it too", revisionsAdvance},
		{"what does not exist is not found", notFound},
	}
}

func createFills(e *env) {
	o := e.create("a", "l=1", "1")
	same(e, "object", *o, object{Kind: "ConfigMap", APIVersion: "v1", Data: map[string]string{"k": "1"}, Metadata: metadata{
		Name: "a", Namespace: e.ns, Labels: map[string]string{"l": "1"},
		UID: o.Metadata.UID, ResourceVersion: o.Metadata.ResourceVersion, CreationTimestamp: o.Metadata.CreationTimestamp}})
	if len(o.Metadata.UID) != 36 || o.Metadata.ResourceVersion == "" {
		e.Errorf("uid %q, resourceVersion %q", o.Metadata.UID, o.Metadata.ResourceVersion)
	}
	if _, err := time.Parse(time.RFC3339, o.Metadata.CreationTimestamp); err != nil {
		e.Error(err)
	}
	e.send("POST", e.path(""), `{"metadata":{"generateName":"gen-"}}`).want(201).decode(o)
	if !strings.HasPrefix(o.Metadata.Name, "gen-") || len(o.Metadata.Name) != len("gen-")+5 {
		e.Errorf("generated name %q", o.Metadata.Name)
	}
	e.send("POST", e.path(""), `{"metadata":{"name":"bare"}}`).want(201)
}

func createRefuses(e *env) {
	e.create("a", "", "1")
	st := e.send("POST", e.path(""), configMap("a", "", "2")).refused(409, "AlreadyExists")
	same(e, "message", st.Message, `configmaps "a" already exists`)
	same(e, "details", st.Details.Name+" "+st.Details.Kind, "a configmaps")
	st = e.send("POST", e.path(""), `{"metadata":{}}`).refused(422, "Invalid")
	same(e, "causes", st.Details.Causes, []cause{{"FieldValueRequired", "Required value: name or generateName is required", "metadata.name"}})
	same(e, "details", st.Details.Kind, "ConfigMap")
	st = e.send("POST", e.path(""), configMap("Capital", "", "1")).refused(422, "Invalid")
	if len(st.Details.Causes) != 1 || st.Details.Causes[0].Reason != "FieldValueInvalid" || st.Details.Causes[0].Field != "metadata.name" {
		e.Errorf("causes of a bad name: %+v", st.Details.Causes)
	}
	for _, body := range []string{
		`{"metadata":{"name":"b","namespace":"other"}}`,
		`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"b"}}`,
		`{"metadata":{"name":"b","labels":"none"}}`,
		`{"metadata":`,
		`[]`,
	} {
		e.send("POST", e.path(""), body).refused(400, "BadRequest")
	}
	if a := e.send("POST", e.path(""), `{"metadata":{"name":"b","resourceVersion":"1"}}`); a.code < 400 {
		e.Errorf("create with a resourceVersion: %d %s", a.code, a.body)
	}
	e.send("POST", e.path(""), configMap("b", "", "1"), "Content-Type", "text/plain").refused(415, "UnsupportedMediaType")
	e.send("POST", e.path("/a"), configMap("a", "", "1")).refused(405, "MethodNotAllowed")
	same(e, "names", strings.Join(e.list("").names(), " "), "a")
}

func createIgnores(e *env) {
	const uid, long, past = "00000000-0000-0000-0000-000000000000", "conform-", "2020-01-02T03:04:05Z"
	a := e.send("POST", e.path(""), sprint(`{"metadata":{"name":"a","generateName":"b-","uid":%q,"creationTimestamp":%q,"deletionTimestamp":%q}}`, uid, past, past)).want(201)
	same(e, "name", a.word("metadata", "name")+a.word("metadata", "deletionTimestamp"), "a")
	if a.word("metadata", "uid") == uid || a.word("metadata", "creationTimestamp") == past {
		e.Errorf("what the client says of uid and creationTimestamp counts: %s", a.body)
	}
	body := sprint(`{"metadata":{"generateName":%q}}`, strings.Repeat(long, 12))
	one, two := e.send("POST", e.path(""), body).want(201), e.send("POST", e.path(""), body).want(201)
	for _, a := range []*answer{one, two} {
		if name := a.word("metadata", "name"); !strings.HasPrefix(name, strings.Repeat(long, 7)) || len(name) > 63 {
			e.Errorf("generated name %q", name)
		}
	}
	if one.word("metadata", "name") == two.word("metadata", "name") {
		e.Error("two generated names are the same")
	}
}

func updateReplaces(e *env) {
	a := e.send("POST", e.path(""), `{"metadata":{"name":"a","labels":{"l":"1"},"annotations":{"n":"1"}},"data":{"j":"1","k":"1"}}`).want(201)
	b := e.send("PUT", e.path("/a"), `{"metadata":{"name":"a","annotations":{"m":"1"}},"data":{"k":"2"}}`).want(200)
	same(e, "labels, annotations and data", b.at("metadata", "labels")+b.at("metadata", "annotations")+b.at("data"), `{"m":"1"}{"k":"2"}`)
	for _, field := range []string{"uid", "creationTimestamp", "namespace"} {
		same(e, field, b.word("metadata", field), a.word("metadata", field))
	}
	same(e, "what is stored", string(e.get(e.path("/a")).body), string(b.body))
	same(e, "data after an update without", e.send("PUT", e.path("/a"), `{"metadata":{"name":"a"}}`).want(200).at("data"), "")
}

func revisionsAdvance(e *env) {
	s := e.watch(e.path("?watch=1&resourceVersion=" + e.list("").Metadata.ResourceVersion))
	var last string
	write := func(event string, a *answer) {
		e.Helper()
		ev := s.want(event)
		same(e, "revision of the event", ev.Object.Metadata.ResourceVersion, a.revision())
		if last != "" && !newer(a.revision(), last) {
			e.Errorf("%s: revision %s after %s", a.request, a.revision(), last)
		}
		last = a.revision()
	}
	write("ADDED a=1", e.send("POST", e.path(""), configMap("a", "", "1")).want(201))
	write("MODIFIED a=2", e.send("PUT", e.path("/a"), configMap("a", "", "2")).want(200))
	write("MODIFIED a=3", e.patch(mergePatch, e.path("/a"), `{"data":{"k":"3"}}`).want(200))
	write("MODIFIED a=4", e.patch(jsonPatch, e.path("/a"), `[{"op":"replace","path":"/data/k","value":"4"}]`).want(200))
	write("MODIFIED a=5", e.patch(strategicPatch, e.path("/a"), `{"data":{"k":"5"}}`).want(200))
	const config = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"k":%q}}`
	write("MODIFIED a=6", e.patch(applyPatch, e.path("/a?fieldManager=x&force=true"), sprint(config, "a", "6")).want(200))
	write("ADDED b=7", e.patch(applyPatch, e.path("/b?fieldManager=x"), sprint(config, "b", "7")).want(201))
	write("MODIFIED a=6", e.patch(mergePatch, e.path("/a"), `{"metadata":{"finalizers":["example.com/f"]}}`).want(200))
	write("MODIFIED a=6", e.send("DELETE", e.path("/a"), "").want(200))
	e.patch(mergePatch, e.path("/a"), `{"metadata":{"finalizers":null}}`).want(200)
	e.delete("b")
	for _, event := range []string{"DELETED a=6", "DELETED b=7"} {
		rv := s.want(event).Object.Metadata.ResourceVersion
		if !newer(rv, last) {
			e.Errorf("%s at %s, after a write at %s", event, rv, last)
		}
		last = rv
	}
	if rv := e.list("").Metadata.ResourceVersion; newer(last, rv) {
		e.Errorf("a list at %s, after a write at %s", rv, last)
	}
}

func updateRevision(e *env) {
	first := e.create("a", "", "1")
	second := e.update("a", "", "2")
	if !newer(second.Metadata.ResourceVersion, first.Metadata.ResourceVersion) {
		e.Errorf("revision %s after %s", second.Metadata.ResourceVersion, first.Metadata.ResourceVersion)
	}
	body := func(rv, uid string) string {
		return sprint(`{"metadata":{"name":"a","resourceVersion":%q,"uid":%q},"data":{"k":"3"}}`, rv, uid)
	}
	st := e.send("PUT", e.path("/a"), body(first.Metadata.ResourceVersion, "")).refused(409, "Conflict")
	same(e, "message", st.Message, `Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again`)
	same(e, "details", st.Details.Name+" "+st.Details.Kind, "a configmaps")
	e.send("PUT", e.path("/a"), body("", "00000000-0000-0000-0000-000000000000")).refused(409, "Conflict")
	o := &object{}
	e.send("PUT", e.path("/a"), body(second.Metadata.ResourceVersion, first.Metadata.UID)).want(200).decode(o)
	same(e, "uid", o.Metadata.UID, first.Metadata.UID)
	same(e, "creation", o.Metadata.CreationTimestamp, first.Metadata.CreationTimestamp)
	st = e.send("PUT", e.path("/none"), configMap("none", "", "1")).refused(404, "NotFound")
	same(e, "message", st.Message, `configmaps "none" not found`)
	e.send("PUT", e.path("/a"), configMap("b", "", "1")).refused(400, "BadRequest")
	e.send("PUT", e.path(""), configMap("b", "", "1")).refused(405, "MethodNotAllowed")
}

func notFound(e *env) {
	st := e.send("GET", e.path("/none"), "").refused(404, "NotFound")
	same(e, "message", st.Message, `configmaps "none" not found`)
	same(e, "details", st.Details.Name+" "+st.Details.Kind, "none configmaps")
	st = e.send("GET", "/api/v1/namespaces/"+e.ns+"/nones", "").refused(404, "NotFound")
	same(e, "message", st.Message, "the server could not find the requested resource")
	for _, path := range []string{"/apis/none.example.com/v1/nones", "/none"} {
		a := e.send("GET", path, "").want(404)
		same(e, "body of "+path, string(a.body), "404 page not found\n")
	}
	e.send("GET", e.path("/none/status"), "").refused(404, "NotFound")
	st = e.send("GET", e.path(""), "", "Accept", "text/html").refused(406, "NotAcceptable")
	same(e, "code", st.Code, 406)
}
