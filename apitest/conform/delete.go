package conform

import "strings"

// Deletion is described in
// https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/ and
// https://kubernetes.io/docs/concepts/architecture/garbage-collection/.
func deleteChecks() []check {
	return []check{
		{"delete answers with a Status and keeps preconditions", deleteAnswers},
		{"delete refuses", deleteRefuses},
		{"delete of a collection takes a selector", deleteCollection},
		{"a finalizer keeps an object until it is removed", finalizers},
		{"what is being deleted stays so", deletionStays},
		{"delete in the foreground and of the orphaning kind waits for the collector", propagation},
		{"a namespace must exist, and not be going", namespaces},
	}
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

func deleteRefuses(e *env) {
	o := e.create("a", "", "1")
	for body, want := range map[string]cause{
		`{"propagationPolicy":"Sometimes"}`: {"FieldValueNotSupported",
			`Unsupported value: "Sometimes": supported values: "Foreground", "Background", "Orphan", "nil"`, "propagationPolicy"},
		`{"propagationPolicy":"Orphan","orphanDependents":true}`: {"FieldValueInvalid",
			`Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set`, "propagationPolicy"},
		`{"dryRun":["Some"]}`: {"FieldValueNotSupported", `Unsupported value: ["Some"]: supported values: "All"`, "dryRun"},
	} {
		st := e.send("DELETE", e.path("/a"), body).refused(422, "Invalid")
		same(e, "causes of "+body, st.Details.Causes, []cause{want})
		same(e, "subject", st.Details.Group+" "+st.Details.Kind, "meta.k8s.io DeleteOptions")
	}
	e.send("DELETE", e.path("/a"), `{"preconditions":`).refused(400, "BadRequest")
	same(e, "revision after all that", e.get(e.path("/a")).revision(), o.Metadata.ResourceVersion)
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
	e.delete("a") // a second deletion changes nothing
	e.update("a", "", "2")
	s.want("DELETED a=1") // the update that deletes it is not delivered itself
	e.send("GET", e.path("/a"), "").refused(404, "NotFound")
}

// deletionStays: neither an update nor another object with that name reverts a
// deletion.
func deletionStays(e *env) {
	e.send("POST", e.path(""), `{"metadata":{"name":"a","finalizers":["example.com/f","example.com/g"]},"data":{"k":"1"}}`).want(201)
	deleted := e.send("DELETE", e.path("/a"), "").want(200)
	since := deleted.word("metadata", "deletionTimestamp")
	if since == "" {
		e.Fatalf("no deletionTimestamp: %s", deleted.body)
	}
	s := e.watch(e.path("?watch=1&resourceVersion=" + deleted.revision()))
	a := e.send("PUT", e.path("/a"), `{"metadata":{"name":"a","finalizers":["example.com/f"]},"data":{"k":"2"}}`).want(200)
	same(e, "deletionTimestamp after an update without one", a.word("metadata", "deletionTimestamp"), since)
	same(e, "finalizers", a.at("metadata", "finalizers"), `["example.com/f"]`)
	st := e.send("POST", e.path(""), configMap("a", "", "3")).refused(409, "AlreadyExists")
	same(e, "message", st.Message, `object is being deleted: configmaps "a" already exists`)
	st = e.patch(mergePatch, e.path("/a"), `{"metadata":{"finalizers":["example.com/f","example.com/h"]}}`).refused(422, "Invalid")
	if len(st.Details.Causes) != 1 || st.Details.Causes[0].Reason != "FieldValueForbidden" || st.Details.Causes[0].Field != "metadata.finalizers" {
		e.Errorf("causes of a new finalizer: %+v", st.Details.Causes)
	}
	same(e, "revision after another delete", e.send("DELETE", e.path("/a"), "").want(200).revision(), a.revision())
	e.patch(jsonPatch, e.path("/a"), `[{"op":"remove","path":"/metadata/finalizers"}]`).want(200)
	s.want("MODIFIED a=2", "DELETED a=2")
	e.create("a", "", "4")
	s.want("ADDED a=4")
}

// propagation checks responses and events only: a collector may be running.
func propagation(e *env) {
	for policy, finalizer := range map[string]string{"Foreground": "foregroundDeletion", "Orphan": "orphan"} {
		o := e.create("a", "", policy)
		s := e.watch(e.path("?watch=1&resourceVersion=" + o.Metadata.ResourceVersion))
		a := e.send("DELETE", e.path("/a"), sprint(`{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":%q}`, policy)).want(200)
		same(e, "finalizers for "+policy, a.at("metadata", "finalizers"), sprint("[%q]", finalizer))
		ev := s.want("MODIFIED a=" + policy)
		same(e, "revision of the event", ev.Object.Metadata.ResourceVersion, a.revision())
		if raw(ev.Raw).word("metadata", "deletionTimestamp") == "" {
			e.Errorf("the event has no deletionTimestamp: %s", ev.Raw)
		}
		e.patch(mergePatch, e.path("/a"), `{"metadata":{"finalizers":null}}`) // unless the collector was faster
		s.want("DELETED a=" + policy)
	}
	for _, query := range []string{"propagationPolicy=Background", "gracePeriodSeconds=0"} {
		e.create("a", "", "1")
		same(e, "kind after "+query, e.send("DELETE", e.path("/a?"+query), "").want(200).word("kind"), "Status")
	}
}

// namespaces: a server without a controller keeps the namespace.
func namespaces(e *env) {
	other := e.ns + "-other"
	path := "/api/v1/namespaces/" + other
	st := e.send("POST", path+"/configmaps", configMap("a", "", "1")).refused(404, "NotFound")
	same(e, "message", st.Message, sprint(`namespaces %q not found`, other))
	same(e, "items where there is no namespace", e.get(path+"/configmaps").at("items"), "[]")
	e.namespace(other)
	a := e.get(path)
	same(e, "phase", a.word("status", "phase")+a.at("spec", "finalizers")+a.word("metadata", "labels", "kubernetes.io/metadata.name"), `Active["kubernetes"]`+other)
	e.send("POST", path+"/configmaps", `{"metadata":{"name":"a","finalizers":["example.com/f"]}}`).want(201)
	a = e.send("DELETE", path, "").want(200)
	same(e, "phase after the deletion", a.word("status", "phase"), "Terminating")
	if a.word("metadata", "deletionTimestamp") == "" {
		e.Errorf("no deletionTimestamp: %s", a.body)
	}
	st = e.send("POST", path+"/configmaps", configMap("b", "", "1")).refused(403, "Forbidden")
	same(e, "message", st.Message, sprint(`configmaps "b" is forbidden: unable to create new content in namespace %s because it is being terminated`, other))
	same(e, "causes", st.Details.Causes, []cause{{"NamespaceTerminating", sprint("namespace %s is being terminated", other), "metadata.namespace"}})
	e.patch(mergePatch, path+"/configmaps/a", `{"data":{"k":"2"}}`).want(200)
	e.patch(mergePatch, path+"/configmaps/a", `{"metadata":{"finalizers":null}}`).want(200)
	st = e.send("DELETE", "/api/v1/namespaces/default?dryRun=All", "").refused(403, "Forbidden")
	same(e, "message", st.Message, `namespaces "default" is forbidden: this namespace may not be deleted`)
}
