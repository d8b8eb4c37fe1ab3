package conform

import (
	"slices"
	"strings"
	"time"
)

// Subresources and metadata.generation are described in
// https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md
// and, for custom resources, in
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/.
func subresourceChecks() []check {
	return []check{
		{"the generation counts changes of the spec", generation},
		{"the status is written through its subresource only", statusOnly},
		{"the scale is a view of the replicas", scale},
		{"a custom resource has its subresources, defaults and schema", customResource},
		{"a pod is bound once", bound},
		{"an eviction waits for its budget, and takes from it", evicted},
		{"debug containers come and stay", debugged},
		{"discovery that is known already is not sent again", knownDiscovery},
	}
}

// deployments are the Deployments of the namespace. They have no replicas, so that a
// cluster with controllers creates no pods for them.
func (e *env) deployments(more string) string {
	return "/apis/apps/v1/namespaces/" + e.ns + "/deployments" + more
}

// deployment returns a Deployment as JSON; the fields come first in its spec.
func deployment(name, fields string) string {
	return sprint(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q},"spec":{%s"selector":{"matchLabels":{"l":"1"}},
		"template":{"metadata":{"labels":{"l":"1"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`, name, fields)
}

func generation(e *env) {
	body := strings.Replace(deployment("a", `"replicas":0,`), `"name":"a"`, `"name":"a","generation":7,"finalizers":["example.com/f"]`, 1)
	a := e.send("POST", e.deployments(""), body).want(201)
	at := func(what string, a *answer, want string) {
		e.Helper()
		same(e, "generation "+what, a.want(200).at("metadata", "generation"), want)
	}
	same(e, "generation at first", a.at("metadata", "generation"), "1")
	at("after a label", e.patch(mergePatch, e.deployments("/a"), `{"metadata":{"labels":{"x":"1"}}}`), "1")
	at("after a status", e.patch(mergePatch, e.deployments("/a/status"), `{"status":{"replicas":0,"conditions":[{"type":"Example","status":"True"}]}}`), "1")
	at("after a change", e.patch(strategicPatch, e.deployments("/a"), `{"spec":{"minReadySeconds":5}}`), "2")
	at("that a client sets", e.patch(mergePatch, e.deployments("/a"), `{"metadata":{"generation":9}}`), "2")
	at("after nothing", e.patch(mergePatch, e.deployments("/a"), `{"spec":{"minReadySeconds":5}}`), "2")
	at("after an apply", e.patch(applyPatch, e.deployments("/a?fieldManager=x"), `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"paused":true}}`), "3")
	at("of what is being deleted", e.send("DELETE", e.deployments("/a"), ""), "4")
	e.patch(mergePatch, e.deployments("/a"), `{"metadata":{"finalizers":null}}`).want(200)
}

// statusOnly checks the responses to writes: a controller may write too.
func statusOnly(e *env) {
	body := strings.Replace(deployment("a", `"replicas":0,`), `{"apiVersion"`, `{"status":{"replicas":3},"apiVersion"`, 1)
	a := e.send("POST", e.deployments(""), body).want(201)
	same(e, "status at creation", a.at("status", "replicas"), "")
	const condition = `"conditions":[{"type":"Example","status":"True","reason":"Reason","message":"","lastUpdateTime":"2026-01-02T03:04:05Z","lastTransitionTime":"2026-01-02T03:04:05Z"}]`
	a = e.patch(mergePatch, e.deployments("/a/status"), `{"metadata":{"labels":{"x":"1"}},"spec":{"replicas":0,"minReadySeconds":5},"status":{`+condition+`}}`).want(200)
	same(e, "status", a.word("status", "conditions", "0", "reason"), "Reason")
	same(e, "spec and labels", a.at("spec", "minReadySeconds")+a.at("metadata", "labels"), "")
	same(e, "kind", a.word("kind"), "Deployment")
	a = e.patch(mergePatch, e.deployments("/a"), `{"metadata":{"labels":{"x":"1"}},"spec":{"minReadySeconds":5},"status":{"conditions":null,"replicas":4}}`).want(200)
	if !strings.Contains(a.at("status", "conditions"), `"Reason"`) || strings.Contains(a.at("status", "replicas"), "4") {
		e.Errorf("status after a write of the object: %s", a.at("status"))
	}
	same(e, "spec and labels", a.at("spec", "minReadySeconds")+a.at("metadata", "labels"), `5{"x":"1"}`)
	a = e.send("PUT", e.deployments("/a"), deployment("a", `"replicas":0,`)).want(200)
	if !strings.Contains(a.at("status", "conditions"), `"Reason"`) {
		e.Errorf("status after an update without one: %s", a.at("status"))
	}
	e.send("PUT", e.deployments("/a/status"), strings.Replace(string(a.body), `"resourceVersion":"`, `"resourceVersion":"1`, 1)).refused(409, "Conflict")
	e.patch(mergePatch, e.deployments("/none/status"), `{"status":{}}`).refused(404, "NotFound")
	same(e, "kind read", e.get(e.deployments("/a/status")).word("kind"), "Deployment")
}

func scale(e *env) {
	e.send("POST", e.deployments(""), deployment("a", `"paused":true,"replicas":0,`)).want(201)
	a := e.get(e.deployments("/a/scale"))
	same(e, "kind", a.word("kind")+" "+a.word("apiVersion")+" "+a.word("metadata", "name")+" "+a.word("metadata", "namespace"), "Scale autoscaling/v1 a "+e.ns)
	same(e, "what is shown", a.at("spec")+a.at("status"), `{}{"replicas":0,"selector":"l=1"}`)
	same(e, "uid", a.word("metadata", "uid"), e.get(e.deployments("/a")).word("metadata", "uid"))
	put := func(rv, replicas string) *answer {
		return e.send("PUT", e.deployments("/a/scale"), sprint(`{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"a","namespace":%q%s},"spec":{"replicas":%s}}`, e.ns, rv, replicas))
	}
	before := e.get(e.deployments("/a"))
	// Controllers create no Pods for a paused Deployment without a ReplicaSet.
	same(e, "replicas", put("", "2").want(200).at("spec"), `{"replicas":2}`)
	after := e.get(e.deployments("/a"))
	same(e, "replicas of the object", after.at("spec", "replicas"), "2")
	same(e, "generation", before.at("metadata", "generation")+after.at("metadata", "generation"), "12")
	put(`,"resourceVersion":"1"`, "3").refused(409, "Conflict")
	st := put("", "-1").refused(422, "Invalid")
	if len(st.Details.Causes) != 1 || st.Details.Causes[0].Field != "spec.replicas" {
		e.Errorf("causes: %+v", st.Details.Causes)
	}
	same(e, "replicas after a patch", e.patch(mergePatch, e.deployments("/a/scale"), `{"spec":{"replicas":0}}`).want(200).at("spec"), `{}`)
	same(e, "replicas of the object", e.get(e.deployments("/a")).at("spec", "replicas"), "0")
	e.send("GET", e.deployments("/none/scale"), "").refused(404, "NotFound")
	e.send("GET", e.path("/none/scale"), "").refused(404, "NotFound")
}

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// define defines the custom resource toys, in its own group, and returns the path of
// the namespace's toys when they are served.
func (e *env) define() string {
	e.Helper()
	group := e.ns + ".example.com"
	def := e.send("POST", definitions, sprint(`{"metadata":{"name":"toys.%s"},"spec":{"group":%q,"scope":"Namespaced",
		"names":{"plural":"toys","singular":"toy","kind":"Toy","listKind":"ToyList"},"versions":[{"name":"v1","served":true,"storage":true,
		"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},
		"schema":{"openAPIV3Schema":{"type":"object","properties":{
			"spec":{"type":"object","required":["size"],"properties":{
				"size":{"type":"integer","minimum":1},"replicas":{"type":"integer"},"color":{"type":"string","default":"red"},
				"parts":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
					"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"size":{"type":"integer"}}}}}},
			"status":{"type":"object","properties":{"replicas":{"type":"integer"}}}}}}}]}}`, group, group)).want(201)
	name := definitions + "/" + def.word("metadata", "name")
	e.Cleanup(func() { e.cleanup(name) })
	path := "/apis/" + group + "/v1/namespaces/" + e.ns + "/toys"
	deadline := time.Now().Add(patience)
	established := slices.ContainsFunc([]string{"0", "1", "2", "3"}, func(i string) bool {
		return def.word("status", "conditions", i, "type") == "Established"
	})
	for !established {
		if time.Now().After(deadline) {
			e.Fatalf("%s is not served within %v: %s", name, patience, e.get(name).at("status"))
		}
		established = e.send("GET", path, "").code == 200
	}
	return path
}

func customResource(e *env) {
	path := e.define()
	head := sprint(`"apiVersion":%q,"kind":"Toy"`, e.ns+".example.com/v1")
	toy := func(name, spec string) string {
		return sprint(`{%s,"metadata":{"name":%q},"spec":%s,"status":{"replicas":7}}`, head, name, spec)
	}
	a := e.send("POST", path, toy("a", `{"size":1,"unknown":2}`)).want(201)
	same(e, "spec, pruned and with defaults, and no status", a.at("spec")+a.at("status"), `{"color":"red","size":1}`)
	same(e, "generation", a.at("metadata", "generation"), "1")
	s := e.watch(path + "?watch=1&resourceVersion=" + a.revision())
	for spec, field := range map[string]string{`{}`: "spec.size", `{"size":0}`: "spec.size", `{"size":"many"}`: "spec.size", `{"size":1,"parts":[{"name":"x"},{"name":"x"}]}`: "spec.parts[1]"} {
		st := e.send("POST", path, toy("b", spec)).refused(422, "Invalid")
		if len(st.Details.Causes) == 0 || st.Details.Causes[0].Field != field {
			e.Errorf("causes of %s: %+v", spec, st.Details.Causes)
		}
	}
	e.patch(strategicPatch, path+"/a", `{"spec":{"size":2}}`).refused(415, "UnsupportedMediaType")
	a = e.patch(mergePatch, path+"/a/status", `{"spec":{"size":9},"status":{"replicas":1}}`).want(200)
	same(e, "after a status", a.at("spec", "size")+a.at("status")+a.at("metadata", "generation"), `1{"replicas":1}1`)
	a = e.patch(mergePatch, path+"/a", `{"spec":{"size":2},"status":{"replicas":9}}`).want(200)
	same(e, "after a spec", a.at("spec", "size")+a.at("status")+a.at("metadata", "generation"), `2{"replicas":1}2`)
	a = e.patch(mergePatch, path+"/a/scale", `{"spec":{"replicas":3}}`).want(200)
	same(e, "scale", a.word("kind")+a.at("spec")+a.at("status"), `Scale{"replicas":3}{"replicas":1}`)
	apply := func(manager, parts string) *answer {
		return e.patch(applyPatch, path+"/a?fieldManager="+manager, sprint(`{%s,"metadata":{"name":"a"},"spec":{"parts":%s}}`, head, parts)).want(200)
	}
	apply("one", `[{"name":"x","size":1}]`)
	a = apply("two", `[{"name":"y","size":2}]`)
	same(e, "parts of two appliers", a.at("spec", "parts"), `[{"name":"x","size":1},{"name":"y","size":2}]`)
	a = apply("one", `[]`)
	same(e, "parts of one", a.at("spec", "parts"), `[{"name":"y","size":2}]`)
	for _, want := range []string{"1", "2", "2", "2", "2", "2"} {
		ev := s.next()
		same(e, "event", ev.Type+raw(ev.Raw).at("spec", "size"), "MODIFIED"+want)
	}
	e.send("DELETE", path+"/a", "").want(200)
	same(e, "last event", s.next().Type, "DELETED")
}
