package apitest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
)

// TestGuardAnswersAsTheServer: what the guard of the listener refuses is answered with a
// Status, as kube-apiserver has it where it refuses the same. A write without a media
// type, which kube-apiserver takes, is refused with the guard's reason unless it is an
// update or by client-go: a web page can send one. Nothing of it is stored, no fault sees
// it, and the journal has it.
func TestGuardAnswersAsTheServer(t *testing.T) {
	const (
		path   = "/api/v1/namespaces/a/configmaps"
		status = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",`
		types  = "the body of the request was in an unknown format - accepted media types include: "
	)
	srv := apitest.New(t)
	srv.AddResource(apitest.ResourceInfo{Resource: widgetsV1})
	srv.On(apitest.Match{}, faults.Answer(apitest.StatusInternal("a fault"))).Times(1)
	body := configMap("a", "1")
	for _, test := range []struct {
		name, method, path string
		header             []string
		code               int
		want               string
	}{
		{"text", "POST", path, []string{"Content-Type", "text/plain"}, 415,
			status + `"message":"` + types + `application/json, application/yaml, application/vnd.kubernetes.protobuf","reason":"UnsupportedMediaType","code":415}` + "\n"},
		{"form", "PUT", path + "/a", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415,
			status + `"message":"` + types + `application/json, application/yaml, application/vnd.kubernetes.protobuf","reason":"UnsupportedMediaType","code":415}` + "\n"},
		{"patch", "PATCH", path + "/a", []string{"Content-Type", "text/plain"}, 415,
			status + `"message":"415: Unsupported Media Type","reason":"UnsupportedMediaType","details":{},"code":415}` + "\n"},
		{"patch of a custom resource", "PATCH", "/apis/example.com/v1/namespaces/a/widgets/a", []string{"Content-Type", "text/plain"}, 415,
			status + `"message":"` + types + `application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml","reason":"UnsupportedMediaType","code":415}` + "\n"},
		{"no type", "POST", path, nil, 415,
			status + `"message":"a body needs a Content-Type that no form has, such as application/json","reason":"UnsupportedMediaType","code":415}` + "\n"},
		{"a page", "POST", path, []string{"Content-Type", "application/json", "Origin", "https://example.com"}, 403,
			status + `"message":"this is for programs, not for web pages of another origin","reason":"Forbidden","code":403}` + "\n"},
		{"health, for a page", "GET", "/healthz", []string{"Sec-Fetch-Site", "cross-site"}, 403,
			status + `"message":"this is for programs, not for web pages of another origin","reason":"Forbidden","code":403}` + "\n"},
	} {
		code, got := do(t, srv, test.method, test.path, body, test.header...)
		if diff := cmp.Diff(test.want, got); code != test.code || diff != "" {
			t.Errorf("%s: %d (-want +got):\n%s", test.name, code, diff)
		}
	}
	if objects, _ := srv.List(kube.ConfigMaps); len(objects) != 0 {
		t.Errorf("stored: %s", objects)
	}
	var codes []int
	for _, r := range srv.Requests() {
		codes = append(codes, r.Code)
	}
	if diff := cmp.Diff([]int{415, 415, 415, 415, 415, 403, 403}, codes); diff != "" {
		t.Errorf("the journal (-want +got):\n%s", diff)
	}
	if code, _ := get(t, srv, path); code != 500 {
		t.Errorf("%d: a request that was refused has used up the fault", code)
	}
	srv.Put(kube.ConfigMaps, body)
	if code, got := do(t, srv, "PUT", path+"/a", body); code != 200 { // as client-go updates a scale
		t.Errorf("an update without a type: %d %s", code, got)
	}
	kubectl := "kubectl/v1.37.0 (linux/amd64) kubernetes/abcdef0"
	if code, got := do(t, srv, "POST", path, configMap("b", "1"), "User-Agent", kubectl); code != 201 {
		t.Errorf("kubectl create --raw: %d %s", code, got)
	}
}
