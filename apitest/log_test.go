package apitest_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

func TestLogOfAContainer(t *testing.T) {
	srv := apitest.New(t)
	pod := kube.Key{Namespace: "a", Name: "web"}
	srv.Put(kube.Pods, `{"metadata":{"namespace":"a","name":"web"},"spec":{"containers":[{"name":"main","image":"i"},{"name":"side","image":"i"}],"initContainers":[{"name":"init","image":"i"}]}}`)
	srv.Put(kube.Pods, `{"metadata":{"namespace":"a","name":"one"},"spec":{"containers":[{"name":"main","image":"i"}]}}`)
	srv.WriteLog(pod, "main", "first\nsecond\nthird\n")
	srv.WriteLog(pod, "side", "other")
	for query, want := range map[string]string{
		"web/log?container=main":                       "first\nsecond\nthird\n",
		"web/log?container=side":                       "other\n",
		"web/log?container=init":                       "this server runs no containers\n",
		"one/log":                                      "this server runs no containers\n",
		"one/log?follow=true":                          "this server runs no containers\n",
		"web/log?container=main&tailLines=1":           "third\n",
		"web/log?container=main&tailLines=0":           "",
		"web/log?container=main&tailLines=9":           "first\nsecond\nthird\n",
		"web/log?container=main&limitBytes=8":          "first\nse",
		"web/log?container=main&sinceSeconds=99999999": "first\nsecond\nthird\n",
		"web/log":                "400 a container name must be specified for pod web, choose one of: [init main side]",
		"web/log?container=no":   "400 container no is not valid for pod web",
		"one/log?previous=true":  `400 previous terminated container "main" in pod "one" not found`,
		"web/log?tailLines=-1":   `422 PodLogOptions "web" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0`,
		"web/log?limitBytes=0":   `422 PodLogOptions "web" is invalid: limitBytes: Invalid value: 0: must be greater than 0`,
		"web/log?sinceSeconds=x": `400 strconv.ParseInt: parsing "x": invalid syntax`,
		"none/log":               `404 pods "none" not found`,
	} {
		code, got := do(t, srv, "GET", "/api/v1/namespaces/a/pods/"+query, "")
		if code != http.StatusOK {
			got = fmt.Sprint(code, " ", field(t, got, "message"))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

func TestLogIsFollowedToItsEnd(t *testing.T) {
	srv := apitest.New(t)
	pod := kube.Key{Namespace: "a", Name: "web"}
	srv.Put(kube.Pods, `{"metadata":{"namespace":"a","name":"web"},"spec":{"containers":[{"name":"main","image":"i"}]}}`)
	srv.WriteLog(pod, "main", "first\nsecond\n")
	resp, err := http.Get(srv.URL + "/api/v1/namespaces/a/pods/web/log?follow=true&tailLines=1")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r := bufio.NewReader(resp.Body)
	second, err := r.ReadString('\n')
	if second != "second\n" || err != nil {
		t.Errorf("%q %v", second, err)
	}
	srv.WriteLog(pod, "main", "third")
	third, err := r.ReadString('\n')
	if third != "third\n" || err != nil {
		t.Errorf("%q %v", third, err)
	}
	srv.EndLog(pod, "main")
	if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
		t.Errorf("%q %v", rest, err)
	}
}
