package apitest_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/listwatch/listwatch/apitest"
)

// hookServer is a webhook at several paths, which keeps the requests of each.
type hookServer struct {
	*httptest.Server
	t  *testing.T
	mu sync.Mutex

	asked   map[string][]map[string]any                            // AdmissionReview.request, by path
	query   string                                                 // of the last call
	answers map[string]func(request map[string]any) (response any) // by path; default: allowed
}

func newHookServer(t *testing.T) *hookServer {
	h := &hookServer{t: t, asked: make(map[string][]map[string]any), answers: make(map[string]func(map[string]any) any)}
	h.Server = httptest.NewTLSServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *hookServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review struct{ Request map[string]any }
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		h.t.Error(err)
	}
	h.mu.Lock()
	h.query = r.URL.RawQuery
	h.asked[r.URL.Path] = append(h.asked[r.URL.Path], review.Request)
	answer := h.answers[r.URL.Path]
	h.mu.Unlock()
	response := any(map[string]any{"allowed": true})
	if answer != nil {
		response = answer(review.Request)
	}
	if m, ok := response.(map[string]any); ok {
		m["uid"] = review.Request["uid"]
	}
	json.NewEncoder(w).Encode(map[string]any{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response})
}

// take returns the requests to a path since the last call.
func (h *hookServer) take(path string) []map[string]any {
	h.mu.Lock()
	defer h.mu.Unlock()
	asked := h.asked[path]
	delete(h.asked, path)
	return asked
}

// configure creates a configuration, Mutating or Validating, with one webhook at path. more
// are further members of the webhook.
func (h *hookServer) configure(srv *apitest.Server, kind, path, rules, more string) {
	h.t.Helper()
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw}))
	playWritesOn(h.t, srv, fmt.Sprintf(`
POST /apis/admissionregistration.k8s.io/v1/%swebhookconfigurations {"metadata":{"name":%q},"webhooks":[{"name":"hook.example.com","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":%q,"caBundle":%q},"rules":[%s]%s}]}
201
`, strings.ToLower(kind), strings.Trim(path, "/"), h.URL+path, ca, rules, more))
}

// TestWebhookRuleMatchesAsAWhole: the operation of one rule does not count for the
// resources of another.
func TestWebhookRuleMatchesAsAWhole(t *testing.T) {
	srv, h := apitest.New(t), newHookServer(t)
	h.configure(srv, "Validating", "/v", `{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["secrets"]},`+
		`{"operations":["DELETE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}`, "")
	playWritesOn(t, srv, `
POST /api/v1/namespaces/a/configmaps {"metadata":{"name":"x"}}
201
`)
	if asked := h.take("/v"); len(asked) != 0 {
		t.Errorf("it was asked about %v", asked)
	}
	playWritesOn(t, srv, `
DELETE /api/v1/namespaces/a/configmaps/x
200
`)
	if asked := h.take("/v"); len(asked) != 1 {
		t.Errorf("it was asked about %v", asked)
	}
}

const aboutConfigMaps = `{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}`

