package simulate_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/kube"
)

// TestPausedTemplateWithoutASet: a Deployment is paused amid a rollout, scaled to 0, and given
// a template for which there is no set as long as it is paused.
func TestPausedTemplateWithoutASet(t *testing.T) {
	play(t, simulate.Options{Nodes: -1}, func(w *world) {
		w.create(kube.Deployments, workload("web", "1", `,"replicas":3`))
		<-time.After(10 * time.Second)
		w.patch(kube.Deployments, "web", image(2))
		<-time.After(10 * time.Second)
		w.patch(kube.Deployments, "web", `{"spec":{"paused":true,"replicas":0,"template":{"spec":{"containers":[{"name":"main","image":"3"}]}}}}`)
		<-time.After(10 * time.Second)
		equal(t, "sizes", w.sizes(), "0/0")
	})
}

// TestDeploymentSettlesAfterRandomChanges makes changes at random, some of them at once, and
// others when a rollout has gone on for a while. Without further changes the cluster comes to
// rest, and an update that is not paused completes.
func TestDeploymentSettlesAfterRandomChanges(t *testing.T) {
	for seed := range uint64(7) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			play(t, simulate.Options{Nodes: 1, Seed: seed, Speed: 0.25}, func(w *world) {
				random := rand.New(rand.NewPCG(seed, 0))
				w.create(kube.Deployments, workload("web", "0", fmt.Sprintf(`,"replicas":%d,"revisionHistoryLimit":%d`, random.IntN(5), random.IntN(3))))
				for range 40 {
					w.change(random)
					<-time.After(time.Duration(random.IntN(3)*random.IntN(3000)) * time.Millisecond)
				}
				w.rest()
				w.patch(kube.Deployments, "web", `{"spec":{"paused":false,"replicas":6,"strategy":{"type":"RollingUpdate"}}}`)
				w.patch(kube.Deployments, "web", image(9))
				w.rest()
				equal(t, "images", w.images(), map[string]int{"9": 6})
			})
		})
	}
}

func image(n int) string {
	return fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"%d"}]}}}}`, n)
}

// change makes some changes to the Deployment web, all of them at once, and may delete pods.
// A former image is an undo.
func (w *world) change(random *rand.Rand) {
	var spec []string
	for _, field := range []string{
		fmt.Sprintf(`"replicas":%d`, max(0, random.IntN(7)-2)),
		fmt.Sprintf(`"paused":%t`, random.IntN(2) == 0),
		fmt.Sprintf(`"template":{"spec":{"containers":[{"name":"main","image":"%d"}]}}`, random.IntN(8)),
		[]string{
			`"strategy":{"type":"Recreate","rollingUpdate":null}`,
			`"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":0,"maxUnavailable":1}}`,
			`"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"50%","maxUnavailable":"100%"}}`,
		}[random.IntN(3)],
	} {
		if random.IntN(3) == 0 {
			spec = append(spec, field)
		}
	}
	w.patch(kube.Deployments, "web", `{"spec":{`+strings.Join(spec, ",")+`}}`)
	for _, p := range w.list(kube.Pods) {
		if random.IntN(12) == 0 {
			w.srv.Delete(kube.Pods, kube.Key{Namespace: "a", Name: p.Metadata.Name})
		}
	}
}

// rest waits until the cluster can be at rest, and fails if it still writes.
func (w *world) rest() {
	w.Helper()
	<-time.After(2 * time.Minute)
	rev := w.srv.Revision()
	<-time.After(10 * time.Second)
	if now := w.srv.Revision(); now != rev {
		w.Errorf("revision %s after %s: the cluster does not come to rest", now, rev)
	}
}
