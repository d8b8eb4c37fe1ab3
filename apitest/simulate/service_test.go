package simulate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/kube"
)

// TestServiceThatIsNoLoadBalancerAnyMoreHasNoIngress.
func TestServiceThatIsNoLoadBalancerAnyMoreHasNoIngress(t *testing.T) {
	for _, typ := range []string{"ClusterIP", "ExternalName"} {
		t.Run(typ, func(t *testing.T) {
			play(t, simulate.Options{}, func(w *world) {
				w.create(kube.Services, strings.Replace(web, `"spec":{`, `"spec":{"type":"LoadBalancer",`, 1))
				<-time.After(5 * time.Second)
				if s := fmt.Sprint(w.status(kube.Services, "web")); !strings.Contains(s, "192.0.2.") {
					t.Errorf("status of a load balancer: %s", s)
				}
				w.patch(kube.Services, "web", fmt.Sprintf(`{"spec":{"type":%q,"externalName":"example.com"}}`, typ))
				<-time.After(5 * time.Second)
				equal(t, "status", w.status(kube.Services, "web"), map[string]any{"loadBalancer": map[string]any{}})
			})
		})
	}
}

// TestClusterIPsStartAgainAfterTheLast, with those that are free.
func TestClusterIPsStartAgainAfterTheLast(t *testing.T) {
	play(t, simulate.Options{}, func(w *world) {
		put := func(name, ip string) {
			w.srv.Put(kube.Services, fmt.Sprintf(`{"metadata":{"namespace":"a","name":%q},"spec":{"clusterIP":%q,"ports":[{"port":80}]}}`, name, ip))
		}
		for n := range 5 {
			put(fmt.Sprint("early", n), "")
		}
		<-time.After(5 * time.Second)
		put("hand", "10.96.255.252")
		<-time.After(5 * time.Second)
		for n := range 12 {
			put(fmt.Sprint("late", n), "")
		}
		<-time.After(5 * time.Second)
		of := map[string]int{}
		for _, s := range w.list(kube.Services) {
			of[s.Spec.ClusterIP]++
		}
		if len(of) != 18 || of[""]+of["10.96.0.0"]+of["10.96.255.255"] > 0 {
			t.Errorf("services by address: %v, want 18 addresses of hosts", of)
		}
	})
}