// TestWebhooksGetTheRequest: who sent it, with which options, and in which version,
// as kube-apiserver says it; an apply and a patch have the options of a create or update.
func TestWebhooksGetTheRequest(t *testing.T) {
	srv, h := apitest.New(t), newHookServer(t)
	h.configure(srv, "Validating", "/v", aboutConfigMaps+`,{"operations":["*"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments/status"]}`, `,"timeoutSeconds":7`)
	for _, test := range []struct{ request, options string }{
		{"POST %s?fieldManager=m&dryRun=All&fieldValidation=Strict {\"metadata\":{\"name\":\"x\"}}\n201",
			`{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1","dryRun":["All"],"fieldManager":"m","fieldValidation":"Strict"}`},
		{"> Content-Type: application/apply-patch+yaml\nPATCH %s/x?fieldManager=m&force=true {\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\"},\"data\":{\"a\":\"b\"}}\n201",
			`{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":"m"}`},
		{"> Content-Type: application/merge-patch+json\nPATCH %s/x {\"data\":{\"a\":\"c\"}}\n200", `{"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1"}`},
		{"DELETE %s/x?gracePeriodSeconds=3&propagationPolicy=Background&dryRun=All\n200",
			`{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1","gracePeriodSeconds":3,"propagationPolicy":"Background","dryRun":["All"]}`},
		{"DELETE %s/x {\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"orphanDependents\":true}\n200",
			`{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1","orphanDependents":true}`},
	} {
		who := "\n> Impersonate-User: jane\n> Impersonate-Group: devs\n> Impersonate-Uid: u1\n"
		playWritesOn(t, srv, who+fmt.Sprintf(test.request, "/api/v1/namespaces/a/configmaps")+"\n")
		asked := h.take("/v")
		if len(asked) != 1 {
			t.Fatalf("%s: it was asked %d times", test.request, len(asked))
		}
		for name, want := range map[string]string{
			"options":         test.options,
			"userInfo":        `{"username":"jane","groups":["devs","system:authenticated"],"uid":"u1"}`,
			"requestKind":     `{"group":"","version":"v1","kind":"ConfigMap"}`,
			"requestResource": `{"group":"","version":"v1","resource":"configmaps"}`,
		} {
			var v any
			if err := json.Unmarshal([]byte(want), &v); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(asked[0][name], v) {
				t.Errorf("%s: %s is %v, want %v", test.request, name, asked[0][name], v)
			}
		}
	}
	if h.query != "timeout=7s" {
		t.Errorf("the query is %q", h.query)
	}
	playWritesOn(t, srv, `
POST /apis/apps/v1/namespaces/a/deployments {"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}
201

> Content-Type: application/merge-patch+json
PATCH /apis/apps/v1/namespaces/a/deployments/d/status {"status":{"observedGeneration":1}}
200
`)
	if asked := h.take("/v"); len(asked) != 1 || asked[0]["requestSubResource"] != "status" || asked[0]["subResource"] != "status" {
		t.Errorf("it was asked about %v", asked)
	}
}

