package kubectl_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/e2e/binaries"
	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
)

// acceptedDifferences are where listwatch prints on purpose what kubectl does
// not. Each has a case that fails once the difference is gone.
var acceptedDifferences = []struct {
	args string // of get and list
	why  string
}{
	{"pods --sort-by=.nope", "kubectl prints nothing and ends with exit code 0"},
	{"pods,deployments --sort-by=.metadata.name", "kubectl finds no field at all in the rows of several types"},
	{"secrets -o yaml", "what a Secret holds is for those who ask: --redact=none"},
	{"rich", "kubectl counts bytes where columns are as wide as what is seen"},
	{"configmaps,nodes -A", "kubectl prints an empty NAMESPACE for a cluster scoped type after one that is not"},
	{"configmap/l-one pod/t-running configmap/l-both", "objects of one type stand together, under one header"},
	{"configmaps -o custom-columns=NAME:.metadata.name,DATA:.data", "a line break in a cell would break the row"},
	{"rich l-numbers -o custom-columns=TEXT:.spec.quoted", "a tab in a cell would shift the row"},
	{"configmaps --no-headers -o custom-columns-file=COLUMNS", "kubectl forgets --no-headers where the columns are in a file"},
	{"pods t-running -o go-template={{.metadata.name|base64decode}}", "kubectl prints the whole object to stdout when a template fails"},
}

// Of watches, besides: kubectl leaves managedFields inside the events of
// --output-watch-events, which listwatch does with --show-managed-fields only; it
// prints a NAMESPACE for cluster scoped types under -A; it has no event in -o name
// with --output-watch-events, and listwatch none with --event-column=false; it
// makes blanks of the tabs that an expression prints, which cut(1) wants, and of those in
// the strings of -o kyaml; it pads
// columns to the widest cell of its batch of rows, and listwatch to that of its own.

