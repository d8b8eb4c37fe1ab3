package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

func TestManifestsFromStdin(t *testing.T) {
	srv, err := apitest.Start(apitest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	for _, name := range []string{"a", "b", "c"} {
		srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"default","name":"`+name+`"}}`)
	}
	stdin := "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"list", "-s", srv.URL, "-f", "-", "-o", "name"}, func(string) string { return "" }, strings.NewReader(stdin), &stdout, &stderr)
	if diff := cmp.Diff("configmap/c\nconfigmap/a\n", stdout.String()); diff != "" || code != 0 {
		t.Errorf("exit code %d, -want +got\n%s%s", code, diff, &stderr)
	}
}
