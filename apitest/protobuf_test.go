package apitest_test

import (
	"encoding/binary"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/internal/protojson"
	"github.com/listwatch/listwatch/kube"
)

// TestProtobufBodies writes what the Go types of Kubernetes have encoded, as typed
// clients do.
func TestProtobufBodies(t *testing.T) {
	playProtobuf(t, []protobufStep{
		{"POST", "/api/v1/namespaces/a/pods", pb(t, "Pod"),
			`201 {"kind":"Pod","metadata":{"name":"p","labels":{"app":"web"}},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"100m","memory":"1Gi"}}}]}}`},
		{"POST", "/api/v1/namespaces/a/secrets", pb(t, "Secret"), `201 {"data":{"k":"AP8=","empty":""},"type":"Opaque"}`},
		{"POST", "/apis/apps/v1/namespaces/a/controllerrevisions", pb(t, "ControllerRevision"), `201 {"data":{"spec":{"x":[1,2.5]}},"revision":3}`},
		{"POST", "/apis/coordination.k8s.io/v1/namespaces/a/leases", pb(t, "Lease"), `201 {"spec":{"holderIdentity":"me","renewTime":"2026-01-02T03:04:05.000006Z"}}`},
		{"POST", "/apis/apps/v1/namespaces/a/deployments", pb(t, "Deployment"), `201 {"metadata":{"uid":"?$uid"},"spec":{"replicas":0,"strategy":{"rollingUpdate":{"maxUnavailable":"25%"}}}}`},
		{"PUT", "/apis/apps/v1/namespaces/a/deployments/d/scale", pb(t, "Scale"), `200 {"kind":"Scale","spec":{"replicas":4}}`},
		{"PUT", "/apis/apps/v1/namespaces/a/deployments/d", pb(t, "Deployment"), `200 {"metadata":{"generation":3},"spec":{"replicas":0}}`},
		{"POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", pb(t, "CustomResourceDefinition"), `201 {"spec":{"names":{"plural":"ks"}}}`},
		{"POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", pb(t, "SubjectAccessReview"),
			`201 {"spec":{"user":"u","extra":{"scopes":["a","b"]}},"status":{"allowed":true}}`},
		{"DELETE", "/api/v1/namespaces/a/secrets/s", pb(t, "DeleteOptions"), `409 {"reason":"Conflict"}`}, // another UID
		{"DELETE", "/api/v1/namespaces/a/secrets/s", message("v1", "DeleteOptions", part(5, "All")), `200 {"status":"Success"}`},
		{"GET", "/api/v1/namespaces/a/secrets/s", "", `200 {"kind":"Secret"}`}, // dryRun was read
		{"DELETE", "/api/v1/namespaces/a/secrets/s", message("v1", "DeleteOptions"), `200 {"status":"Success"}`},
		{"GET", "/api/v1/namespaces/a/secrets/s", "", `404 {}`},
		{"DELETE", "/api/v1/namespaces/a/pods", message("v1", "DeleteOptions"), `200 {"kind":"PodList"}`},
		{"DELETE", "/apis/apps/v1/namespaces/a/deployments/d", "", `200 {}`},
	})
}

