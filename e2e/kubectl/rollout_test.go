package kubectl_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/e2e/binaries"
	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
)

// workload is an object with a rollout. Its status is as of a controller that is not there.
type workload struct {
	plural, kind string
	spec         string // without selector and template
	status       string
}

const (
	rolls  = `"updateStrategy":{"type":"RollingUpdate"}`
	byHand = `"updateStrategy":{"type":"OnDelete"}`
)

// states are what kubectl rollout status distinguishes.
var states = map[string]workload{
	"deployment unobserved":      {"deployments", "Deployment", `"replicas":3`, `{}`},
	"deployment behind":          {"deployments", "Deployment", `"replicas":3`, `{"observedGeneration":1,"replicas":3,"updatedReplicas":3,"readyReplicas":3,"availableReplicas":3}`},
	"deployment updating":        {"deployments", "Deployment", `"replicas":3`, `{"observedGeneration":9,"replicas":3,"updatedReplicas":1}`},
	"deployment terminating":     {"deployments", "Deployment", `"replicas":3`, `{"observedGeneration":9,"replicas":5,"updatedReplicas":3,"readyReplicas":3,"availableReplicas":3}`},
	"deployment unavailable":     {"deployments", "Deployment", `"replicas":3`, `{"observedGeneration":9,"replicas":3,"updatedReplicas":3,"readyReplicas":2,"availableReplicas":2}`},
	"deployment complete":        {"deployments", "Deployment", `"replicas":3`, `{"observedGeneration":9,"replicas":3,"updatedReplicas":3,"readyReplicas":3,"availableReplicas":3}`},
	"deployment of none":         {"deployments", "Deployment", `"replicas":0`, `{"observedGeneration":9}`},
	"deployment paused":          {"deployments", "Deployment", `"replicas":3,"paused":true`, `{"observedGeneration":9,"replicas":3,"updatedReplicas":1,"conditions":[{"type":"Progressing","status":"Unknown","reason":"DeploymentPaused"}]}`},
	"deployment stuck":           {"deployments", "Deployment", `"replicas":3`, `{"observedGeneration":9,"replicas":3,"updatedReplicas":1,"conditions":[{"type":"Available","status":"True"},{"type":"Progressing","status":"False","reason":"ProgressDeadlineExceeded"}]}`},
	"deployment stuck, complete": {"deployments", "Deployment", `"replicas":1`, `{"observedGeneration":9,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1,"conditions":[{"type":"Progressing","status":"False","reason":"ProgressDeadlineExceeded"}]}`},
	"deployment stuck, behind":   {"deployments", "Deployment", `"replicas":1`, `{"observedGeneration":1,"conditions":[{"type":"Progressing","status":"False","reason":"ProgressDeadlineExceeded"}]}`},
	"daemonset by hand":          {"daemonsets", "DaemonSet", byHand, `{"observedGeneration":9,"currentNumberScheduled":0,"numberMisscheduled":0,"desiredNumberScheduled":0,"numberReady":0}`},
	"daemonset behind":           {"daemonsets", "DaemonSet", rolls, `{"observedGeneration":1,"currentNumberScheduled":2,"numberMisscheduled":0,"desiredNumberScheduled":2,"numberReady":2}`},
	"daemonset updating":         {"daemonsets", "DaemonSet", rolls, `{"observedGeneration":9,"currentNumberScheduled":3,"numberMisscheduled":0,"desiredNumberScheduled":3,"numberReady":3,"updatedNumberScheduled":1}`},
	"daemonset unavailable":      {"daemonsets", "DaemonSet", rolls, `{"observedGeneration":9,"currentNumberScheduled":3,"numberMisscheduled":0,"desiredNumberScheduled":3,"numberReady":3,"updatedNumberScheduled":3,"numberAvailable":1}`},
	"daemonset complete":         {"daemonsets", "DaemonSet", rolls, `{"observedGeneration":9,"currentNumberScheduled":3,"numberMisscheduled":1,"desiredNumberScheduled":3,"numberReady":3,"updatedNumberScheduled":3,"numberAvailable":3}`},
	"statefulset by hand":        {"statefulsets", "StatefulSet", byHand, `{"observedGeneration":9,"replicas":0}`},
	"statefulset unobserved":     {"statefulsets", "StatefulSet", rolls, `{"replicas":0}`},
	"statefulset behind":         {"statefulsets", "StatefulSet", rolls, `{"observedGeneration":1,"replicas":1,"readyReplicas":1}`},
	"statefulset unready":        {"statefulsets", "StatefulSet", rolls + `,"replicas":3`, `{"observedGeneration":9,"replicas":3,"readyReplicas":1,"updatedReplicas":3}`},
	"statefulset complete":       {"statefulsets", "StatefulSet", rolls + `,"replicas":3`, `{"observedGeneration":9,"replicas":3,"readyReplicas":3,"updatedReplicas":3,"currentRevision":"a","updateRevision":"a"}`},
	"statefulset revisions":      {"statefulsets", "StatefulSet", rolls + `,"replicas":3`, `{"observedGeneration":9,"replicas":3,"readyReplicas":3,"updatedReplicas":3,"currentRevision":"a","updateRevision":"b"}`},
	"statefulset in part":        {"statefulsets", "StatefulSet", `"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":1}},"replicas":3`, `{"observedGeneration":9,"replicas":3,"readyReplicas":3,"updatedReplicas":1}`},
	"statefulset in part, done":  {"statefulsets", "StatefulSet", `"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":1}},"replicas":3`, `{"observedGeneration":9,"replicas":3,"readyReplicas":3,"updatedReplicas":2}`},
}

