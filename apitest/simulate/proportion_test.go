package simulate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/kube"
)

// TestRolloutKeepsItsProportionsAsItIsScaled, with the numbers of kube-controller-manager:
// the sizes of the sets of the images 1, 2 and 3 after each step of a story. No pod becomes
// available.
func TestRolloutKeepsItsProportionsAsItIsScaled(t *testing.T) {
	for _, c := range []struct{ name, replicas, surge, unavailable, steps, sizes string }{
		{"paused", "4", "1", "0",
			"image=2 paused=true replicas=8 replicas=3 replicas=0 replicas=5 paused=false",
			"4/1 4/1 7/2 3/1 0/0 0/5 0/5"},
		{"paused, percentages", "8", `"25%"`, `"25%"`,
			"image=2 paused=true replicas=20 replicas=3 replicas=0 replicas=6 paused=false",
			"6/4 6/4 15/10 2/2 0/0 0/6 0/6"},
		{"not paused", "10", `"25%"`, "0",
			"image=2 replicas=20 replicas=7 replicas=1 replicas=9 replicas=0 replicas=4",
			"10/3 19/6 7/2 1/1 6/6 0/0 0/4"},
		{"three sets", "6", "2", "0",
			"image=2 image=3 paused=true replicas=12 replicas=5 replicas=1 paused=false",
			"6/2 4/2/2 4/2/2 7/3/4 3/2/2 1/1/1 0/1/1"},
		{"two of three sets", "12", `"50%"`, `"25%"`,
			"image=2 image=3 paused=true replicas=30 replicas=17 replicas=4 paused=false",
			"9/9 0/9/9 0/9/9 0/22/23 0/13/13 0/3/3 0/3/3"},
		{"four sets", "9", "3", "2",
			"image=2 replicas=12 image=3 replicas=6 image=4 replicas=14 image=1",
			"7/5 9/6 4/6/5 0/4/5 0/0/4/5 0/0/8/9 5/0/3/9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			play(t, simulate.Options{Nodes: -1}, func(w *world) {
				w.create(kube.Deployments, workload("web", "1", fmt.Sprintf(`,"replicas":%s,"strategy":{"rollingUpdate":{"maxSurge":%s,"maxUnavailable":%s}}`,
					c.replicas, c.surge, c.unavailable)))
				<-time.After(10 * time.Second)
				var sizes []string
				for step := range strings.FieldsSeq(c.steps) {
					field, value, _ := strings.Cut(step, "=")
					patch := fmt.Sprintf(`{"spec":{%q:%s}}`, field, value)
					if field == "image" {
						patch = fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":%q}]}}}}`, value)
					}
					w.patch(kube.Deployments, "web", patch)
					<-time.After(10 * time.Second)
					sizes = append(sizes, w.sizes())
				}
				equal(t, "sizes", strings.Join(sizes, " "), c.sizes)
			})
		})
	}
}

// TestPausedSetKeepsItsNotesUntilItIsScaled: another strategy alone does not change them.
func TestPausedSetKeepsItsNotesUntilItIsScaled(t *testing.T) {
	play(t, simulate.Options{Nodes: -1}, func(w *world) {
		w.create(kube.Deployments, workload("web", "1", `,"replicas":4,"strategy":{"rollingUpdate":{"maxSurge":1}}`))
		most := func() string {
			return w.list(kube.ReplicaSets)[0].Metadata.Annotations["deployment.kubernetes.io/max-replicas"]
		}
		<-time.After(10 * time.Second)
		w.patch(kube.Deployments, "web", `{"spec":{"paused":true,"strategy":{"rollingUpdate":{"maxSurge":3}}}}`)
		<-time.After(10 * time.Second)
		equal(t, "another surge", most(), "5")
		w.patch(kube.Deployments, "web", `{"spec":{"replicas":6}}`)
		<-time.After(10 * time.Second)
		equal(t, "scaled", most(), "9")
	})
}

// sizes returns the desired pods of the sets of the images 1, 2 and so on.
func (w *world) sizes() string {
	sets := w.list(kube.ReplicaSets)
	sizes := make([]string, len(sets))
	for _, s := range sets {
		var image int
		if _, err := fmt.Sscan(s.Spec.Template.Spec.Containers[0].Image, &image); err != nil {
			w.Fatal(err)
		}
		sizes[image-1] = fmt.Sprint(s.Spec.Replicas)
	}
	return strings.Join(sizes, "/")
}
