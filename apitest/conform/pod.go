package conform

import "strings"

// Operations on pods besides writes are described in
// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/ and
// https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/.

// pods are the Pods of the namespace. Their deletion does not wait for a kubelet.
func (e *env) pods(more string) string { return "/api/v1/namespaces/" + e.ns + "/pods" + more }

func pod(name string) string {
	return sprint(`{"metadata":{"name":%q,"labels":{"l":"1"}},"spec":{"automountServiceAccountToken":false,"terminationGracePeriodSeconds":0,`+
		`"containers":[{"name":"c","image":"i"}]}}`, name)
}

func bound(e *env) {
	e.send("POST", e.pods(""), pod("a")).want(201)
	binding := func(name, node string) string {
		return sprint(`{"apiVersion":"v1","kind":"Binding","metadata":{"name":%q},"target":{"kind":"Node","name":%q}}`, name, node)
	}
	e.send("POST", e.pods("/a/binding"), binding("b", "n")).refused(400, "BadRequest")
	e.send("POST", e.pods("/none/binding"), binding("none", "n")).refused(404, "NotFound")
	a := e.send("POST", e.pods("/a/binding"), binding("a", "n")).want(201)
	same(e, "answer", a.at("kind")+a.at("status"), `"Status""Success"`)
	a = e.get(e.pods("/a"))
	same(e, "node", a.word("spec", "nodeName"), "n")
	same(e, "generation", a.at("metadata", "generation"), "1")
	st := e.send("POST", e.pods("/a/binding"), binding("a", "m")).refused(409, "Conflict")
	if !strings.HasSuffix(st.Message, `pod a is already assigned to node "n"`) {
		e.Errorf("message: %q", st.Message)
	}
	e.send("DELETE", e.pods("/a"), "").want(200)
}

func evicted(e *env) {
	e.send("POST", e.pods(""), pod("a")).want(201)
	e.patch(mergePatch, e.pods("/a/status"), `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`).want(200)
	budgets := "/apis/policy/v1/namespaces/" + e.ns + "/poddisruptionbudgets"
	e.send("POST", budgets, `{"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"l":"1"}}}}`).want(201)
	allow := func(n string) {
		e.Helper()
		e.patch(mergePatch, budgets+"/b/status", `{"status":{"observedGeneration":1,"currentHealthy":1,"desiredHealthy":1,"expectedPods":1,"disruptionsAllowed":`+n+`}}`).want(200)
	}
	const eviction = `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a"}}`
	allow("0")
	st := e.send("POST", e.pods("/a/eviction"), eviction).refused(429, "TooManyRequests")
	if len(st.Details.Causes) != 1 || st.Details.Causes[0].Reason != "DisruptionBudget" {
		e.Errorf("causes: %+v", st.Details.Causes)
	}
	e.get(e.pods("/a"))
	allow("1")
	e.send("POST", e.pods("/a/eviction"), eviction).want(201)
	e.send("GET", e.pods("/a"), "").refused(404, "NotFound")
	a := e.get(budgets + "/b")
	same(e, "disruptions that are left", a.at("status", "disruptionsAllowed"), "0")
	e.send("DELETE", budgets+"/b", "").want(200)
}

func debugged(e *env) {
	e.send("POST", e.pods(""), pod("a")).want(201)
	a := e.patch(strategicPatch, e.pods("/a/ephemeralcontainers"), `{"spec":{"nodeName":"n","ephemeralContainers":[{"name":"d","image":"busybox"}]}}`).want(200)
	same(e, "image", a.word("spec", "ephemeralContainers", "0", "image"), "busybox")
	same(e, "node", a.at("spec", "nodeName"), "")
	e.patch(mergePatch, e.pods("/a/ephemeralcontainers"), `{"spec":{"ephemeralContainers":[]}}`).refused(422, "Invalid")
	e.send("DELETE", e.pods("/a"), "").want(200)
}

func knownDiscovery(e *env) {
	const form = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	a := e.send("GET", "/apis", "", "Accept", form).want(200)
	tag := a.header.Get("Etag")
	if tag == "" {
		e.Fatalf("no ETag: %v", a.header)
	}
	e.send("GET", "/apis", "", "Accept", form, "If-None-Match", tag).want(304)
	e.send("GET", "/apis", "", "Accept", form, "If-None-Match", `"another"`).want(200)
}