// TestKubectlOutput: on one server, with objects of every kind that has columns
// of its own, listwatch prints what kubectl prints, byte for byte.
func TestKubectlOutput(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	kubectl, err := binaries.Ensure(t.Context(), binaries.Kubectl, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	const ns = "tables" // of the fixture
	k := &pair{T: t, cluster: c, program: setup.BuildProgram(t), kubectl: kubectl, flags: []string{"--kubeconfig", setup.Kubeconfig(t, c, c.URL()), "-n", ns}, ns: ns}
	k.fill()
	t.Run("Tables", func(t *testing.T) { k.with(t).tableCases() })
	t.Run("Types", func(t *testing.T) { k.with(t).typeCases() })
	t.Run("Expressions", func(t *testing.T) { k.with(t).expressionCases() })
	t.Run("Accepted", func(t *testing.T) { k.with(t).acceptedCases() })
	t.Run("Watches", func(t *testing.T) { k.with(t).watchCases() })
}

// fill makes the objects of the fixture, which have a status each, and some with labels.
func (k *pair) fill() {
	k.Helper()
	ctx, cancel := context.WithTimeoutCause(k.Context(), 30*time.Second, fmt.Errorf("not within 30 s"))
	defer cancel()
	script, err := os.ReadFile(setup.Tables + "objects.txt")
	if err != nil {
		k.Fatal(err)
	}
	script = append(script, moreObjects...)
	lines := bufio.NewScanner(bytes.NewReader(script))
	for lines.Scan() {
		line := lines.Text()
		if line == "" || line[0] == '#' || strings.HasPrefix(line, "GET ") {
			continue
		}
		k.send(ctx, line)
	}
	if err := lines.Err(); err != nil {
		k.Fatal(err)
	}
}

// send sends a request that is written as those of the fixture.
func (k *pair) send(ctx context.Context, line string) {
	k.Helper()
	method, rest, _ := strings.Cut(line, " ")
	path, body, _ := strings.Cut(rest, " ")
	if _, err := setup.SendTable(ctx, k.cluster, method, path, body); err != nil {
		k.Fatalf("%s %s: %v", method, path, err)
	}
}

const moreObjects = `
POST /api/v1/namespaces/tables/configmaps {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"l-both","labels":{"app":"web","example.com/part":"a-rather-long-value","zone":""}},"data":{"n":"1","text":"two\nlines <&>"}}
POST /api/v1/namespaces/tables/configmaps {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"l-one","labels":{"app":"db"}},"data":{"n":"2"}}
POST /api/v1/namespaces/tables/secrets {"apiVersion":"v1","kind":"Secret","metadata":{"name":"l-secret","labels":{"app":"db"}},"data":{"password":"aHVudGVyMg=="}}
POST /api/v1/namespaces {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"other"}}
POST /api/v1/namespaces/other/configmaps {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"elsewhere","labels":{"app":"web"}}}
POST /apis/tables.example.com/v1/namespaces/tables/rich {"apiVersion":"tables.example.com/v1","kind":"Rich","metadata":{"name":"l-numbers","labels":{"app":"web"}},"spec":{"int":9007199254740993,"num":1e21,"small":0.000001,"whole":3.0,"bool":false,"list":[1,2.5,"x",null,true,{"a":[1]}],"map":{"z":1,"a":{"b":"c"}},"quoted":"a \"b\" 'c' \\ \t日本","empty":{},"none":[]}}
`

// all types of the fixture.
const (
	workloads = "pods,deployments,replicasets,replicationcontrollers,statefulsets,daemonsets,jobs,cronjobs,podtemplates,controllerrevisions"
	plumbing  = "services,endpointslices,ingresses,ingressclasses,networkpolicies,configmaps,secrets,serviceaccounts,events,events.events.k8s.io"
	rest      = "nodes,persistentvolumes,persistentvolumeclaims,storageclasses,poddisruptionbudgets,horizontalpodautoscalers,leases,roles,rolebindings," +
		"priorityclasses,mutatingwebhookconfigurations,validatingwebhookconfigurations,limitranges,resourcequotas,crds,plain,namespaces"
	everything = workloads + "," + plumbing + ",rich," + rest
)

func (k *pair) tableCases() {
	for _, args := range []string{
		workloads, plumbing, rest,
		workloads + " -o wide", plumbing + " -o wide", rest + " -o wide",
		workloads + ",services,configmaps,events,rich -A", workloads + ",secrets,rich -A -o wide --no-headers", everything + " --show-labels",
		"pods", "pods -o wide", "deployments -o wide", "jobs", "events", "events -o wide", "rich", "rich -o wide", "crds", "plain", "nodes -o wide",
		"configmaps --show-labels", "configmaps -L app", "configmaps -L app,example.com/part -L zone --show-labels", "configmaps -A -L app --show-kind",
		"configmaps -L app -o wide --no-headers", "pods --show-kind", "deployments --show-kind -o wide", "rich --show-kind -L app", "nodes --show-kind -A",
		"configmaps --no-headers", "pods,configmaps --no-headers", "configmaps,nodes -L app", "configmaps -l app=web -A", "configmaps -l app=nothing",
		"pods t-running", "pods t-running t-crash", "pods t-running t-crash t-completed", "pod/t-running configmap/l-one",
		"pods nope", "pods t-running nope", "nope", "pods nope --ignore-not-found", "pods nope t-running --ignore-not-found", "configmaps -l app=nothing -o json --ignore-not-found",
		"configmaps -l app=nothing -o yaml --ignore-not-found", "configmaps nope -o json --ignore-not-found",
		"pods --server-print=false", "configmaps --server-print=false --show-labels -L app", "pods,configmaps --server-print=false", "configmaps -A --server-print=false -o wide",
		"configmaps --server-print=false --show-kind", "rich --server-print=false --no-headers",
		"pods --field-selector status.phase=Running", "configmaps --chunk-size=1", "pods --chunk-size=0 -o wide",
		"pods --sort-by=.metadata.name", "pods --sort-by={.status.phase} -o wide", "pods --sort-by=.spec.nodeName", "pods --sort-by=.metadata.creationTimestamp -o name",
		"configmaps --sort-by=.data.n -A", "persistentvolumes --sort-by=.spec.capacity.storage", "configmaps --sort-by=.metadata.labels.app -o json",
		"pods --sort-by=.status.containerStatuses[0].restartCount", "events --sort-by=.lastTimestamp", "rich --sort-by=.spec.int", "pods --sort-by=.spec.containers",
		"configmaps,secrets --redact=none --sort-by=.metadata.name -o name", "configmaps t-cm --sort-by=.metadata.name",
		everything + " -o json --redact=none", everything + " -o yaml --redact=none", everything + " -o kyaml --redact=none", "pods -o kyaml --show-managed-fields",
		"pods t-running -o kyaml", "pods t-running --subresource=status -o yaml", "pods t-running t-crash --subresource=status",
		"deployments t-d --subresource=scale", "deployments t-d --subresource=scale -o json", "pods --subresource=status", "pods nope --subresource=status", "pods t-running --subresource=nope", "rich l-numbers -o kyaml", "configmaps -l app=nothing -o kyaml", "configmaps,rich -A -o kyaml",
		everything + " -A -o name", "rich -o json", "rich -o yaml", "rich l-numbers -o yaml",
		"secrets -o json --redact=none", "secrets l-secret -o yaml --redact=none", "pods t-running -o json --show-managed-fields", "pods -A -o yaml --show-managed-fields",
		"pods t-running -o name", "pods t-running t-crash -o json", "pods t-running t-crash -o yaml", "nodes -o name",
	} {
		k.compare(strings.Fields(args))
	}
	manifest := k.file("objects.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: l-one}\n---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: t-running, namespace: tables}\n")
	one := k.file("one.json", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"l-one"}}`)
	folder := filepath.Dir(k.file("a.json", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"l-one"}}`))
	if err := os.Mkdir(folder+"/sub", 0o700); err != nil {
		k.Fatal(err)
	}
	kustomization := filepath.Dir(k.file("kustomization.yaml", "resources: [b.yaml]\n"))
	for _, dir := range []string{folder + "/sub", kustomization} {
		if err := os.WriteFile(dir+"/b.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: l-both, namespace: tables}\n"), 0o600); err != nil {
			k.Fatal(err)
		}
	}
	k.Setenv("PATH", filepath.Dir(k.kubectl))
	files := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(one))))
	defer files.Close()
	for _, args := range []string{"-f " + manifest, "-o name -f " + manifest, "-o json -f " + one, "-f " + one, "-f " + one + " -o yaml", "-f " + one + " pods", "-f " + folder, "-R -o name -f " + folder, "-R pods",
		"-k " + kustomization + " -o name", "-k " + kustomization + " -f " + one, "-f " + files.URL + "/one.json -o yaml", "-f " + files.URL + "/nope"} {
		k.compare(strings.Fields(args))
	}
}

