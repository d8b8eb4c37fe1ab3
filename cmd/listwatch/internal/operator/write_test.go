package operator

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestWriteMakesAnOperatorThatPassesItsTests runs them without a network.
func TestWriteMakesAnOperatorThatPassesItsTests(t *testing.T) {
	for _, webhook := range []bool{false, true} {
		t.Run(fmt.Sprintf("webhook %t", webhook), func(t *testing.T) { testWritten(t, webhook) })
	}
}

func testWritten(t *testing.T, webhook bool) {
	dir := filepath.Join(t.TempDir(), "greeting")
	files, err := Write(Options{Group: "example.com", Kind: "Greeting", Dir: dir, Webhook: webhook})
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, name := range files {
		lines += bytes.Count(read(t, dir, name), []byte("\n"))
	}
	if lines >= 400 {
		t.Errorf("%d lines, want less than 400", lines)
	}
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	// It requires what this module requires: other versions may not be in the module cache.
	requires := regexp.MustCompile(`(?s)\nrequire \(.*?\n\)`).FindAll(read(t, root, "go.mod"), -1)
	write(t, dir, "go.mod", append(read(t, dir, "go.mod"), bytes.Join(requires, []byte("\n"))...))
	write(t, dir, "go.sum", read(t, root, "go.sum"))
	run := func(name string, args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
		return out
	}
	if out := run("gofmt", "-l", "."); len(out) > 0 {
		t.Errorf("gofmt: %s", out)
	}
	run("go", "mod", "edit", "-replace=github.com/listwatch/listwatch="+root)
	run("go", "vet", "./...")
	run("go", "test", "./...")
	printed := run("go", "run", ".", "-print", "-system-namespace", "greeting-operator")
	if got := bytes.Contains(printed, []byte("kind: ValidatingWebhookConfiguration")); got != webhook || !bytes.Contains(printed, []byte("kind: CustomResourceDefinition")) {
		t.Errorf("printed:\n%s", printed)
	}
	// A pod whose caches wait for its own conversion is not ready.
	if got := bytes.Contains(read(t, dir, "manifests/operator.yaml"), []byte("# publishNotReadyAddresses: true # with webhook.Convert")); got != webhook {
		t.Error("whoever adds a conversion is told what the Service needs:", got)
	}
	// The container has this folder only, not the replaced module.
	docker := filepath.Join(t.TempDir(), "docker")
	if err := os.WriteFile(docker, []byte("#!/bin/sh\nexec go list -mod=vendor -deps . >/dev/null\n"), 0o777); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	run("make", "image", "PATH="+filepath.Dir(docker)+string(os.PathListSeparator)+os.Getenv("PATH"))
	if bytes.Contains(read(t, dir, "Dockerfile"), []byte("go mod download")) {
		t.Error("the Dockerfile downloads modules, of which one may be replaced by a folder that the container does not have")
	}
	if _, err := os.Stat(filepath.Join(dir, "vendor")); err == nil {
		t.Error("make image leaves the folder vendor, which later builds would use")
	}
	// A server that cannot call the webhook of this process refuses each object.
	reached := []byte("-webhook-url https://192.0.2.1:9443")
	if steps := run("make", "-n", "run", "URL=https://192.0.2.1:9443"); webhook && bytes.Count(steps, reached) != 2 || !webhook && bytes.Contains(steps, reached) {
		t.Errorf("make run:\n%s", steps)
	}
	without := exec.CommandContext(t.Context(), "make", "-n", "run", "URL=")
	without.Dir = dir
	if out, err := without.CombinedOutput(); webhook == (err == nil) || webhook && !bytes.Contains(out, []byte("URL=https://ADDRESS:9443")) {
		t.Errorf("make run without a URL: %v\n%s", err, out)
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, dir, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestWriteOverwritesNothing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if files, err := Write(Options{Group: "example.com", Kind: "Greeting", Dir: dir}); err == nil {
		t.Errorf("it wrote %q", files)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "mine" || len(entries) != 1 {
		t.Errorf("main.go has %q (%v) beside %d files", b, err, len(entries)-1)
	}
}

func TestCheckRefusesNames(t *testing.T) {
	for _, o := range []Options{
		{Group: "", Kind: "Greeting"}, {Group: "example", Kind: "Greeting"}, {Group: "Example.com", Kind: "Greeting"}, {Group: "apps.k8s.io", Kind: "Greeting"}, {Group: "k8s.io", Kind: "Greeting"}, {Group: "a b.com", Kind: "Greeting"},
		{Group: "example.com", Kind: ""}, {Group: "example.com", Kind: "greeting"}, {Group: "example.com", Kind: "Greet-ing"}, {Group: "example.com", Kind: "G/../../x"},
	} {
		if err := o.Check(); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	if err := (Options{Group: "example.com", Kind: "Greeting"}).Check(); err != nil {
		t.Error(err)
	}
}