// TestMutatingWebhooksSeeWhatWasSent: the server has added nothing but managedFields when
// they are called, and everything when those are called that validate. What the former
// change belongs to nobody.
func TestMutatingWebhooksSeeWhatWasSent(t *testing.T) {
	srv, h := apitest.New(t), newHookServer(t)
	h.answers["/m"] = func(request map[string]any) any {
		return map[string]any{"allowed": true, "patchType": "JSONPatch",
			"patch": base64.StdEncoding.EncodeToString([]byte(`[{"op":"add","path":"/metadata/labels","value":{"hooked":"yes"}}]`))}
	}
	rules := aboutConfigMaps + `,{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}` +
		`,{"operations":["*"],"apiGroups":["certificates.k8s.io"],"apiVersions":["v1"],"resources":["*"]}`
	h.configure(srv, "Mutating", "/m", rules, "")
	h.configure(srv, "Validating", "/v", rules, "")
	const maps, patch = "/api/v1/namespaces/a/configmaps", "\n> Content-Type: application/merge-patch+json\n"
	for _, test := range []struct{ request, mutating, validating string }{
		{"\nPOST " + maps + ` {"metadata":{"name":"x"},"data":{"a":"b"}}` + "\n201\n", "name", "name uid creationTimestamp"},
		{"\nPOST " + maps + ` {"metadata":{"generateName":"y-"},"data":{"a":"b"}}` + "\n201\n", "", "name uid creationTimestamp"},
		{"\nPUT " + maps + `/x {"metadata":{"name":"x"},"data":{"a":"c"}}` + "\n200\n", "name", "name uid creationTimestamp resourceVersion"},
		{patch + "PATCH " + maps + `/x {"data":{"a":"d"}}` + "\n200\n", "name uid creationTimestamp resourceVersion", "name uid creationTimestamp resourceVersion"},
	} {
		playWritesOn(t, srv, test.request)
		for path, want := range map[string]string{"/m": test.mutating, "/v": test.validating} {
			asked := h.take(path)[0]
			meta := asked["object"].(map[string]any)["metadata"].(map[string]any)
			var has []string
			for _, name := range []string{"name", "uid", "creationTimestamp", "resourceVersion"} {
				if _, ok := meta[name]; ok {
					has = append(has, name)
				}
			}
			if got := strings.Join(has, " "); got != want {
				t.Errorf("%s%s has %q, want %q", test.request, path, got, want)
			}
			if name, _ := meta["name"].(string); asked["name"] != meta["name"] {
				t.Errorf("%s%s: the request has the name %v, the object %q", test.request, path, asked["name"], name)
			}
			owned := fmt.Sprint(meta["managedFields"])
			if !strings.Contains(owned, "f:data") || strings.Contains(owned, "f:labels") {
				t.Errorf("%s%s: managedFields %s", test.request, path, owned)
			}
		}
	}
	playWritesOn(t, srv, `
POST /api/v1/namespaces/a/pods {"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]},"status":{"message":"m"}}
201
{"metadata":{"labels":{"hooked":"yes"}},"status":{"phase":"Pending","message":null}}

PUT /api/v1/namespaces/a/configmaps/x {"metadata":{"name":"x","resourceVersion":"1"}}
409

> Impersonate-User: jane
POST /apis/certificates.k8s.io/v1/certificatesigningrequests {"metadata":{"name":"r"},"spec":{"signerName":"a.b/c","usages":["digital signature"],"request":"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIdE1JR1VBZ0VBTURJeEdqQVlCZ05WQkFvVEVYTjVjM1JsYlRwdFlYTjBaWEp6TVJRd0VnWURWUVFERXd0agpiSFZ6ZEdWeUxXRmtNQ293QlFZREsyVndBeUVBCi0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo="}}
201
{"spec":{"username":"jane"},"metadata":{"labels":{"hooked":"yes"}}}
`)
	first := h.take("/m")[0]["object"].(map[string]any)
	if status := fmt.Sprint(first["status"]); status != "map[message:m]" {
		t.Errorf("the status of a new Pod is %s", status)
	}
	if status := fmt.Sprint(h.take("/v")[0]["object"].(map[string]any)["status"]); !strings.Contains(status, "Pending") {
		t.Errorf("the status of a Pod to store is %s", status)
	}
}

// thingsCRD defines Things, which are stored as v1; each version has a field of its own.
const thingsCRD = `
POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions {"metadata":{"name":"things.x.io"},"spec":{"group":"x.io","scope":"Namespaced","names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"integer"},"one":{"type":"string"}}},"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}},{"name":"v2","served":true,"storage":false,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"integer"},"two":{"type":"string","default":"d"}}},"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}]}}
201
`

