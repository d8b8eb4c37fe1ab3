package main

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/internal/exit"
)

// TestManifestsOfThePage: a server accepts them, in order, and they have the rights and
// the labels that they need of each other.
func TestManifestsOfThePage(t *testing.T) {
	all := kustomized(t, packagingDir+"/manifests/ui")
	srv := apitest.New(t)
	for _, o := range all {
		if code, answer := create(t, srv, o); code != http.StatusCreated {
			t.Errorf("%v: %d %s", o["kind"], code, answer)
		}
	}
	for _, review := range []struct{ group, resource string }{{"authentication.k8s.io", "tokenreviews"}, {"authorization.k8s.io", "subjectaccessreviews"}} {
		rules, _ := of(t, all, "ClusterRole")["rules"].([]any)
		if !slices.ContainsFunc(rules, func(r any) bool {
			return cmp.Equal([][]string{{review.group}, {review.resource}, {"create"}}, [][]string{texts(dig(r, "apiGroups")), texts(dig(r, "resources")), texts(dig(r, "verbs"))})
		}) {
			t.Errorf("the role may not create %s.%s", review.resource, review.group)
		}
	}
	deployment := of(t, all, "Deployment")
	pod := dig(deployment, "spec", "template", "spec")
	labels := dig(deployment, "spec", "template", "metadata", "labels")
	for _, test := range []struct{ got, want any }{
		{dig(of(t, all, "Service"), "spec", "selector"), labels},
		{dig(of(t, all, "NetworkPolicy"), "spec", "podSelector", "matchLabels"), labels},
		{dig(of(t, all, "Service"), "spec", "ports", 0, "targetPort"), dig(pod, "containers", 0, "ports", 0, "name")},
		{dig(of(t, all, "NetworkPolicy"), "spec", "ingress", 0, "ports", 0, "port"), dig(pod, "containers", 0, "ports", 0, "containerPort")},
		{dig(pod, "serviceAccountName"), dig(of(t, all, "ClusterRoleBinding"), "subjects", 0, "name")},
		{dig(pod, "serviceAccountName"), dig(of(t, all, "ServiceAccount"), "metadata", "name")},
		{slices.Contains(texts(dig(pod, "containers", 0, "args")), "--auth=token-review"), true},
		{dig(pod, "securityContext", "runAsNonRoot"), true},
		{dig(pod, "containers", 0, "securityContext", "readOnlyRootFilesystem"), true},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// TestPageStartsWithTheArgumentsOfItsDeployment: the program knows them, and serves a
// page that has no link with a token.
func TestPageStartsWithTheArgumentsOfItsDeployment(t *testing.T) {
	srv := apitest.New(t)
	args := append(arguments(t, kustomized(t, packagingDir+"/manifests/ui")), "-s", srv.URL)
	ctx, stop := context.WithCancelCause(t.Context())
	p := &process{stop: stop, stdout: newTail(), stderr: newTail(), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.code = run(ctx, args, func(string) string { return "" }, strings.NewReader(""), p.stdout, p.stderr)
	}()
	served := p.stderr.wait(ctx, p.done, regexp.MustCompile(`ui: http://127\.0\.0\.1:\d+/(\n|")`))
	stop(exit.ErrAskedFor)
	<-p.done
	if !served {
		t.Errorf("no page; it ended with %d\n%s", p.code, p.stderr)
	}
}

// TestDeploymentsEndBeforeTheKernelKillsThem: they limit the memory of objects, and the
// container has the 2.2 times of it that a process takes (docs/limits.md), and 32 MiB.
func TestDeploymentsEndBeforeTheKernelKillsThem(t *testing.T) {
	for _, variant := range []string{"cluster", "one-namespace", "ui"} {
		container := dig(of(t, kustomized(t, packagingDir+"/manifests/"+variant), "Deployment"), "spec", "template", "spec", "containers", 0)
		objects := 0.0
		for _, a := range texts(dig(container, "args")) {
			flag, value, _ := strings.Cut(a, "=")
			if n, err := strconv.ParseFloat(value, 64); err == nil && (flag == "--memory" || flag == "--history-memory") {
				objects += n
			}
		}
		if objects == 0 {
			t.Errorf("%s: there is no --memory", variant)
		}
		var limit float64
		if _, err := fmt.Sscanf(fmt.Sprint(dig(container, "resources", "limits", "memory")), "%fMi", &limit); err != nil || limit < 2.2*objects+32 {
			t.Errorf("%s: %v MiB for %v MiB of objects (%v)", variant, limit, objects, err)
		}
	}
}
