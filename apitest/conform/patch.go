package conform

import (
	"strings"
	"sync"
)

// Patches are described in
// https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/
// and in RFC 6902 (JSON patch) and RFC 7386 (merge patch).
func patchChecks() []check {
	return []check{
		{"a merge patch sets, deletes by null, and replaces lists", mergePatches},
		{"a JSON patch does all its operations or none", jsonPatches},
		{"a strategic merge patch merges lists by their keys", strategicPatches},
		{"patch refuses", patchRefuses},
		{"a patch with a revision needs it to be the current one", patchRevision},
		{"a patch that changes nothing is no event", patchNoop},
		{"writes of several clients at once are all there in the end", writesAtOnce},
	}
}

func mergePatches(e *env) {
	o := e.create("a", "l=1,m=1", "1")
	p := e.patch(mergePatch, e.path("/a"), `{"metadata":{"labels":{"l":null,"n":"2"}},"data":{"k":"2","j":"1","none":null}}`).want(200)
	same(e, "labels", p.at("metadata", "labels"), `{"m":"1","n":"2"}`)
	same(e, "data", p.at("data"), `{"j":"1","k":"2"}`)
	same(e, "uid", p.word("metadata", "uid"), o.Metadata.UID)
	if !newer(p.revision(), o.Metadata.ResourceVersion) {
		e.Errorf("revision %s after %s", p.revision(), o.Metadata.ResourceVersion)
	}
	same(e, "what is stored", string(e.get(e.path("/a")).body), string(p.body))
	e.patch(mergePatch, e.path("/a"), `{"metadata":{"finalizers":["example.com/a","example.com/b"]}}`).want(200)
	p = e.patch(mergePatch, e.path("/a"), `{"metadata":{"finalizers":["example.com/c"]}}`).want(200)
	same(e, "a list", p.at("metadata", "finalizers"), `["example.com/c"]`)
	p = e.patch(mergePatch, e.path("/a"), `{"metadata":{"finalizers":null},"data":null}`).want(200)
	same(e, "null", p.at("metadata", "finalizers")+p.at("data"), "")
}

func jsonPatches(e *env) {
	e.create("a", "l=1", "1")
	p := e.patch(jsonPatch, e.path("/a"), `[{"op":"test","path":"/data/k","value":"1"},{"op":"replace","path":"/data/k","value":"2"},
		{"op":"add","path":"/metadata/annotations","value":{}},{"op":"add","path":"/metadata/annotations/j~1x","value":"3"},{"op":"copy","from":"/data/k","path":"/data/c"},
		{"op":"move","from":"/data/c","path":"/data/d"},{"op":"remove","path":"/metadata/labels/l"}]`).want(200)
	same(e, "data", p.at("data"), `{"d":"2","k":"2"}`)
	same(e, "annotations", p.at("metadata", "annotations"), `{"j/x":"3"}`)
	for _, body := range []string{
		`[{"op":"replace","path":"/data/k","value":"9"},{"op":"test","path":"/data/k","value":"1"}]`,
		`[{"op":"replace","path":"/data/k","value":"9"},{"op":"remove","path":"/data/none"}]`,
	} {
		e.patch(jsonPatch, e.path("/a"), body).refused(422, "Invalid")
	}
	same(e, "after patches that fail", string(e.get(e.path("/a")).body), string(p.body))
}

// strategicPatches uses PodTemplates, which no controller changes.
func strategicPatches(e *env) {
	path := "/api/v1/namespaces/" + e.ns + "/podtemplates"
	e.send("POST", path, `{"metadata":{"name":"a"},"template":{"metadata":{"labels":{"l":"1"}},"spec":{"containers":[
		{"name":"one","image":"one:1","args":["x","y"],"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}],"ports":[{"containerPort":80},{"containerPort":81}]},
		{"name":"two","image":"two:1"}]}}}`).want(201)
	patch := func(body string) *answer {
		e.Helper()
		return e.patch(strategicPatch, path+"/a", body).want(200)
	}
	one := []string{"template", "spec", "containers", "0"}
	of := func(a *answer, field ...string) string { return a.at(append(one[:len(one):len(one)], field...)...) }

	p := patch(`{"template":{"spec":{"containers":[{"name":"one","image":"one:2"}]}}}`)
	same(e, "an element by its key", of(p, "image")+of(p, "args"), `"one:2"["x","y"]`)
	same(e, "its neighbour", p.at("template", "spec", "containers", "1", "image"), `"two:1"`)
	p = patch(`{"template":{"spec":{"containers":[{"name":"one","args":["z"],"env":[{"name":"A","$patch":"delete"},{"name":"C","value":"3"}]}]}}}`)
	same(e, "a list without a key is replaced", of(p, "args"), `["z"]`)
	if env := of(p, "env"); strings.Contains(env, `"A"`) || !strings.Contains(env, `"B"`) || !strings.Contains(env, `"C"`) {
		e.Errorf("env, A deleted and C added: %s", env)
	}
	p = patch(`{"template":{"spec":{"containers":[{"name":"one","env":[{"$patch":"replace"},{"name":"D","value":"4"}],"ports":[{"containerPort":80,"name":"web"}]}]}}}`)
	same(e, "replaced at order", of(p, "env"), `[{"name":"D","value":"4"}]`)
	same(e, "a key that is a number", of(p, "ports", "0", "name")+of(p, "ports", "1", "containerPort"), `"web"81`)
	patch(`{"metadata":{"finalizers":["example.com/a"]}}`)
	p = patch(`{"metadata":{"finalizers":["example.com/b"]}}`)
	same(e, "a set of words is merged, the patch's first", p.at("metadata", "finalizers"), `["example.com/b","example.com/a"]`)
	p = patch(`{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/a","example.com/b"]}}`)
	same(e, "words deleted from it", p.at("metadata", "finalizers"), "")
	p = patch(`{"template":{"metadata":{"labels":{"$patch":"replace","m":"2"}}}}`)
	same(e, "a map replaced at order", p.at("template", "metadata", "labels"), `{"m":"2"}`)
	p = patch(`{"template":{"spec":{"containers":[{"name":"two","$patch":"delete"}]}}}`)
	same(e, "an element deleted", p.at("template", "spec", "containers", "1"), "")
}

