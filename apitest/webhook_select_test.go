package apitest_test

import (
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/listwatch/listwatch/apitest"
)

// TestWebhooksSelectByOldAndNew: an objectSelector selects an update if the object is
// selected before or after it. A namespace is in itself.
func TestWebhooksSelectByOldAndNew(t *testing.T) {
	srv, h := apitest.New(t), newHookServer(t)
	h.configure(srv, "Validating", "/o", aboutConfigMaps, `,"objectSelector":{"matchLabels":{"l":"yes"}}`)
	h.configure(srv, "Validating", "/n", `{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["namespaces","namespaces/status"]}`, `,"namespaceSelector":{"matchLabels":{"l":"yes"}}`)
	const maps, patch = "/api/v1/namespaces/a/configmaps", "> Content-Type: application/merge-patch+json\nPATCH "
	const label, other = ` {"metadata":{"labels":{"l":"yes"}}}` + "\n200", ` {"metadata":{"labels":{"l":"no"}}}` + "\n200"
	for _, test := range []struct {
		request, path string
		called        bool
	}{
		{"POST " + maps + ` {"metadata":{"name":"x"}}` + "\n201", "/o", false},
		{patch + maps + "/x" + label, "/o", true},
		{patch + maps + "/x" + other, "/o", true},
		{patch + maps + `/x {"data":{"a":"b"}}` + "\n200", "/o", false},
		{patch + maps + "/x" + label, "/o", true},
		{"DELETE " + maps + "/x\n200", "/o", true},
		{`POST /api/v1/namespaces {"metadata":{"name":"c"}}` + "\n201", "/n", false},
		{patch + "/api/v1/namespaces/c" + label, "/n", true},
		{patch + "/api/v1/namespaces/c/status" + other, "/n", true},
		{patch + "/api/v1/namespaces/c" + label, "/n", true},
		{patch + "/api/v1/namespaces/c" + other, "/n", false},
		{"DELETE /api/v1/namespaces/c\n200", "/n", false},
	} {
		playWritesOn(t, srv, "\n"+test.request+"\n")
		asked := h.take(test.path)
		if (len(asked) > 0) != test.called {
			t.Errorf("%s: %s was asked about %v", test.request, test.path, asked)
		} else if test.called && test.path == "/n" && asked[0]["namespace"] != "c" {
			t.Errorf("%s: namespace %v", test.request, asked[0]["namespace"])
		}
	}
}

// TestWebhookPatches: what kube-apiserver makes of patches that do not apply, and of
// warnings that no header can have.
func TestWebhookPatches(t *testing.T) {
	srv, h := apitest.New(t), newHookServer(t)
	patch := ""
	h.answers["/m"] = func(map[string]any) any {
		return map[string]any{"allowed": true, "patchType": "JSONPatch", "patch": base64.StdEncoding.EncodeToString([]byte(patch)),
			"warnings": []string{"", "nul\x00", "two\nlines", "esc\x1b[0m", "é", "tab\t"}}
	}
	const maps = "/api/v1/namespaces/a/configmaps"
	playWritesOn(t, srv, "\nPOST "+maps+` {"metadata":{"name":"old"}}`+"\n201\n")
	h.configure(srv, "Mutating", "/m", aboutConfigMaps, "")
	const failed, create = `500 299 - "é"` + "\n" + `{"message":"Internal error occurred: `, "POST " + maps + ` {"metadata":{"name":"x"}}` + "\n"
	for _, test := range []struct{ patch, request string }{
		{`[{"op":"add","path":"/data","value":{}}]`, "DELETE " + maps + "/old\n" + failed + `admission webhook \"hook.example.com\" attempted to modify the object, which is not supported for this operation"}`},
		{`[]`, "DELETE " + maps + "/old\n200 299 - \"é\""},
		{`{}`, create + failed + `failed calling webhook \"hook.example.com\": received undecodable patch in webhook response: json: cannot unmarshal object into Go value of type jsonpatch.Patch"}`},
		{`[{"op":"add","path":"/data/x","value":"y"}]`, create + failed + `add operation does not apply: doc is missing path: \"/data/x\": missing value"}`},
		{`[{"op":"test","path":"/metadata/name","value":"y"}]`, create + failed + `testing value /metadata/name failed: test failed"}`},
	} {
		patch = test.patch
		playWritesOn(t, srv, "\n"+test.request+"\n")
	}
}

