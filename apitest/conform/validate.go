package conform

import (
	"slices"
	"strings"
)

// Validation of fields is KEP-2885, dry run KEP-576; both are described in
// https://kubernetes.io/docs/reference/using-api/api-concepts/.
func validateChecks() []check {
	return []check{
		{"fields are validated as strictly as was asked", fieldValidation},
		{"what is immutable stays", immutable},
		{"dry runs change nothing", dryRun},
		{"a dry run answers as the write would", dryRunAnswers},
		{"a body beyond 3 MB is refused", tooLarge},
	}
}

func fieldValidation(e *env) {
	body := func(name string) string {
		return sprint(`{"metadata":{"name":%q},"data":{"k":"1","k":"2"},"unknown":true}`, name)
	}
	a := e.send("POST", e.path("?fieldValidation=Ignore"), body("a")).want(201)
	same(e, "warnings of Ignore", a.header.Values("Warning"), nil)
	same(e, "the last of a field given twice", a.at("data"), `{"k":"2"}`)
	same(e, "an unknown field", a.at("unknown"), "")
	for query, name := range map[string]string{"": "b", "?fieldValidation=": "c", "?fieldValidation=Warn": "d"} {
		a = e.send("POST", e.path(query), body(name)).want(201)
		warnings := a.header.Values("Warning")
		slices.Sort(warnings)
		same(e, "warnings of "+query, warnings, []string{`299 - "duplicate field \"data.k\""`, `299 - "unknown field \"unknown\""`})
	}
	for _, st := range []*status{
		e.send("POST", e.path("?fieldValidation=Strict"), body("e")).refused(400, "BadRequest"),
		e.send("PUT", e.path("/a?fieldValidation=Strict"), body("a")).refused(400, "BadRequest"),
		e.patch(mergePatch, e.path("/a?fieldValidation=Strict"), body("a")).refused(422, "Invalid"),
	} {
		if !strings.Contains(st.Message, `unknown field "unknown"`) || !strings.Contains(st.Message, `duplicate field "`) {
			e.Errorf("message of Strict: %q", st.Message)
		}
	}
	// An apply refuses unknown fields, however lenient the validation.
	if a := e.patch(applyPatch, e.path("/a?fieldManager=x&fieldValidation=Ignore"), `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"unknown":true}`); a.code < 400 {
		e.Errorf("an apply with an unknown field: %d", a.code)
	}
	st := e.send("POST", e.path("?fieldValidation=Some"), configMap("e", "", "1")).refused(422, "Invalid")
	if len(st.Details.Causes) != 1 || st.Details.Causes[0].Field != "fieldValidation" || st.Details.Causes[0].Reason != "FieldValueNotSupported" {
		e.Errorf("causes: %+v", st.Details.Causes)
	}
	same(e, "names", strings.Join(e.list("").names(), " "), "a b c d")
}

func immutable(e *env) {
	o := e.create("a", "", "1")
	a := e.patch(mergePatch, e.path("/a"), `{"metadata":{"creationTimestamp":"2020-01-02T03:04:05Z"}}`).want(200)
	same(e, "creation", a.word("metadata", "creationTimestamp"), o.Metadata.CreationTimestamp)
	a = e.patch(mergePatch, e.path("/a"), `{"immutable":true}`).want(200)
	for _, body := range []string{`{"data":{"k":"2"}}`, `{"immutable":false}`, `{"immutable":null}`, `{"binaryData":{"b":"AA=="}}`} {
		st := e.patch(mergePatch, e.path("/a"), body).refused(422, "Invalid")
		if len(st.Details.Causes) != 1 || st.Details.Causes[0].Reason != "FieldValueForbidden" || !strings.HasSuffix(st.Details.Causes[0].Message, "when `immutable` is set") {
			e.Errorf("causes of %s: %+v", body, st.Details.Causes)
		}
	}
	same(e, "revision", e.get(e.path("/a")).revision(), a.revision())
	a = e.patch(mergePatch, e.path("/a"), `{"metadata":{"labels":{"l":"1"}}}`).want(200)
	same(e, "data", a.at("data")+a.word("metadata", "uid"), `{"k":"1"}`+o.Metadata.UID)
	e.send("POST", e.deployments(""), deployment("a", `"replicas":0,`)).want(201)
	st := e.patch(mergePatch, e.deployments("/a"), `{"spec":{"selector":{"matchLabels":{"l":"1","m":"2"}},"template":{"metadata":{"labels":{"m":"2"}}}}}`).refused(422, "Invalid")
	if len(st.Details.Causes) != 1 || st.Details.Causes[0].Field != "spec.selector" || !strings.Contains(st.Details.Causes[0].Message, "field is immutable") {
		e.Errorf("causes: %+v", st.Details.Causes)
	}
	e.delete("a")
}

