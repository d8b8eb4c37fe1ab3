package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/internal/exit"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

const packagingDir = "../../packaging"

// yamlDocs reads the documents of a file.
func yamlDocs(t *testing.T, file string) []map[string]any {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for dec := yaml.NewDecoder(bytes.NewReader(b)); ; {
		var o map[string]any
		if err := dec.Decode(&o); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, o)
	}
}

// dig returns what is at a path of names and indexes; nil where nothing is.
func dig(o any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := o.(map[string]any)
			o = m[p]
		case int:
			l, _ := o.([]any)
			if p >= len(l) {
				return nil
			}
			o = l[p]
		}
	}
	return o
}

func texts(v any) []string {
	var all []string
	l, _ := v.([]any)
	for _, e := range l {
		all = append(all, fmt.Sprint(e))
	}
	return all
}

// kustomized does what kubectl kustomize does with what these folders use of it.
func kustomized(t *testing.T, dir string) []map[string]any {
	t.Helper()
	k := yamlDocs(t, filepath.Join(dir, "kustomization.yaml"))[0]
	for key := range k {
		if !slices.Contains([]string{"apiVersion", "kind", "namespace", "resources", "patches"}, key) {
			t.Fatalf("%s: the test does not know %s", dir, key)
		}
	}
	used := []string{"kustomization.yaml"}
	var all []map[string]any
	for _, r := range texts(k["resources"]) {
		if used = append(used, r); strings.HasSuffix(r, ".yaml") {
			all = append(all, yamlDocs(t, filepath.Join(dir, r))...)
		} else {
			all = append(all, kustomized(t, filepath.Join(dir, r))...)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !slices.Contains(used, f.Name()) {
			t.Errorf("%s/%s is not in its kustomization", dir, f.Name())
		}
	}
	for i, o := range all {
		for n := 0; dig(k, "patches", n) != nil; n++ {
			p := dig(k, "patches", n)
			if o["kind"] == dig(p, "target", "kind") && dig(o, "metadata", "name") == dig(p, "target", "name") {
				all[i] = patched(t, o, fmt.Sprint(dig(p, "patch")))
			}
		}
		namespaced := !slices.Contains([]any{"Namespace", "ClusterRole", "ClusterRoleBinding"}, o["kind"])
		if ns := k["namespace"]; ns != nil && namespaced {
			dig(all[i], "metadata").(map[string]any)["namespace"] = ns
		}
	}
	return all
}

func patched(t *testing.T, o map[string]any, patch string) map[string]any {
	t.Helper()
	var ops any
	if err := yaml.Unmarshal([]byte(patch), &ops); err != nil {
		t.Fatal(err)
	}
	p, err := jsonpatch.DecodePatch(inJSON(t, ops))
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.Apply(inJSON(t, o))
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func inJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// collections are where the kinds of the manifests are created.
var collections = map[any]string{
	"Namespace": "/api/v1/namespaces", "ServiceAccount": "/api/v1/namespaces/NS/serviceaccounts",
	"PersistentVolumeClaim": "/api/v1/namespaces/NS/persistentvolumeclaims", "Deployment": "/apis/apps/v1/namespaces/NS/deployments",
	"Service": "/api/v1/namespaces/NS/services", "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/NS/networkpolicies",
	"Role":        "/apis/rbac.authorization.k8s.io/v1/namespaces/NS/roles",
	"RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/NS/rolebindings",
	"ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles", "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
}

// create posts o with strict validation and returns the code and the answer.
func create(t *testing.T, srv *apitest.Server, o map[string]any) (int, string) {
	t.Helper()
	path, ok := collections[o["kind"]]
	if !ok {
		t.Fatalf("the test does not know %v", o["kind"])
	}
	path = strings.Replace(path, "NS", fmt.Sprint(dig(o, "metadata", "namespace")), 1)
	req, err := http.NewRequestWithContext(t.Context(), "POST", srv.URL+path+"?fieldValidation=Strict", bytes.NewReader(inJSON(t, o)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

var variants = []struct {
	name, namespace string
	wide            bool // all namespaces
}{{"one-namespace", "shop", false}, {"cluster", "listwatch", true}}

func TestManifestsAreValid(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			srv := apitest.New(t)
			names := map[string]bool{}
			for _, o := range kustomized(t, packagingDir+"/manifests/"+v.name) {
				if code, answer := create(t, srv, o); code != http.StatusCreated {
					t.Errorf("%v: %d %s", o["kind"], code, answer)
				}
				if ns := dig(o, "metadata", "namespace"); ns != nil && ns != v.namespace {
					t.Errorf("%v is in namespace %v, want %s", o["kind"], ns, v.namespace)
				}
				names[fmt.Sprintf("%v/%v", o["kind"], dig(o, "metadata", "name"))] = true
				if subject := dig(o, "subjects", 0); subject != nil {
					names[fmt.Sprintf("account in %v", dig(subject, "namespace"))] = true
					role := fmt.Sprintf("%v/%v", dig(o, "roleRef", "kind"), dig(o, "roleRef", "name"))
					if !names[role] {
						t.Errorf("%v binds %s, which is not there", o["kind"], role)
					}
				}
			}
			for _, want := range []string{"Deployment/listwatch", "ServiceAccount/listwatch", "PersistentVolumeClaim/listwatch", "NetworkPolicy/listwatch", "account in " + v.namespace} {
				if !names[want] {
					t.Errorf("there is no %s", want)
				}
			}
			wrong := map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "x", "namespace": v.namespace}, "automountToken": true}
			if code, _ := create(t, srv, wrong); code != http.StatusBadRequest {
				t.Errorf("a field that does not exist: %d, want 400: the validation is not strict", code)
			}
		})
	}
}

