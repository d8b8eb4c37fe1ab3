package conform

import (
	"strings"
	"time"
)

func writeChecks() []check {
	return []check{
		{"create fills in what the server knows", createFills},
		{"create refuses", createRefuses},
		{"update needs the current revision or none", updateRevision},
		{"delete answers with a Status and keeps preconditions", deleteAnswers},
		{"delete of a collection takes a selector", deleteCollection},
		{"a finalizer keeps an object until it is removed", finalizers},
		{"what does not exist is not found", notFound},
		{"dry runs change nothing", dryRun},
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

func deleteAnswers(e *env) {
	o := e.create("a", "", "1")
	for _, p := range []string{`"uid":"00000000-0000-0000-0000-000000000000"`, `"resourceVersion":"1"`} {
		e.send("DELETE", e.path("/a"), `{"preconditions":{`+p+`}}`).refused(409, "Conflict")
	}
	var st struct {
		Kind, Status string
		Details      struct{ Name, Kind, UID string }
	}
	e.send("DELETE", e.path("/a"), sprint(`{"preconditions":{"uid":%q,"resourceVersion":%q}}`, o.Metadata.UID, o.Metadata.ResourceVersion)).want(200).decode(&st)
	same(e, "status", sprint("%+v", st), sprint("{Kind:Status Status:Success Details:{Name:a Kind:configmaps UID:%s}}", o.Metadata.UID))
	e.send("DELETE", e.path("/a"), "").refused(404, "NotFound")
}

func deleteCollection(e *env) {
	rv := e.create("a", "l=1", "1").Metadata.ResourceVersion
	e.create("b", "", "1")
	e.create("c", "l=1", "1")
	s := e.watch(e.path("?watch=1&resourceVersion=" + rv))
	s.want("ADDED b=1", "ADDED c=1")
	e.send("DELETE", e.path("?labelSelector=l%3D1"), "").want(200)
	same(e, "names", strings.Join(e.list("").names(), " "), "b")
	got := []string{s.want("DELETED a=1", "DELETED c=1").String()}
	same(e, "last", got, []string{"DELETED c=1"})
}

func finalizers(e *env) {
	o := &object{}
	e.send("POST", e.path(""), `{"metadata":{"name":"a","finalizers":["example.com/f"]},"data":{"k":"1"}}`).want(201).decode(o)
	s := e.watch(e.path("?watch=1&resourceVersion=" + o.Metadata.ResourceVersion))
	a := e.send("DELETE", e.path("/a"), "").want(200)
	if !strings.Contains(string(a.body), `"deletionTimestamp"`) {
		e.Errorf("delete with a finalizer: %s", a.body)
	}
	if ev := s.want("MODIFIED a=1"); !strings.Contains(string(ev.Raw), `"deletionTimestamp"`) {
		e.Errorf("the event: %s", ev.Raw)
	}
	e.delete("a") // once more changes nothing
	e.update("a", "", "2")
	s.want("DELETED a=1") // the update that deletes is not seen itself
	e.send("GET", e.path("/a"), "").refused(404, "NotFound")
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
