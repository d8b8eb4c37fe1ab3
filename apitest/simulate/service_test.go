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