func of(t *testing.T, all []map[string]any, kind string) map[string]any {
	t.Helper()
	for _, o := range all {
		if o["kind"] == kind {
			return o
		}
	}
	t.Fatalf("there is no %s", kind)
	return nil
}

// TestRolesAllowWhatTheProgramAsksFor runs the program with the arguments of the
// Deployment, through a lost history, and compares its requests with the rules.
func TestRolesAllowWhatTheProgramAsksFor(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			all := kustomized(t, packagingDir+"/manifests/"+v.name)
			role := "Role"
			if v.wide {
				role = "ClusterRole"
			}
			allowed := map[string]bool{}
			rules, _ := of(t, all, role)["rules"].([]any)
			for _, r := range rules {
				for _, group := range texts(dig(r, "apiGroups")) {
					for _, resource := range texts(dig(r, "resources")) {
						for _, verb := range texts(dig(r, "verbs")) {
							allowed[strings.TrimSpace(fmt.Sprintf("%s %s.%s %s", verb, resource, group, strings.Join(texts(dig(r, "resourceNames")), ",")))] = true
						}
					}
				}
			}

			srv := apitest.New(t, apitest.Fixture{Resource: kube.Pods, Object: `{"metadata":{"namespace":"shop","name":"a"}}`},
				apitest.Fixture{Resource: kube.Namespaces, Object: `{"metadata":{"name":"kube-system"}}`})
			asked := map[string]bool{}
			for _, first := range []string{"stream", "paged"} { // it depends on the server
				maps.Copy(asked, rehearse(t, srv, append(arguments(t, all), "--initial-list", first, "-s", srv.URL, "-n", v.namespace)))
			}
			if !v.wide {
				// It may not see this, and does without.
				delete(asked, "get namespaces. kube-system")
			}
			if diff := cmp.Diff(allowed, asked); diff != "" {
				t.Errorf("-allowed +asked for:\n%s", diff)
			}
		})
	}
}

// arguments returns those of the Deployment, with a folder and a port of this test.
func arguments(t *testing.T, all []map[string]any) []string {
	t.Helper()
	dir := t.TempDir()
	args := texts(dig(of(t, all, "Deployment"), "spec", "template", "spec", "containers", 0, "args"))
	for i, a := range args {
		a = strings.Replace(a, "/var/lib/listwatch", dir, 1)
		args[i] = strings.Replace(a, "0.0.0.0:8080", "127.0.0.1:0", 1)
	}
	return args
}