func TestProtobufBodiesThatAreWrong(t *testing.T) {
	const secrets = "/api/v1/namespaces/a/secrets"
	crd := pb(t, "CustomResourceDefinition")
	playProtobuf(t, []protobufStep{
		{"POST", secrets, `{"kind":"Secret"}`,
			`400 {"reason":"BadRequest","message":"the object provided is unrecognized (must be of type Secret): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({\"kind\":\"Secret\"})"}`},
		{"POST", secrets, "", `400 {"reason":"BadRequest"}`},
		{"POST", secrets, pb(t, "Secret")[:30],
			`400 {"message":"the object provided is unrecognized (must be of type Secret): malformed protobuf: it ends too early"}`},
		{"POST", secrets, message("v1", "Secret", "\x0a\x02\x0a"),
			`400 {"message":"Secret in version \"v1\" cannot be handled as a Secret: malformed protobuf: metadata: it ends too early"}`},
		{"POST", secrets, message("v1", "Secret", part(1, "\x08\x01")),
			`400 {"message":"Secret in version \"v1\" cannot be handled as a Secret: malformed protobuf: metadata: name: a field of another type"}`},
		{"POST", secrets, message("g/v9", "Foo"),
			`400 {"message":"Foo in version \"v9\" cannot be handled as a Secret: no kind \"Foo\" is registered for version \"g/v9\" in scheme \"pkg/runtime/scheme.go:111\""}`},
		{"POST", secrets, message("v1", "ConfigMap"), `400 {"reason":"BadRequest"}`},
		{"POST", secrets, pb(t, "Secret"), `201 {}`},
		{"DELETE", secrets + "/s", pb(t, "Secret"), `400 {"message":"no kind \"Secret\" is registered for version \"v1\" in scheme \"pkg/runtime/scheme.go:111\""}`},
		{"DELETE", secrets + "/s", "{}", `400 {"message":"malformed protobuf: it does not begin as an object does"}`},
		{"PATCH", secrets + "/s", pb(t, "Secret"), `415 {"reason":"UnsupportedMediaType"}`},
		{"DELETE", secrets + "/s", message("any/v7", "DeleteOptions"), `200 {}`},
		{"POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd, `201 {}`},
		{"POST", "/apis/g.io/v1/namespaces/a/ks", message("g.io/v1", "K", part(1, part(1, "n"))), `415 {"reason":"UnsupportedMediaType"}`},
	})
}

// TestProtobufIsNegotiated: clients that prefer protobuf get it where there is such a
// form; who takes nothing else gets 406 where there is none.
func TestProtobufIsNegotiated(t *testing.T) {
	const both = protojson.MediaType + ",application/json"
	const partial = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	gizmos := kube.Resource{Group: "g.io", Version: "v1", Plural: "gizmos", Kind: "Gizmo", Namespaced: true}
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true, NoValidation: true})
		srv.AddResource(apitest.ResourceInfo{Resource: gizmos})
		for _, c := range []struct{ path, accept, want string }{
			{"/api/v1/pods", both, "200 application/vnd.kubernetes.protobuf"},
			{"/api/v1/pods", protojson.MediaType, "200 application/vnd.kubernetes.protobuf"},
			{"/api/v1/pods", "application/json," + protojson.MediaType, "200 application/json"},
			{"/api/v1/pods", protojson.MediaType + partial + ",application/json" + partial, "406 application/json"}, // of a list
			{"/api/v1/pods", protojson.MediaType + strings.Replace(partial, "Metadata", "MetadataList", 1), "200 application/vnd.kubernetes.protobuf"},
			{"/api/v1/pods?watch=1&timeoutSeconds=1", both, "200 application/vnd.kubernetes.protobuf;stream=watch"},
			{"/api/v1/pods?watch=1&timeoutSeconds=1", protojson.MediaType + partial, "200 application/vnd.kubernetes.protobuf;stream=watch"},
			{"/api/v1/pods", "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1, application/json, */*", "200 application/json"},
			{"/api/v1/namespaces/a/pods/none", both, "404 application/json"},
			{"/apis/g.io/v1/gizmos", both, "200 application/json"},
			{"/apis/g.io/v1/gizmos", protojson.MediaType, "406 application/json"},
			{"/apis/g.io/v1/gizmos?watch=1&timeoutSeconds=1", protojson.MediaType + partial, "200 application/vnd.kubernetes.protobuf;stream=watch"},
		} {
			r, err := http.NewRequestWithContext(t.Context(), "GET", srv.URL+c.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Accept", c.accept)
			resp, err := srv.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if got := resp.Status[:3] + " " + resp.Header.Get("Content-Type"); got != c.want {
				t.Errorf("%s as %s: got %s, want %s", c.path, c.accept, got, c.want)
			}
		}
	})
}

// protobufStep is a request and what must be in its answer.
type protobufStep struct{ method, path, body, want string }

func playProtobuf(t *testing.T, steps []protobufStep) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true, NoValidation: true})
		known := map[string]string{}
		for i, s := range steps {
			header := http.Header{"Content-Type": {protojson.MediaType}, "Accept": {"application/json"}}
			code, answer := ask(t, srv, s.method, s.path, s.body, header)
			wantCode, members, _ := strings.Cut(s.want, " ")
			check(t, strings.Join([]string{"step", string(rune('a' + i)), s.method, s.path}, " "), []string{wantCode, members}, code, answer, known)
		}
	})
}

// pb is an object that the Go types of Kubernetes have encoded.
func pb(t *testing.T, kind string) string {
	t.Helper()
	b, err := os.ReadFile("../internal/protojson/testdata/" + kind + ".pb")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// part is a protobuf field of type bytes.
func part(number int, parts ...string) string {
	body := strings.Join(parts, "")
	b := binary.AppendUvarint(nil, uint64(number)<<3|2)
	return string(binary.AppendUvarint(b, uint64(len(body)))) + body
}

// message is an object of these parts.
func message(apiVersion, kind string, parts ...string) string {
	return "k8s\x00" + part(1, part(1, apiVersion), part(2, kind)) + part(2, parts...)
}