func patchRefuses(e *env) {
	o := e.create("a", "", "1")
	for _, kind := range []string{jsonPatch, mergePatch, strategicPatch} {
		body := `{"data":{"k":"2"}}`
		if kind == jsonPatch {
			body = `[{"op":"add","path":"/data/k","value":"2"}]`
		}
		st := e.patch(kind, e.path("/none"), body).refused(404, "NotFound")
		same(e, "message", st.Message, `configmaps "none" not found`)
		e.patch(kind, e.path("/a"), `{"data":`).refused(400, "BadRequest")
		e.patch(kind, e.path("/a?force=true"), body).refused(422, "Invalid")
	}
	e.patch(jsonPatch, e.path("/a"), `{"data":{"k":"2"}}`).refused(400, "BadRequest")
	e.patch(mergePatch, e.path("/a"), `[{"op":"add","path":"/data/k","value":"2"}]`).refused(400, "BadRequest")
	e.patch("application/json", e.path("/a"), `{"data":{"k":"2"}}`).refused(415, "UnsupportedMediaType")
	e.patch(mergePatch, e.path("/a"), `{"metadata":{"name":"b"}}`).refused(400, "BadRequest")
	e.patch(mergePatch, e.path("/a"), `{"metadata":{"namespace":"other"}}`).refused(400, "BadRequest")
	e.patch(mergePatch, e.path("/a"), `{"data":{"k":1}}`).refused(422, "Invalid")
	e.patch(mergePatch, e.path("/a"), `{"metadata":{"labels":{"l":"no label"}}}`).refused(422, "Invalid")
	e.patch(mergePatch, e.path("/a"), `{"metadata":{"uid":"00000000-0000-0000-0000-000000000000"}}`).refused(422, "Invalid")
	e.send("PATCH", e.path(""), `{"data":{"k":"2"}}`, "Content-Type", mergePatch).refused(405, "MethodNotAllowed")
	same(e, "revision after all that", e.get(e.path("/a")).revision(), o.Metadata.ResourceVersion)
}

func patchRevision(e *env) {
	first := e.create("a", "", "1")
	second := e.update("a", "", "2")
	with := func(rv string) string { return sprint(`{"metadata":{"resourceVersion":%q},"data":{"k":"3"}}`, rv) }
	for _, kind := range []string{mergePatch, strategicPatch} {
		st := e.patch(kind, e.path("/a"), with(first.Metadata.ResourceVersion)).refused(409, "Conflict")
		same(e, "message", st.Message, `Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again`)
	}
	e.patch(mergePatch, e.path("/a"), with(second.Metadata.ResourceVersion)).want(200)
	same(e, "value", e.get(e.path("/a")).at("data", "k"), `"3"`)
}

func patchNoop(e *env) {
	o := e.create("a", "l=1", "1")
	s := e.watch(e.path("?watch=1&resourceVersion=" + o.Metadata.ResourceVersion))
	for kind, body := range map[string]string{
		jsonPatch:      `[{"op":"replace","path":"/data/k","value":"1"}]`,
		mergePatch:     `{"data":{"k":"1"}}`,
		strategicPatch: `{"metadata":{"labels":{"l":"1"}}}`,
	} {
		same(e, "revision after "+kind, e.patch(kind, e.path("/a"), body).want(200).revision(), o.Metadata.ResourceVersion)
	}
	e.update("a", "l=1", "2")
	s.want("MODIFIED a=2")
}

// writesAtOnce: of several creates of one name, one succeeds; a patch without a
// revision does not conflict; an update with one never reverts another.
func writesAtOnce(e *env) {
	const clients, rounds = 4, 5
	var mu sync.Mutex
	codes := map[int]int{}
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() {
			a := e.send("POST", e.path(""), configMap("a", "", "0"))
			mu.Lock()
			codes[a.code]++
			mu.Unlock()
			for n := range rounds {
				if a := e.patch(mergePatch, e.path("/a"), sprint(`{"data":{"patched-%d-%d":""}}`, i, n)); a.code != 200 {
					e.Errorf("%s: %d %s", a.request, a.code, a.body)
				}
				for code := 409; code == 409; { // each conflict is a success of another writer
					o := e.send("GET", e.path("/a"), "")
					body := strings.Replace(string(o.body), `"data":{`, sprint(`"data":{"updated-%d-%d":"",`, i, n), 1)
					a := e.send("PUT", e.path("/a"), body)
					if code = a.code; code != 200 && code != 409 {
						e.Errorf("%s: %d %s", a.request, code, a.body)
					}
				}
			}
		})
	}
	group.Wait()
	same(e, "codes of the creates", codes, map[int]int{201: 1, 409: clients - 1})
	o := &object{}
	e.get(e.path("/a")).decode(o)
	same(e, "keys", len(o.Data), 1+2*clients*rounds)
}