// rehearse runs the program through a lost history and returns what it asked for. Paths
// outside resources must be those of discovery.
func rehearse(t *testing.T, srv *apitest.Server, args []string) map[string]bool {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	p := &process{stop: stop, stdout: newTail(), stderr: newTail(), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.code = run(ctx, args, func(string) string { return "" }, strings.NewReader(""), p.stdout, p.stderr)
	}()
	bounded, done := context.WithTimeout(ctx, 30*time.Second)
	defer done()
	wait := func(out *tail, line string) {
		t.Helper()
		if !out.wait(bounded, p.done, regexp.MustCompile(line)) {
			stop(exit.ErrAskedFor)
			<-p.done
			t.Fatalf("no line matches %s; it ended with %d\n%s\n%s", line, p.code, p.stdout, p.stderr)
		}
	}
	wait(p.stdout, `(?s)"type":"SYNCED".*"type":"SYNCED"`)
	if err := srv.WaitForWatches(bounded, 2); err != nil {
		t.Fatal(err)
	}
	if err := srv.SetDoor(apitest.Refusing); err != nil {
		t.Fatal(err)
	}
	srv.CutWatches()
	srv.Expire()
	wait(p.stdout, `"type":"DISCONNECTED"`)
	if err := srv.SetDoor(apitest.Open); err != nil {
		t.Fatal(err)
	}
	wait(p.stdout, `"type":"RELISTED"`)
	p.stop(exit.ErrAskedFor)
	<-p.done
	if p.code != 0 {
		t.Errorf("exit code %d\n%s", p.code, p.stderr)
	}
	asked := map[string]bool{}
	for _, r := range srv.Requests() {
		switch {
		case r.Resource.Plural != "":
			asked[strings.TrimSpace(fmt.Sprintf("%s %s.%s %s", r.Verb, r.Resource.Plural, r.Resource.Group, r.Key.Name))] = true
		case r.Path != "/version" && r.Path != "/api" && r.Path != "/apis" && !strings.HasPrefix(r.Path, "/api/") && !strings.HasPrefix(r.Path, "/apis/"):
			t.Errorf("asks for %s", r.Path)
		}
	}
	return asked
}