// TestWebhooksOfOtherVersions: a webhook whose rule has another version of the resource is
// called with the object in that version, unless its policy is Exact. As of
// kube-apiserver the object is not pruned by the schema of that version.
func TestWebhooksOfOtherVersions(t *testing.T) {
	srv, h := apitest.New(t), newHookServer(t)
	playWritesOn(t, srv, thingsCRD)
	rule := func(version string) string {
		return `{"operations":["*"],"apiGroups":["x.io"],"apiVersions":["` + version + `"],"resources":["things","things/status"]}`
	}
	h.configure(srv, "Mutating", "/m-v1", rule("v1"), "")
	h.configure(srv, "Validating", "/v-v1", rule("v1"), `,"matchPolicy":"Equivalent"`)
	h.configure(srv, "Validating", "/v-v2", rule("v2"), "")
	h.configure(srv, "Validating", "/v-both", rule(`v1","v2`), "")
	h.configure(srv, "Validating", "/exact-v1", rule("v1"), `,"matchPolicy":"Exact"`)
	h.answers["/m-v1"] = func(request map[string]any) any {
		if request["operation"] != "CREATE" {
			return map[string]any{"allowed": true}
		}
		return map[string]any{"allowed": true, "patchType": "JSONPatch", "patch": base64.StdEncoding.EncodeToString([]byte(`[{"op":"add","path":"/spec/one","value":"hook"}]`))}
	}
	const patch = "> Content-Type: application/merge-patch+json\n"
	for _, test := range []struct{ request, path, version, want string }{
		{`POST /apis/x.io/v2/namespaces/a/things {"apiVersion":"x.io/v2","kind":"Thing","metadata":{"name":"x"},"spec":{"a":1},"status":{"s":1}}` + "\n201", "/m-v1", "v1",
			`{"apiVersion":"x.io/v1","spec":{"a":1,"two":"d"},"status":{"s":1}} null`},
		{"", "/v-v1", "v1", `{"apiVersion":"x.io/v1","spec":{"a":1,"one":"hook","two":"d"}} null`},
		{"", "/v-v2", "v2", `{"apiVersion":"x.io/v2","spec":{"a":1,"one":"hook","two":"d"}} null`},
		{"", "/v-both", "v2", `{"apiVersion":"x.io/v2","spec":{"a":1,"one":"hook","two":"d"}} null`},
		{"", "/exact-v1", "", ""},
		{"GET /apis/x.io/v1/namespaces/a/things/x\n200\n" + `{"spec":{"a":1,"one":"hook","two":null},"status":null}`, "", "", ""},
		{patch + `PATCH /apis/x.io/v2/namespaces/a/things/x/status {"spec":{"a":3},"status":{"s":2}}` + "\n200", "/m-v1", "v1",
			`{"apiVersion":"x.io/v1","spec":{"a":3,"two":"d"},"status":{"s":2}} {"apiVersion":"x.io/v1","spec":{"a":1,"one":"hook"}}`},
		{"", "/v-v2", "v2", `{"apiVersion":"x.io/v2","spec":{"a":1,"one":"hook"},"status":{"s":2}} {"apiVersion":"x.io/v2","spec":{"a":1,"one":"hook"}}`},
		{"", "/exact-v1", "", ""},
		{"DELETE /apis/x.io/v2/namespaces/a/things/x\n200", "/m-v1", "v1", `null {"apiVersion":"x.io/v1","spec":{"a":1,"one":"hook"},"status":{"s":2}}`},
		{"", "/exact-v1", "", ""},
		{`POST /apis/x.io/v1/namespaces/a/things {"apiVersion":"x.io/v1","kind":"Thing","metadata":{"name":"y"},"spec":{"a":1}}` + "\n201", "/exact-v1", "v1",
			`{"apiVersion":"x.io/v1","spec":{"a":1,"one":"hook"}} null`},
	} {
		if test.request != "" {
			for _, path := range []string{"/m-v1", "/v-v1", "/v-v2", "/v-both", "/exact-v1"} {
				h.take(path)
			}
			playWritesOn(t, srv, "\n"+test.request+"\n")
		}
		asked := h.take(test.path)
		if len(asked) == 0 && test.want == "" {
			continue
		}
		if len(asked) != 1 {
			t.Errorf("%s%s was asked %d times", test.request, test.path, len(asked))
			continue
		}
		sees := func(v any) string {
			if o, ok := v.(map[string]any); ok {
				delete(o, "metadata")
				delete(o, "kind")
			}
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		if got := sees(asked[0]["object"]) + " " + sees(asked[0]["oldObject"]); got != test.want {
			t.Errorf("%s%s sees\n%s, want\n%s", test.request, test.path, got, test.want)
		}
		version := func(name string) any { return asked[0][name].(map[string]any)["version"] }
		if version("kind") != test.version || version("resource") != test.version {
			t.Errorf("%s%s: kind %v, resource %v", test.request, test.path, asked[0]["kind"], asked[0]["resource"])
		}
		if exact := strings.HasPrefix(test.path, "/exact"); version("requestKind") != version("requestResource") || (version("requestKind") == "v1") != exact {
			t.Errorf("%s%s: requestKind %v, requestResource %v", test.request, test.path, asked[0]["requestKind"], asked[0]["requestResource"])
		}
	}
}

// TestWebhooksOfEvents: a rule for the events of one group is one for those of the other.
func TestWebhooksOfEvents(t *testing.T) {
	srv, h := apitest.New(t), newHookServer(t)
	h.answers["/m"] = func(map[string]any) any {
		return map[string]any{"allowed": true, "patchType": "JSONPatch", "patch": base64.StdEncoding.EncodeToString([]byte(`[{"op":"replace","path":"/note","value":"changed"}]`))}
	}
	h.configure(srv, "Mutating", "/m", `{"operations":["CREATE"],"apiGroups":["events.k8s.io"],"apiVersions":["v1"],"resources":["events"]}`, "")
	playWritesOn(t, srv, `
POST /api/v1/namespaces/a/events {"metadata":{"name":"e","namespace":"a"},"involvedObject":{"kind":"Pod","name":"p","namespace":"a"},"message":"m","reason":"R","type":"Normal"}
201
{"message":"changed","note":null,"involvedObject":{"name":"p"}}
`)
	if o := h.take("/m")[0]["object"].(map[string]any); o["apiVersion"] != "events.k8s.io/v1" || o["note"] != "m" {
		t.Errorf("it was asked about %v", o)
	}
}

// TestWebhookAnswers: what kube-apiserver makes of them.
func TestWebhookAnswers(t *testing.T) {
	patch := base64.StdEncoding.EncodeToString([]byte(`[{"op":"add","path":"/data","value":{"a":"b"}}]`))
	type response = map[string]any
	for _, test := range []struct {
		kind string
		response
		want string
	}{
		{"Validating", response{"allowed": false}, "400\n" + `{"reason":null,"message":"admission webhook \"hook.example.com\" denied the request without explanation"}`},
		{"Validating", response{"allowed": false, "status": response{"reason": "Why", "code": 200}}, "400\n" + `{"reason":"Why","message":"admission webhook \"hook.example.com\" denied the request: Why"}`},
		{"Validating", response{"allowed": false, "status": response{"code": 422, "message": "no", "reason": "Invalid", "details": response{"causes": []any{response{"field": "data.a", "message": "m", "reason": "FieldValueInvalid"}}}}},
			"422\n" + `{"reason":"Invalid","details":{"causes":[{"field":"data.a","message":"m","reason":"FieldValueInvalid"}]}}`},
		{"Validating", response{"allowed": true, "patch": patch, "patchType": "JSONPatch"}, "500\n" +
			`{"message":"Internal error occurred: failed calling webhook \"hook.example.com\": received invalid webhook response: validating webhook may not return response.patch"}`},
		{"Mutating", response{"allowed": true, "patch": patch}, "500\n" +
			`{"message":"Internal error occurred: failed calling webhook \"hook.example.com\": received invalid webhook response: webhook returned response.patch but not response.patchType"}`},
		{"Mutating", response{"allowed": true, "patchType": "JSONPatch"}, "500"},
		{"Mutating", response{"allowed": true, "patch": patch, "patchType": "Other"}, "500"},
		{"Mutating", response{"allowed": true, "patch": patch, "patchType": "JSONPatch"}, "201\n" + `{"data":{"a":"b"}}`},
	} {
		srv, h := apitest.New(t), newHookServer(t)
		h.answers["/h"] = func(map[string]any) any { return test.response }
		h.configure(srv, test.kind, "/h", aboutConfigMaps, "")
		playWritesOn(t, srv, "\nPOST /api/v1/namespaces/a/configmaps {\"metadata\":{\"name\":\"x\"}}\n"+test.want+"\n")
	}
}

// TestWebhooksAreCalledAgain: a webhook with the policy IfNeeded sees what later ones have
// changed, once, and not if they have changed nothing.
func TestWebhooksAreCalledAgain(t *testing.T) {
	srv, h := apitest.New(t), newHookServer(t)
	patch := func(p string) func(map[string]any) any {
		return func(map[string]any) any {
			return map[string]any{"allowed": true, "patchType": "JSONPatch", "patch": base64.StdEncoding.EncodeToString([]byte(p))}
		}
	}
	h.answers["/b"] = patch(`[{"op":"add","path":"/data","value":{"b":"1"}}]`)
	h.configure(srv, "Mutating", "/a", aboutConfigMaps, `,"reinvocationPolicy":"IfNeeded"`)
	h.configure(srv, "Mutating", "/b", aboutConfigMaps, `,"reinvocationPolicy":"IfNeeded"`)
	h.configure(srv, "Mutating", "/c", aboutConfigMaps, "")
	create := func(name, body string) (calls [3]int) {
		playWritesOn(t, srv, fmt.Sprintf("\nPOST /api/v1/namespaces/a/configmaps {\"metadata\":{\"name\":%q}%s}\n201\n", name, body))
		a := h.take("/a")
		if last := a[len(a)-1]["object"].(map[string]any)["data"]; fmt.Sprint(last) != "map[b:1]" {
			t.Errorf("%s: /a has seen %v last", name, last)
		}
		return [3]int{len(a), len(h.take("/b")), len(h.take("/c"))}
	}
	if got := create("x", ""); got != [3]int{2, 1, 1} {
		t.Errorf("after a change: calls %v", got)
	}
	if got := create("y", `,"data":{"b":"1"}`); got != [3]int{1, 1, 1} {
		t.Errorf("without a change: calls %v", got)
	}
}

// TestWebhookPatchMustFitTheType: what a webhook makes of an object is read as what a
// client sends, since typed clients could not decode it.
func TestWebhookPatchMustFitTheType(t *testing.T) {
	srv, h := apitest.New(t), newHookServer(t)
	h.answers["/h"] = func(request map[string]any) any {
		patch := `[{"op":"add","path":"/data","value":{"a":7}}]`
		if request["name"] == "unknown" {
			patch = `[{"op":"add","path":"/unknown","value":7}]`
		}
		return map[string]any{"allowed": true, "patchType": "JSONPatch", "patch": base64.StdEncoding.EncodeToString([]byte(patch))}
	}
	h.configure(srv, "Mutating", "/h", aboutConfigMaps, "")
	playWritesOn(t, srv, `
POST /api/v1/namespaces/a/configmaps {"metadata":{"name":"number"}}
500
{"message":"Internal error occurred: json: cannot unmarshal number into Go struct field ConfigMap.data of type string"}

POST /api/v1/namespaces/a/configmaps {"metadata":{"name":"unknown"},"data":{"a":"b"}}
201
{"data":{"a":"b"},"unknown":null}
`)
}

// TestWebhooksOfADeletedCollection: they are called for each object, without its name,
// and one that refuses an object keeps it and those after it.
func TestWebhooksOfADeletedCollection(t *testing.T) {
	srv, h := apitest.New(t), newHookServer(t)
	const maps = "/api/v1/namespaces/a/configmaps"
	for _, name := range []string{"x", "y", "z"} {
		playWritesOn(t, srv, "\nPOST "+maps+` {"metadata":{"name":"`+name+`"}}`+"\n201\n")
	}
	h.answers["/v"] = func(request map[string]any) any {
		old := request["oldObject"].(map[string]any)["metadata"].(map[string]any)
		return map[string]any{"allowed": old["name"] != "y", "warnings": []string{"about " + old["name"].(string)}}
	}
	h.configure(srv, "Validating", "/v", aboutConfigMaps, "")
	playWritesOn(t, srv, "\nDELETE "+maps+`?gracePeriodSeconds=3
400 299 - "about x" 299 - "about y"
{"message":"admission webhook \"hook.example.com\" denied the request without explanation"}

GET `+maps+`/x
404

GET `+maps+`/y
200

GET `+maps+`/z
200
`)
	asked := h.take("/v")
	if len(asked) != 2 {
		t.Fatalf("it was asked %d times, want 2", len(asked))
	}
	for _, a := range asked {
		if name, ok := a["name"]; ok || a["operation"] != "DELETE" || a["object"] != nil || a["namespace"] != "a" {
			t.Errorf("name %v, operation %v, object %v, namespace %v", name, a["operation"], a["object"], a["namespace"])
		}
		if options := fmt.Sprint(a["options"]); options != "map[apiVersion:meta.k8s.io/v1 gracePeriodSeconds:3 kind:DeleteOptions]" {
			t.Errorf("options %s", options)
		}
	}
}

// TestWebhooksOfAScale: the subresource scale has a Scale, before and after, which a
// webhook may change.
func TestWebhooksOfAScale(t *testing.T) {
	srv, h := apitest.New(t), newHookServer(t)
	h.answers["/m"] = func(map[string]any) any {
		return map[string]any{"allowed": true, "patchType": "JSONPatch",
			"patch": base64.StdEncoding.EncodeToString([]byte(`[{"op":"replace","path":"/spec/replicas","value":5}]`))}
	}
	const rules = `{"operations":["*"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments/scale"]}`
	h.configure(srv, "Mutating", "/m", rules, "")
	h.configure(srv, "Validating", "/v", rules, "")
	const deployments = "/apis/apps/v1/namespaces/a/deployments"
	playWritesOn(t, srv, `
POST `+deployments+` {"metadata":{"name":"d"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}
201
`)
	for _, request := range []string{
		"PUT " + deployments + `/d/scale {"metadata":{"name":"d","labels":{"l":"m"}},"spec":{"replicas":3}}`,
		"> Content-Type: application/merge-patch+json\nPATCH " + deployments + `/d/scale {"spec":{"replicas":4}}`,
		"> Content-Type: application/apply-patch+yaml\nPATCH " + deployments + `/d/scale?fieldManager=m&force=true {"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d"},"spec":{"replicas":2}}`,
	} {
		playWritesOn(t, srv, "\n"+request+"\n200\n"+`{"kind":"Scale","spec":{"replicas":5}}`+"\n\nGET "+deployments+"/d\n200\n"+
			`{"kind":"Deployment","spec":{"replicas":5,"selector":{"matchLabels":{"a":"b"}}}}`+"\n")
		for _, path := range []string{"/m", "/v"} {
			asked := h.take(path)
			if len(asked) != 1 {
				t.Fatalf("%s: %s was asked %d times", request, path, len(asked))
			}
			a := asked[0]
			for _, member := range []string{"kind", "requestKind"} {
				if got := fmt.Sprint(a[member]); got != "map[group:autoscaling kind:Scale version:v1]" {
					t.Errorf("%s: %s of %s is %s", request, member, path, got)
				}
			}
			object, old := a["object"].(map[string]any), a["oldObject"].(map[string]any)
			if object["kind"] != "Scale" || old["kind"] != "Scale" || object["apiVersion"] != "autoscaling/v1" || old["status"].(map[string]any)["selector"] != "a=b" {
				t.Errorf("%s: %s got %v and %v", request, path, object, old)
			}
			if a["name"] != "d" || a["subResource"] != "scale" || a["resource"].(map[string]any)["resource"] != "deployments" {
				t.Errorf("%s: %s was asked about %v", request, path, a)
			}
		}
	}
}
