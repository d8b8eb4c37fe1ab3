package apitest_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

func TestHooksChangeAndRefuseWrites(t *testing.T) {
	srv := apitest.NewInMemory(t)
	srv.Mutate(apitest.Match{Resource: "configmaps", Verb: "create"}, func(a *apitest.Admission) error {
		a.Object = bytes.Replace(a.Object, []byte(`"k":"v"`), []byte(`"k":"changed"`), 1)
		a.Warnings = append(a.Warnings, "changed")
		return nil
	})
	var seen []string
	remove := srv.Validate(apitest.Match{Resource: "configmaps"}, func(a *apitest.Admission) error {
		seen = append(seen, fmt.Sprintf("%s %s %d %d %v", a.Operation, a.Key, len(a.Object), len(a.Old), strings.Contains(string(a.Object), "changed")))
		if a.Operation == "CREATE" {
			a.Warnings = append(a.Warnings, "changed") // again, which need not be said twice
		}
		if a.Key.Name == "bad" {
			return errors.New("no bad ones")
		}
		return nil
	})
	playWritesOn(t, srv, `
POST /api/v1/namespaces/a/configmaps {"metadata":{"name":"x"},"data":{"k":"v"}}
201 299 - "changed"
{"data":{"k":"changed"}}

POST /api/v1/namespaces/a/configmaps {"metadata":{"name":"bad"}}
403 299 - "changed"
{"reason":"Forbidden","message":"configmaps \"bad\" is forbidden: no bad ones"}

DELETE /api/v1/namespaces/a/configmaps/x
200
`)
	remove()
	playWritesOn(t, srv, `
POST /api/v1/namespaces/a/configmaps {"metadata":{"name":"bad"}}
201 299 - "changed"
`)
	if len(seen) != 3 || !strings.HasPrefix(seen[0], "CREATE a/x") || !strings.HasSuffix(seen[0], " 0 true") || !strings.HasPrefix(seen[2], "DELETE a/x 0 ") {
		t.Errorf("the hook saw %q", seen)
	}
}

func TestWebhooksAreCalled(t *testing.T) {
	var asked []string
	hook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			Kind, APIVersion string
			Request          struct {
				UID, Operation, Name, Namespace string
				Object                          map[string]any
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		asked = append(asked, review.Request.Operation+" "+review.Request.Name)
		answer := map[string]any{"uid": review.Request.UID, "allowed": true}
		switch {
		case r.URL.Path == "/mutate":
			answer["patchType"] = "JSONPatch"
			answer["patch"] = base64.StdEncoding.EncodeToString([]byte(`[{"op":"add","path":"/metadata/labels","value":{"hooked":"yes"}}]`))
		case review.Request.Name == "bad":
			answer["allowed"] = false
			answer["status"] = map[string]any{"message": "no bad ones"}
		}
		json.NewEncoder(w).Encode(map[string]any{"kind": review.Kind, "apiVersion": review.APIVersion, "response": answer})
	}))
	defer hook.Close()
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw}))

	srv := apitest.New(t)
	configuration := func(kind, plural, path, policy, url string) string {
		return fmt.Sprintf(`
POST /apis/admissionregistration.k8s.io/v1/%s {"kind":%q,"apiVersion":"admissionregistration.k8s.io/v1","metadata":{"name":"h%s"},"webhooks":[{"name":"hook.example.com","sideEffects":"None","admissionReviewVersions":["v1"],"failurePolicy":%q,"clientConfig":{"url":%q,"caBundle":%q},"rules":[{"operations":["CREATE","DELETE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}],"objectSelector":{"matchExpressions":[{"key":"skip","operator":"DoesNotExist"}]}}]}
201
`, plural, kind, strings.ReplaceAll(path, "/", "-"), policy, url+path, ca)
	}
	playWritesOn(t, srv, configuration("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "/mutate", "Fail", hook.URL)+
		configuration("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "/validate", "Fail", hook.URL)+`
POST /api/v1/namespaces/a/configmaps {"metadata":{"name":"x"}}
201
{"metadata":{"labels":{"hooked":"yes"}}}

POST /api/v1/namespaces/a/configmaps {"metadata":{"name":"bad"}}
400
{"message":"admission webhook \"hook.example.com\" denied the request: no bad ones"}

POST /api/v1/namespaces/a/configmaps {"metadata":{"name":"skipped","labels":{"skip":""}}}
201
{"metadata":{"labels":{"skip":""}}}

POST /api/v1/namespaces/a/secrets {"metadata":{"name":"x"}}
201
{"metadata":{"labels":null}}
`)
	if got := strings.Join(asked, ", "); got != "CREATE x, CREATE x, CREATE bad, CREATE bad" {
		t.Errorf("asked about %s", got)
	}
	hook.Close()
	playWritesOn(t, srv, `
POST /api/v1/namespaces/a/configmaps {"metadata":{"name":"y"}}
500
{"reason":"InternalError"}
`)
	srv.Delete(kube.Resource{Group: "admissionregistration.k8s.io", Version: "v1", Plural: "mutatingwebhookconfigurations"}, kube.Key{Name: "h-mutate"})
	srv.Delete(kube.Resource{Group: "admissionregistration.k8s.io", Version: "v1", Plural: "validatingwebhookconfigurations"}, kube.Key{Name: "h-validate"})
	playWritesOn(t, srv, configuration("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "/ignored", "Ignore", "https://127.0.0.1:1")+`
POST /api/v1/namespaces/a/configmaps {"metadata":{"name":"y"}}
201
`)
}

func TestDenialsShowInRequestsAndReviews(t *testing.T) {
	srv := apitest.NewInMemory(t)
	remove := srv.Deny("jane", apitest.Match{Verb: "list", Resource: "pods", Namespace: "a"})
	const story = `
> Impersonate-User: jane
GET /api/v1/namespaces/a/pods
%s

GET /api/v1/namespaces/a/pods
200

> Impersonate-User: jane
POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews {"spec":{"resourceAttributes":{"verb":"list","resource":"pods","namespace":"a"}}}
201
{"status":{"allowed":%s}}
`
	playWritesOn(t, srv, fmt.Sprintf(story, "403\n"+`{"reason":"Forbidden","message":"pods is forbidden: User \"jane\" cannot list resource \"pods\" in API group \"\" in the namespace \"a\""}`, "false"))
	remove()
	playWritesOn(t, srv, fmt.Sprintf(story, "200", "true"))
}