// random returns a workload in a state of chance.
func random(r *rand.Rand) workload {
	n := func() int { return r.IntN(4) }
	generation := 1 + r.IntN(2)
	status := fmt.Sprintf(`{"observedGeneration":%d,"replicas":9,"readyReplicas":%d,"updatedReplicas":%d`, generation, 3+n(), n())
	progressing := `,"conditions":[{"type":"Progressing","status":"False","reason":"` + []string{"ProgressDeadlineExceeded", "NewReplicaSetAvailable"}[r.IntN(2)] + `"}]}`
	switch r.IntN(3) {
	case 0:
		return workload{"deployments", "Deployment", fmt.Sprintf(`"replicas":%d`, n()), status + fmt.Sprintf(`,"availableReplicas":%d`, n()) + progressing}
	case 1:
		return workload{"daemonsets", "DaemonSet", rolls, fmt.Sprintf(`{"observedGeneration":%d,"currentNumberScheduled":%d,"numberMisscheduled":%d,"desiredNumberScheduled":%d,"numberReady":%d,"updatedNumberScheduled":%d,"numberAvailable":%d}`,
			generation, n(), n(), n(), n(), n(), n())}
	}
	return workload{"statefulsets", "StatefulSet", fmt.Sprintf(`"replicas":%d,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":%d}}`, n(), n()), status + `}`}
}