// expressionCases have an expression, which may have blanks.
func (k *pair) expressionCases() {
	templates := k.file("template", "{range .items[*]}{.metadata.name}{\"\\n\"}{end}")
	goTemplate := k.file("go-template", "{{range .items}}{{.metadata.name}} {{end}}\n")
	columns := k.file("columns", "NAME            APP                  ALL\nmetadata.name   {.metadata.labels}   .data.n\n")
	for _, c := range [][2]string{
		{"pods", `jsonpath={.items[*].metadata.name}`},
		{"pods", `jsonpath={range .items[*]}{.metadata.name}{"\t"}{.status.phase}{"\n"}{end}`},
		{"pods", `jsonpath={.items[?(@.status.phase=="Running")].metadata.name}`},
		{"pods", `jsonpath={.items[?(@.spec.containers[0].name!='main')].metadata.name}`},
		{"pods", `jsonpath={.items[0:3].metadata.name} {.items[-1:].metadata.name} {.items[::2].metadata.name}`},
		{"pods", `jsonpath={.items[*].nope}`}, {"pods", `jsonpath={.nope}x{.kind}`}, {"pods t-running", `jsonpath={.nope}`},
		{"pods t-running", `jsonpath={.status.containerStatuses[*].restartCount} {.metadata.labels} {.spec.containers}`},
		{"pods t-running", `jsonpath={.status.conditions[?(@.type=="Ready")].status}{"\n"}`},
		{"pods t-running", `jsonpath={.status.containerStatuses[9].name}`},
		{"pods t-running", `jsonpath={..name}`}, {"pods t-running", `jsonpath={.spec.containers[*]['name','image']}`},
		{"pods t-running", `jsonpath=plain text`}, {"pods t-running", `jsonpath={.kind} {.apiVersion}`},
		{"rich l-numbers", `jsonpath={.spec.int} {.spec.num} {.spec.small} {.spec.whole} {.spec.bool} {.spec.quoted}`},
		{"rich l-numbers", `jsonpath={.spec.list} {.spec.list[*]} {.spec.map} {.spec.empty} {.spec.none} {.spec}`},
		{"rich", `jsonpath={range .items[*]}{.spec.items[?(@.n>1)].name}|{.spec.list[1]}|{.spec.null}{"\n"}{end}`},
		{"configmaps", `jsonpath={.items[*].metadata.labels.example\.com/part}`}, {"configmaps,secrets", `jsonpath={.items[*].kind}`},
		{"configmaps -l app=nothing", `jsonpath={.items}`}, {"secrets --redact=none", `jsonpath={.items[*].data.password}`},
		{"pods", `jsonpath-as-json={.items[*].metadata.name}`}, {"rich l-numbers", `jsonpath-as-json={.spec}{.spec.list[*]}`}, {"rich l-numbers", `jsonpath-as-json={.nope}`},
		{"pods", "jsonpath-file=" + templates}, {"pods,rich", "jsonpath-file=" + templates},
		{"pods", `custom-columns=NAME:.metadata.name,NODE:.spec.nodeName,IMAGES:.spec.containers[*].image,NONE:.nope`},
		{"rich", `custom-columns=NAME:metadata.name,INT:{.spec.int},NUM:.spec.num,SMALL:.spec.small,WHOLE:.spec.whole,BOOL:.spec.bool`},
		{"rich", `custom-columns=LIST:.spec.list,EACH:.spec.list[*],MAP:.spec.map,EMPTY:.spec.empty,NOTHING:.spec.none,NULL:.spec.null`},
		{"configmaps,rich,nodes -A", `custom-columns=KIND:.kind,NS:.metadata.namespace,NAME:.metadata.name,LABELS:.metadata.labels`},
		{"configmaps --no-headers", `custom-columns=NAME:.metadata.name,DATA:.data.n`}, {"configmaps -l app=nothing", `custom-columns=NAME:.metadata.name`},
		{"configmaps l-one", `custom-columns=NAME:.metadata.name,APP:.metadata.labels.app`}, {"configmaps --sort-by=.metadata.uid", `custom-columns=UID:.metadata.uid`},
		{"configmaps", "custom-columns-file=" + columns}, {"configmaps l-both", "custom-columns-file=" + columns},
		{"pods", `go-template={{range .items}}{{.metadata.name}}{{"\n"}}{{end}}`}, {"pods t-running", `go-template={{.metadata.name}} {{.nope}} {{.nope.deeper}}`},
		{"pods t-running", `go-template={{.nope}}`},
		{"pods t-running", `go-template={{exists . "status" "phase"}} {{exists . "nope"}} {{exists . "spec" "containers" 0 "name"}} {{exists . "spec" "containers" 7}}`},
		{"secrets l-secret --redact=none", `go-template={{.data.password | base64decode}}`},
		{"rich l-numbers", `go-template={{.spec.int}} {{.spec.num}} {{.spec.small}} {{.spec.whole}} {{.spec.bool}} {{.spec.list}} {{.spec.map}} {{.spec.none}}`},
		{"rich l-numbers", `go-template={{printf "%v %d %T" .spec.num .spec.int .spec.int}} {{len .spec.list}} {{if gt .spec.int 3}}more{{end}}`},
		{"pods", "go-template-file=" + goTemplate}, {"configmaps,pods", "go-template-file=" + goTemplate}, {"pods", "template={{.kind}}"},
		{"pods", "jsonpath="}, {"pods", "jsonpath={.items[}"}, {"pods", "custom-columns=NAME"}, {"pods", "go-template={{"}, {"pods", "xml"}, {"pods --show-labels", "json"},
		{"pods -L app", "custom-columns=A:.kind"},
	} {
		k.compare(append(strings.Fields(c[0]), "-o", c[1]))
	}
}