// TestDeploymentIsHardened: what the pod security standard "restricted" wants, and
// more, so that a change of it is seen.
func TestDeploymentIsHardened(t *testing.T) {
	pod := dig(of(t, kustomized(t, packagingDir+"/manifests/cluster"), "Deployment"), "spec", "template", "spec")
	container := dig(pod, "containers", 0)
	for _, test := range []struct{ got, want any }{
		{dig(pod, "securityContext", "runAsNonRoot"), true},
		{dig(pod, "securityContext", "seccompProfile", "type"), "RuntimeDefault"},
		{dig(container, "securityContext", "readOnlyRootFilesystem"), true},
		{dig(container, "securityContext", "allowPrivilegeEscalation"), false},
		{dig(container, "securityContext", "capabilities", "drop", 0), "ALL"},
		{dig(container, "livenessProbe", "httpGet", "path"), "/healthz"},
		{dig(container, "readinessProbe", "httpGet", "path"), "/readyz"},
	} {
		if test.got != test.want {
			t.Errorf("%v, want %v", test.got, test.want)
		}
	}
	if args := texts(container.(map[string]any)["args"]); !slices.Contains(args, "--redact=env") {
		t.Errorf("values of environment variables are in the log and the checkpoint: %q", args)
	}
	dockerfile, err := os.ReadFile(packagingDir + "/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	user := fmt.Sprintf("\nUSER %.0f:%.0f\n", dig(pod, "securityContext", "runAsUser"), dig(pod, "securityContext", "runAsGroup"))
	for _, want := range []string{user, "CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build", "./cmd/listwatch\n"} {
		if !strings.Contains(string(dockerfile), want) {
			t.Errorf("the Dockerfile has no %q", want)
		}
	}
}

// TestKrewHasTheArchivesOfTheRelease: one for each system that goreleaser builds for.
func TestKrewHasTheArchivesOfTheRelease(t *testing.T) {
	release := yamlDocs(t, "../../.goreleaser.yaml")[0]
	built := dig(release, "builds", 0)
	if main := dig(built, "main"); main != "./cmd/listwatch" {
		t.Errorf("it builds %v", main)
	}
	b, err := os.ReadFile(packagingDir + "/krew.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// The braces are those of a template, whose result is YAML.
	text := strings.ReplaceAll(string(b), "{{ .TagName }}", "v1.2.3")
	text = regexp.MustCompile(`\{\{addURIAndSha "([^"]*)" \.TagName \}\}`).ReplaceAllString(text, "uri: $1\n      sha256: \"\"")
	var plugin map[string]any
	if err := yaml.Unmarshal([]byte(text), &plugin); err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, goos := range texts(dig(built, "goos")) {
		for _, arch := range texts(dig(built, "goarch")) {
			name, format := "listwatch", "tar.gz"
			if goos == "windows" {
				name, format = "listwatch.exe", "zip"
			}
			want = append(want, fmt.Sprintf("%s %s %s https://github.com/listwatch/listwatch/releases/download/v1.2.3/listwatch_v1.2.3_%s_%s.%s", goos, arch, name, goos, arch, format))
		}
	}
	for n := 0; dig(plugin, "spec", "platforms", n) != nil; n++ {
		p := dig(plugin, "spec", "platforms", n)
		labels := dig(p, "selector", "matchLabels")
		got = append(got, fmt.Sprintf("%v %v %v %v", dig(labels, "os"), dig(labels, "arch"), dig(p, "bin"), dig(p, "uri")))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if template := dig(release, "archives", 0, "name_template"); template != "{{ .ProjectName }}_{{ .Tag }}_{{ .Os }}_{{ .Arch }}" {
		t.Errorf("archives are called %v", template)
	}
}

// TestReleasesAreSignedAndHaveTheirNotices: the files of the published project say so to
// each other. None of them is run here.
func TestReleasesAreSignedAndHaveTheirNotices(t *testing.T) {
	release := yamlDocs(t, "../../.goreleaser.yaml")[0]
	if got := dig(release, "signs", 0, "artifacts"); got != "checksum" {
		t.Errorf("what is signed: %v", got)
	}
	if hooks := fmt.Sprint(dig(release, "before", "hooks")); !strings.Contains(hooks, "notices") {
		t.Errorf("before a release there are no notices: %s", hooks)
	}
	files := fmt.Sprint(dig(release, "archives", 0, "files"))
	for _, want := range []string{"LICENSE", "SECURITY.md", "THIRD_PARTY_NOTICES"} {
		if !strings.Contains(files, want) {
			t.Errorf("the archives have no %s", want)
		}
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, workflow := range []string{"ci", "release"} {
		w := yamlDocs(t, "../../.github/workflows/"+workflow+".yml")[0]
		if diff := cmp.Diff(map[string]any{"contents": "read"}, w["permissions"]); diff != "" {
			t.Errorf("%s: permissions by default (-want +got):\n%s", workflow, diff)
		}
		for name, job := range w["jobs"].(map[string]any) {
			if dig(job, "timeout-minutes") == nil {
				t.Errorf("%s: job %s has no limit of time", workflow, name)
			}
			for n := 0; dig(job, "steps", n) != nil; n++ {
				words := strings.Fields(fmt.Sprint(dig(job, "steps", n, "run")))
				if len(words) > 1 && words[0] == "make" && !strings.Contains(string(makefile), "\n"+words[1]+":") {
					t.Errorf("%s: there is no make %s", workflow, words[1])
				}
			}
		}
	}
}

// TestWorkflowsHaveTheirSteps: what SECURITY.md and the page of releases promise.
func TestWorkflowsHaveTheirSteps(t *testing.T) {
	for workflow, steps := range map[string][]string{
		"ci": {"run: make test", "run: make e2e", "run: make hostile", "run: make fuzz FUZZTIME=", "/govulncheck@v"},
		"release": {"uses: actions/attest-build-provenance@", "run: cosign sign --yes ghcr.io/listwatch/listwatch@${{ steps.image.outputs.digest }}",
			`run: test -z "$(grep -h '^FROM' packaging/Dockerfile | grep -v '@sha256:[0-9a-f]\{64\}')"`},
	} {
		b, err := os.ReadFile("../../.github/workflows/" + workflow + ".yml")
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range steps {
			if !strings.Contains(string(b), step) {
				t.Errorf("%s has no step %s", workflow, step)
			}
		}
	}
}

// TestWorkflowsRunWhatWasReviewed: actions are named by commit, as whoever owns an action
// can move its tags, and programs by version.
func TestWorkflowsRunWhatWasReviewed(t *testing.T) {
	uses := regexp.MustCompile(`(?m)\buses: (.*)$`)
	pinned := regexp.MustCompile(`^[a-z0-9-]+(/[a-z0-9-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+\b`)
	for _, workflow := range []string{"ci", "release"} {
		b, err := os.ReadFile("../../.github/workflows/" + workflow + ".yml")
		if err != nil {
			t.Fatal(err)
		}
		all := uses.FindAllStringSubmatch(string(b), -1)
		if len(all) == 0 {
			t.Errorf("%s: it uses no action", workflow)
		}
		for _, action := range all {
			if !pinned.MatchString(action[1]) {
				t.Errorf("%s: %s is not named by commit and version", workflow, action[1])
			}
		}
		if strings.Contains(string(b), "@latest") {
			t.Errorf("%s: runs the latest version of a program, whatever that is", workflow)
		}
	}
}