// TestWebhookPatchIsCompleted: what a webhook adds gets defaults and loses unknown fields,
// as what a client sends.
func TestWebhookPatchIsCompleted(t *testing.T) {
	srv, h := apitest.New(t), newHookServer(t)
	playWritesOn(t, srv, thingsCRD)
	patches := map[string]string{
		"/pods": `[{"op":"add","path":"/spec/containers/-","value":{"name":"side","image":"s:1","ports":[{"containerPort":80}],"env":[{"name":"X","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]}},{"op":"add","path":"/spec/initContainers","value":[{"name":"in","image":"z"}]}]`,
		"/apps": `[{"op":"add","path":"/spec/template/spec/containers/-","value":{"name":"side","image":"s:1"}}]`,
		"/x":    `[{"op":"add","path":"/spec/one","value":"hook"},{"op":"add","path":"/spec/unknown","value":{"deep":1}}]`,
	}
	for path, rule := range map[string]string{"/pods": `"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]`,
		"/apps": `"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments"]`, "/x": `"apiGroups":["x.io"],"apiVersions":["v2"],"resources":["things"]`} {
		h.answers[path] = func(map[string]any) any {
			return map[string]any{"allowed": true, "patchType": "JSONPatch", "patch": base64.StdEncoding.EncodeToString([]byte(patches[path]))}
		}
		h.configure(srv, "Mutating", path, `{"operations":["CREATE"],`+rule+`}`, "")
	}
	playWritesOn(t, srv, `
POST /api/v1/namespaces/a/pods {"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}
201
{"spec":{"containers":[{"name":"c","imagePullPolicy":"Always"},{"name":"side","imagePullPolicy":"IfNotPresent","terminationMessagePolicy":"File","ports":[{"containerPort":80,"protocol":"TCP"}],"env":[{"valueFrom":{"fieldRef":{"apiVersion":"v1"}}}]}],"initContainers":[{"name":"in","imagePullPolicy":"Always"}]}}

POST /apis/apps/v1/namespaces/a/deployments {"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}
201
{"spec":{"template":{"spec":{"containers":[{"name":"c"},{"name":"side","imagePullPolicy":"IfNotPresent"}]}}}}

POST /apis/x.io/v1/namespaces/a/things {"apiVersion":"x.io/v1","kind":"Thing","metadata":{"name":"two"},"spec":{"a":1}}
201
{"spec":{"a":1,"one":"hook","unknown":null}}

POST /apis/x.io/v2/namespaces/a/things {"apiVersion":"x.io/v2","kind":"Thing","metadata":{"name":"three"},"spec":{"a":1}}
201
{"spec":{"a":1,"two":"d","unknown":null}}

GET /apis/x.io/v1/namespaces/a/things/three
200
{"spec":{"a":1,"one":"hook","unknown":null}}
`)
}

// TestWebhooksOfActions: evictions, bindings and requests for tokens store nothing, and
// webhooks see, change and deny them as kube-apiserver has it.
func TestWebhooksOfActions(t *testing.T) {
	srv, h := apitest.New(t), newHookServer(t)
	const pods, accounts = "/api/v1/namespaces/a/pods", "/api/v1/namespaces/a/serviceaccounts"
	playWritesOn(t, srv, `
POST `+pods+` {"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}
201

POST `+accounts+` {"metadata":{"name":"s"}}
201
`)
	const rule = `{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods/eviction","pods/binding","serviceaccounts/token"]}`
	h.answers["/m"] = func(request map[string]any) any {
		patch := `[]`
		switch request["subResource"] {
		case "binding":
			patch = `[{"op":"replace","path":"/target/name","value":"other"}]`
		case "token":
			patch = `[{"op":"add","path":"/spec/expirationSeconds","value":1234}]`
		}
		return map[string]any{"allowed": true, "patchType": "JSONPatch", "patch": base64.StdEncoding.EncodeToString([]byte(patch))}
	}
	denied := false
	h.answers["/v"] = func(map[string]any) any {
		return map[string]any{"allowed": !denied, "warnings": []string{"w"}, "status": map[string]any{"code": 429, "reason": "TooManyRequests", "message": "later"}}
	}
	h.configure(srv, "Mutating", "/m", rule, "")
	h.configure(srv, "Validating", "/v", rule, "")
	for _, test := range []struct{ path, body, answer, kind string }{
		{pods + "/p/binding", `{"metadata":{"name":"p"},"target":{"name":"n"}}`, "{}", "map[group: kind:Binding version:v1]"},
		{accounts + "/s/token", `{"spec":{}}`, `{"spec":{"expirationSeconds":1234}}`, "map[group:authentication.k8s.io kind:TokenRequest version:v1]"},
		{pods + "/p/eviction", `{"metadata":{"name":"p"}}`, "{}", "map[group:policy kind:Eviction version:v1]"},
	} {
		for _, denied = range []bool{true, false} {
			want := "201 299 - \"w\"\n" + test.answer
			if denied {
				want = "429 299 - \"w\"\n" + `{"message":"admission webhook \"hook.example.com\" denied the request: later"}`
			}
			playWritesOn(t, srv, "\nPOST "+test.path+" "+test.body+"\n"+want+"\n")
			for _, path := range []string{"/m", "/v"} {
				asked := h.take(path)
				if len(asked) != 1 {
					t.Fatalf("%s: %s was asked %d times", test.path, path, len(asked))
				}
				a := asked[0]
				o := a["object"].(map[string]any)
				kind := a["kind"].(map[string]any)
				if fmt.Sprint(kind) != test.kind || fmt.Sprint(a["requestKind"]) != test.kind || o["kind"] != kind["kind"] || a["operation"] != "CREATE" ||
					a["oldObject"] != nil || a["namespace"] != "a" || o["metadata"].(map[string]any)["namespace"] != "a" || a["resource"].(map[string]any)["group"] != "" {
					t.Errorf("%s: %s was asked about %v", test.path, path, a)
				}
			}
		}
		if test.kind == "map[group: kind:Binding version:v1]" {
			playWritesOn(t, srv, "\nGET "+pods+"/p\n200\n"+`{"spec":{"nodeName":"other"}}`+"\n")
		}
	}
	playWritesOn(t, srv, "\nGET "+pods+"/p\n404\n")
}