func (k *pair) file(name, text string) string {
	k.Helper()
	path := filepath.Join(k.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		k.Fatal(err)
	}
	return path
}

// both runs kubectl get and listwatch list with the arguments.
func (k *pair) both(args []string) (want, got setup.Result) {
	k.Helper()
	var theirs []string
	for _, a := range args {
		if !strings.HasPrefix(a, "--redact") {
			theirs = append(theirs, a)
		}
	}
	want = k.program.RunPath(k.T, k.kubectl, append(append([]string{"get"}, theirs...), k.flags...)...)
	got = k.program.Run(k.T, append(append([]string{"list"}, args...), k.flags...)...)
	return want, got
}

// compare compares what both print for the same arguments, and whether they fail.
func (k *pair) compare(args []string) {
	name := strings.Join(args, " ")
	name = strings.NewReplacer(everything, "everything", workloads, "workloads", plumbing, "plumbing", rest, "rest", "/", "_").Replace(name)
	k.Run(name, func(t *testing.T) {
		k := k.with(t)
		want, got := k.both(args)
		if strings.Contains(name, "{..") { // kubectl visits the members of a map in an order of chance
			want.Stdout, got.Stdout = sortedWords(want.Stdout), sortedWords(got.Stdout)
		}
		if diff := differs(want.Stdout, got.Stdout, false); diff != "" {
			t.Errorf("(-kubectl +listwatch):\n%s", diff)
		}
		if (want.Code == 0) != (got.Code == 0) {
			t.Errorf("exit codes: kubectl %d, listwatch %d\n%s%s", want.Code, got.Code, want.Stderr, got.Stderr)
		}
	})
}

func sortedWords(s string) string {
	return strings.Join(slices.Sorted(strings.FieldsSeq(s)), " ")
}

func (k *pair) acceptedCases() {
	columns := k.file("columns", "NAME APP\n.metadata.name .metadata.labels\n")
	for _, a := range acceptedDifferences {
		k.Run(a.why, func(t *testing.T) {
			k := k.with(t)
			want, got := k.both(strings.Fields(strings.Replace(a.args, "COLUMNS", columns, 1)))
			if want.Code == got.Code && want.Stdout == got.Stdout {
				t.Errorf("they agree; accepted was: %s", a.why)
			}
		})
	}
}
