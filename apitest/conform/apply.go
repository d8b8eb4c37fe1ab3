package conform

import (
	"slices"
	"strings"
)

// Server-side apply is described in KEP-555 and in
// https://kubernetes.io/docs/reference/using-api/server-side-apply/.
func applyChecks() []check {
	return []check{
		{"apply creates, and the applier owns what it set", applyCreates},
		{"apply with a resourceVersion that no object has only creates", applyOnlyCreates},
		{"apply removes what the applier no longer wants", applyRemoves},
		{"apply conflicts with other owners, unless forced", applyConflicts},
		{"two appliers of one value share it", applyShares},
		{"an update takes the fields that it changes", updateOwns},
		{"apply refuses", applyRefuses},
	}
}

// apply applies data to the ConfigMap a, as manager.
func (e *env) apply(manager, data string, query ...string) *answer {
	e.Helper()
	return e.patch(applyPatch, e.path("/a?fieldManager="+manager+strings.Join(query, "")),
		sprint(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":%s}`, data))
}

// owners returns the owners of fields, one word for each entry of managedFields, in
// their order: MANAGER/OPERATION[/SUBRESOURCE] and the fields below data, or below spec
// and status.
func (a *answer) owners() []string {
	var o struct {
		Metadata struct {
			ManagedFields []struct {
				Manager, Operation, Subresource, APIVersion, FieldsType string
				FieldsV1                                                map[string]map[string]any
			}
		}
	}
	a.decode(&o)
	all := []string{}
	for _, m := range o.Metadata.ManagedFields {
		if m.APIVersion == "" || m.FieldsType != "FieldsV1" {
			a.e.Errorf("managedFields of %s: apiVersion %q, fieldsType %q", m.Manager, m.APIVersion, m.FieldsType)
		}
		word := m.Manager + "/" + m.Operation
		if m.Subresource != "" {
			word += "/" + m.Subresource
		}
		for _, f := range []string{"j", "k"} {
			if _, ok := m.FieldsV1["f:data"]["f:"+f]; ok {
				word += " " + f
			}
		}
		for _, top := range []string{"spec", "status"} {
			if _, ok := m.FieldsV1["f:"+top]; ok {
				word += " " + top
			}
		}
		all = append(all, word)
	}
	return all
}

func applyCreates(e *env) {
	a := e.apply("one", `{"k":"1"}`).want(201)
	same(e, "object", a.word("kind")+a.at("data"), `ConfigMap{"k":"1"}`)
	same(e, "owners", a.owners(), []string{"one/Apply k"})
	s := e.watch(e.path("?watch=1&resourceVersion=" + a.revision()))
	same(e, "revision of the same once more", e.apply("one", `{"k":"1"}`).want(200).revision(), a.revision())
	b := e.patch(applyPatch, e.path("/a?fieldManager=one"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: '2'\n").want(200)
	same(e, "data from YAML", b.at("data"), `{"k":"2"}`)
	same(e, "revision of the event", s.want("MODIFIED a=2").Object.Metadata.ResourceVersion, b.revision())
}

func applyOnlyCreates(e *env) {
	apply := func(data string) *answer {
		return e.patch(applyPatch, e.path("/a?fieldManager=one&force=true"),
			sprint(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"1"},"data":%s}`, data))
	}
	a := apply(`{"k":"1"}`).want(201)
	same(e, "owners", a.owners(), []string{"one/Apply k"})
	apply(`{"k":"2"}`).refused(409, "Conflict")
	same(e, "data", e.get(e.path("/a")).at("data"), `{"k":"1"}`)
}

func applyRemoves(e *env) {
	e.apply("one", `{"j":"1","k":"1"}`).want(201)
	a := e.apply("one", `{"k":"1"}`).want(200)
	same(e, "data", a.at("data"), `{"k":"1"}`)
	same(e, "owners", a.owners(), []string{"one/Apply k"})
	e.patch(mergePatch, e.path("/a?fieldManager=other"), `{"data":{"j":"2"}}`).want(200)
	a = e.apply("one", `{}`).want(200)
	same(e, "data, what others set being kept", a.at("data"), `{"j":"2"}`)
}

func applyConflicts(e *env) {
	e.apply("one", `{"j":"1","k":"1"}`).want(201)
	st := e.apply("two", `{"j":"2","k":"2"}`).refused(409, "Conflict")
	same(e, "causes", st.Details.Causes, []cause{
		{"FieldManagerConflict", `conflict with "one"`, ".data.j"}, {"FieldManagerConflict", `conflict with "one"`, ".data.k"}})
	same(e, "message", st.Message, "Apply failed with 2 conflicts: conflicts with \"one\":\n- .data.j\n- .data.k")
	same(e, "data after a conflict", e.get(e.path("/a")).at("data"), `{"j":"1","k":"1"}`)
	a := e.apply("two", `{"k":"2"}`, "&force=true").want(200)
	same(e, "data", a.at("data"), `{"j":"1","k":"2"}`)
	same(e, "owners", a.owners(), []string{"one/Apply j", "two/Apply k"})
	st = e.apply("one", `{"k":"3"}`).refused(409, "Conflict")
	same(e, "causes", st.Details.Causes, []cause{{"FieldManagerConflict", `conflict with "two"`, ".data.k"}})
}

func applyShares(e *env) {
	e.apply("one", `{"k":"1"}`).want(201)
	owners := e.apply("two", `{"k":"1"}`).want(200).owners() // in the order of their times, which have seconds
	slices.Sort(owners)
	same(e, "owners", owners, []string{"one/Apply k", "two/Apply k"})
	a := e.apply("one", `{}`).want(200)
	same(e, "data that one of two gives up", a.at("data"), `{"k":"1"}`)
	same(e, "data that the last gives up", e.apply("two", `{}`).want(200).at("data"), "")
}

func updateOwns(e *env) {
	e.apply("one", `{"j":"1","k":"1"}`).want(201)
	a := e.patch(mergePatch, e.path("/a?fieldManager=hand"), `{"data":{"k":"2"}}`).want(200)
	same(e, "owners after a patch", a.owners(), []string{"one/Apply j", "hand/Update k"})
	st := e.apply("one", `{"j":"1","k":"1"}`).refused(409, "Conflict")
	if len(st.Details.Causes) != 1 || !strings.HasPrefix(st.Details.Causes[0].Message, `conflict with "hand" using v1`) {
		e.Errorf("causes: %+v", st.Details.Causes)
	}
	a = e.apply("one", `{"j":"1","k":"2"}`).want(200)
	same(e, "owners of an equal value", a.owners(), []string{"one/Apply j k", "hand/Update k"})
	// Without a name, the first part of the User-Agent is the manager.
	a = e.send("PUT", e.path("/a"), configMap("a", "", "3")).want(200)
	same(e, "owners after an update", a.owners(), []string{"listwatch-conform/Update k"})
	a = e.patch(mergePatch, e.path("/a?fieldManager=hand"), `{"metadata":{"managedFields":[{}]}}`).want(200)
	same(e, "owners after all were deleted", a.owners(), []string{})
}

func applyRefuses(e *env) {
	o := e.create("a", "", "1")
	const head = `"apiVersion":"v1","kind":"ConfigMap","metadata":`
	apply := func(query, body string) *answer { return e.patch(applyPatch, e.path("/a"+query), body) }
	st := apply("", `{`+head+`{"name":"a"}}`).refused(422, "Invalid")
	same(e, "causes", st.Details.Causes, []cause{{"FieldValueRequired", "Required value: is required for apply patch", "fieldManager"}})
	for _, body := range []string{
		`{"kind":"ConfigMap","metadata":{"name":"a"}}`,
		`{` + head + `{"name":"b"}}`,
		`{` + head + `{"name":"a","managedFields":[{"manager":"x","operation":"Apply"}]}}`,
		`{` + head,
	} {
		apply("?fieldManager=x", body).refused(400, "BadRequest")
	}
	apply("?fieldManager=x", `{`+head+`{"name":"a","resourceVersion":"1"},"data":{"j":"1"}}`).refused(409, "Conflict")
	apply("?fieldManager=x", `{`+head+`{"name":"a","uid":"00000000-0000-0000-0000-000000000000"},"data":{"j":"1"}}`).refused(422, "Invalid")
	same(e, "revision after all that", e.get(e.path("/a")).revision(), o.Metadata.ResourceVersion)
}