func dryRun(e *env) {
	o := e.create("a", "", "1")
	e.send("POST", e.path("?dryRun=All"), configMap("b", "", "1")).want(201)
	e.send("PUT", e.path("/a?dryRun=All"), configMap("a", "", "2")).want(200)
	e.send("DELETE", e.path("/a?dryRun=All"), "").want(200)
	e.send("POST", e.path("?dryRun=Some"), configMap("b", "", "1")).refused(422, "Invalid")
	l := e.list("")
	same(e, "names", strings.Join(l.names(), " "), "a")
	same(e, "revision", l.Items[0].Metadata.ResourceVersion, o.Metadata.ResourceVersion)
}

func dryRunAnswers(e *env) {
	o := e.create("a", "", "1")
	s := e.watch(e.path("?watch=1&resourceVersion=" + o.Metadata.ResourceVersion))
	a := e.send("POST", e.path("?dryRun=All"), configMap("b", "", "1")).want(201)
	if len(a.word("metadata", "uid")) != 36 || a.word("metadata", "creationTimestamp") == "" {
		e.Errorf("what would be created: %s", a.body)
	}
	e.send("POST", e.path("?dryRun=All"), configMap("a", "", "1")).refused(409, "AlreadyExists")
	e.send("PUT", e.path("/a?dryRun=All"), `{"metadata":{"name":"a","resourceVersion":"1"}}`).refused(409, "Conflict")
	e.send("DELETE", e.path("/b?dryRun=All"), "").refused(404, "NotFound")
	e.send("DELETE", e.path("/a"), `{"dryRun":["All"],"preconditions":{"resourceVersion":"1"}}`).refused(409, "Conflict")
	e.send("DELETE", e.path("/a"), `{"dryRun":["All"]}`).want(200)
	e.send("DELETE", e.path("?dryRun=All"), "").want(200)
	for kind, body := range map[string]string{
		jsonPatch: `[{"op":"replace","path":"/data/k","value":"2"}]`, mergePatch: `{"data":{"k":"2"}}`, strategicPatch: `{"data":{"k":"2"}}`,
		applyPatch: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"2"}}`,
	} {
		a := e.patch(kind, e.path("/a?dryRun=All&fieldManager=x&"+map[bool]string{true: "force=true"}[kind == applyPatch]), body).want(200)
		same(e, "value of "+kind, a.at("data", "k"), `"2"`)
	}
	same(e, "stored", e.get(e.path("/a")).revision(), o.Metadata.ResourceVersion)
	e.update("a", "", "3")
	s.want("MODIFIED a=3")
}

func tooLarge(e *env) {
	e.create("a", "", "1")
	body := configMap("a", "", strings.Repeat("x", 3<<20))
	for method, path := range map[string]string{"POST": "", "PUT": "/a"} {
		e.send(method, e.path(path), body).refused(413, "RequestEntityTooLarge")
	}
	annotated := sprint(`{"metadata":{"name":"a","annotations":{"k":%q}}}`, strings.Repeat("x", 256<<10)) // the key counts too
	for _, body := range []string{configMap("a", "", strings.Repeat("x", 1<<20+1)), annotated} {
		st := e.send("PUT", e.path("/a"), body).refused(422, "Invalid")
		if len(st.Details.Causes) != 1 || st.Details.Causes[0].Reason != "FieldValueTooLong" {
			e.Errorf("causes: %+v", st.Details.Causes)
		}
	}
}
