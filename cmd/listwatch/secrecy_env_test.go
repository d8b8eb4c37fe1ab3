package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/kube"
)

// plantedValue is that of environment variables of TestRedactEnvHoldsEverywhere.
const plantedValue = "planted-value"

// envOf is a pod with environment variables in each place that it can have them in.
func envOf(revision string) string {
	env := func(place string) string {
		return fmt.Sprintf(`"env":[{"name":"P","value":"%s-%s"}]`, plantedValue, place)
	}
	pod := fmt.Sprintf(`{"initContainers":[{"name":"i","image":"x",%s}],"containers":[{"name":"c","image":"x",%s}]}`, env("init"), env("main"+revision))
	return fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"a","labels":{"r":%q},"annotations":{%q:%q}},"spec":%s}`,
		"r"+revision, "kubectl.kubernetes.io/last-applied-configuration", pod, pod)
}

// TestRedactEnvHoldsEverywhere: with --redact env no value of an environment variable is
// in what is printed, in any format, in an error that quotes what it saw, in a checkpoint,
// or in what hooks are given.
func TestRedactEnvHoldsEverywhere(t *testing.T) {
	srv := apitest.New(t)
	srv.Put(kube.Pods, envOf("1"))
	dir := t.TempDir()
	hold := func(what, text string) {
		t.Helper()
		if i := strings.Index(text, plantedValue); i >= 0 {
			t.Errorf("%s has a value: %.300q", what, text[max(0, i-100):])
		}
	}
	run := func(args ...string) (text string) {
		t.Helper()
		_, stdout, stderr := runAtHome(t, append(args, "-s", srv.URL, "-v", "9")...)
		return stdout + stderr
	}
	const value = ".spec.containers[0].env[0].value"
	for _, format := range everyFormat(t, map[string][]string{
		"jsonpath":         {"{" + value + "}", "{..value}"},
		"jsonpath-as-json": {"{.spec}"},
		"custom-columns":   {"V:" + value},
		"go-template":      {"{{.}}"},
		"jq":               {".", value + "|error", value + "|tonumber", "{}+" + value},
	}) {
		hold("list -o "+format, run("list", "pods", "-n", "shop", "-o", format, "--redact", "env"))
		state := filepath.Join(dir, "state")
		hold("watch -o "+format, run("watch", "pods", "-n", "shop", "--once", "-o", format, "--redact", "env", "--checkpoint", state, "--exec-initial", "--exec", "cat; env"))
		b, err := os.ReadFile(state)
		if err != nil {
			t.Fatal(err)
		}
		hold("the checkpoint of -o "+format, string(b))
		if err := os.Remove(state); err != nil {
			t.Fatal(err)
		}
	}
	for _, where := range []string{value + `|startswith("planted")`, value + "|error", value + "|tonumber", "{}+" + value, ".spec.containers[0].env|implode"} {
		hold("--where "+where, run("watch", "pods", "-n", "shop", "--once", "--where", where, "--redact", "env"))
	}
	hold("--until", run("watch", "pods", "-n", "shop", "--redact", "env", "--until", "jsonpath={"+value+"}=x", "--timeout", "1s"))
	hold("--sort-by", run("list", "pods", "-n", "shop", "--redact", "env", "--sort-by", value))
	for _, path := range []string{"/api/v1/pods", "/api/v1/namespaces/shop/pods/a", "/api/v1/pods?watch=true&timeoutSeconds=1"} {
		hold("--raw "+path, run("list", "--raw", path, "--redact", "env"))
	}
	for _, how := range []string{"unified", "paths", "merge-patch", "json-patch"} {
		state := filepath.Join(dir, how)
		run("watch", "pods", "-n", "shop", "--once", "-o", "diff", "--diff", how, "--redact", "env", "--checkpoint", state)
		srv.Put(kube.Pods, envOf(how))
		text := run("watch", "pods", "-n", "shop", "--once", "-o", "diff", "--diff", how, "--redact", "env", "--checkpoint", state)
		hold("--diff "+how, text)
		if !strings.Contains(text, "r"+how) {
			t.Errorf("--diff %s shows nothing: %s", how, text)
		}
	}
	if text := run("list", "pods", "-n", "shop", "-o", "json"); !strings.Contains(text, plantedValue) {
		t.Errorf("it tests nothing: %s", text)
	}
}

// everyFormat returns all that -o takes, with the expressions of a test for those that need
// one. A format of expressions for which the test has none fails it.
func everyFormat(t *testing.T, expressions map[string][]string) []string {
	t.Helper()
	list := []string{""}
	for _, name := range print.FormatNames() {
		base, takes := strings.CutSuffix(name, "=")
		if !takes {
			list = append(list, name)
			continue
		}
		if len(expressions[base]) == 0 {
			t.Fatalf("the test has no expression for -o %s", name)
		}
		for _, e := range expressions[base] {
			list = append(list, name+e)
		}
	}
	return list
}