// TestRollout: listwatch rollout and --until rollout judge the state of a rollout as kubectl
// rollout status does, in the same words.
func TestRollout(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	kubectl, err := binaries.Ensure(t.Context(), binaries.Kubectl136, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	const ns = "rollout"
	setup.CreateNamespace(t, c, ns)
	k := &pair{T: t, cluster: c, program: setup.BuildProgram(t), kubectl: kubectl, flags: []string{"--kubeconfig", setup.Kubeconfig(t, c, c.URL()), "-n", ns}, ns: ns}
	i := 0
	for what, w := range states {
		i++
		t.Run(what, func(t *testing.T) { k.with(t).judge(fmt.Sprint("w", i), w) })
	}
	seed := uint64(os.Getpid())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range 10 {
		w := random(r)
		t.Run(fmt.Sprint("random", i), func(t *testing.T) { k.with(t).judge(fmt.Sprint("r", i), w) })
	}
	t.Run("Followed", func(t *testing.T) { k.with(t).followed() })
}

// make creates w, in its second generation.
func (k *pair) make(name string, w workload) (path string) {
	k.Helper()
	path = "/apis/apps/v1/namespaces/" + k.ns + "/" + w.plural
	labels := fmt.Sprintf(`{"app":%q}`, name)
	setup.MustSend(k.T, k.cluster, http.MethodPost, path, "application/json",
		fmt.Sprintf(`{"apiVersion":"apps/v1","kind":%q,"metadata":{"name":%q},"spec":{%s,"selector":{"matchLabels":%s},"template":{"metadata":{"labels":%s},"spec":{"containers":[{"name":"c","image":"one"}]}}}}`,
			w.kind, name, w.spec, labels, labels))
	path += "/" + name
	setup.MustSend(k.T, k.cluster, http.MethodPatch, path, "application/strategic-merge-patch+json", `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"two"}]}}}}`)
	k.status(path, w.status)
	return path
}

func (k *pair) status(path, status string) {
	k.Helper()
	setup.MustSend(k.T, k.cluster, http.MethodPatch, path+"/status", "application/merge-patch+json", `{"status":`+status+`}`)
}

// judge compares what is said of one state.
func (k *pair) judge(name string, w workload) {
	k.Helper()
	k.make(name, w)
	object := strings.ToLower(w.kind) + "/" + name
	want := k.program.RunPath(k.T, k.kubectl, append([]string{"rollout", "status", "--watch=false", object}, k.flags...)...)
	got := k.program.Run(k.T, append([]string{"rollout", "--watch=false", object}, k.flags...)...)
	type verdict struct {
		Code      int
		Out, Fail string
	}
	say := func(r setup.Result) verdict {
		fail := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(r.Stderr), "error: "), "listwatch: ")
		return verdict{r.Code, r.Stdout, fail}
	}
	if d := cmp.Diff(say(want), say(got)); d != "" {
		k.Errorf("%s %s (-kubectl +listwatch):\n%s", w.spec, w.status, d)
	}
	complete := want.Code == 0 && !strings.Contains(strings.ToLower(want.Stdout), "waiting for")
	until := k.program.Run(k.T, append([]string{"watch", object, "--once", "--until", "rollout", "-q"}, k.flags...)...)
	if (until.Code == 0) != complete {
		k.Errorf("--until rollout ends with %d; kubectl: %s%s\n%s", until.Code, want.Stdout, want.Stderr, until.Stderr)
	}
}

// followed compares what is printed while a rollout goes on, and fails. kubectl repeats a
// line at each change of the object.
func (k *pair) followed() {
	for name, end := range map[string]string{
		"done":  `{"readyReplicas":2,"availableReplicas":2}`,
		"stuck": `{"conditions":[{"type":"Progressing","status":"False","reason":"ProgressDeadlineExceeded"}]}`,
	} {
		path := k.make(name, workload{"deployments", "Deployment", `"replicas":2`, `{"observedGeneration":1}`})
		args := append([]string{"deployment/" + name}, k.flags...)
		both := []*running{k.start(k.kubectl, append([]string{"rollout", "status"}, args...)), k.start(k.program.Path, append([]string{"rollout"}, args...))}
		wait := func(word string) {
			for _, r := range both {
				r.waitFor(word)
			}
		}
		wait("to be observed")
		k.status(path, `{"observedGeneration":9,"replicas":2,"updatedReplicas":1}`)
		wait("1 out of 2")
		k.status(path, `{"replicas":3,"updatedReplicas":2}`)
		wait("1 old replicas")
		k.status(path, `{"replicas":2,"readyReplicas":1,"availableReplicas":1}`)
		wait("1 of 2 updated replicas")
		k.status(path, end)
		var codes []int
		var texts []string
		for _, r := range both {
			r.cmd.Wait()
			codes = append(codes, r.cmd.ProcessState.ExitCode())
			texts = append(texts, once(string(r.text)))
		}
		if codes[0] != codes[1] || texts[0] != texts[1] {
			k.Errorf("exit codes %v (-kubectl +listwatch):\n%s", codes, cmp.Diff(texts[0], texts[1]))
		}
	}
}

// once is text without lines that repeat the one before.
func once(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if len(lines) == 0 || lines[len(lines)-1] != line {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}
