package kinds_test

import (
	"testing"

	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// TestSurge: as on kube-apiserver, a Deployment may have more than twice its pods during an
// update, a DaemonSet not.
func TestSurge(t *testing.T) {
	const meta = `{"metadata":{"name":"a","namespace":"b"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}},`
	for _, c := range []struct {
		resource kube.Resource
		strategy string
		want     string
	}{
		{kube.Deployments, `"strategy":{"rollingUpdate":{"maxSurge":"150%","maxUnavailable":0}}}}`, ""},
		{kube.Deployments, `"strategy":{"rollingUpdate":{"maxUnavailable":"150%"}}}}`, "spec.strategy.rollingUpdate.maxUnavailable"},
		{kube.DaemonSets, `"updateStrategy":{"rollingUpdate":{"maxSurge":"150%","maxUnavailable":0}}}}`, "spec.updateStrategy.rollingUpdate.maxSurge"},
	} {
		o := object.DecodeValue([]byte(meta + c.strategy))
		kinds.SetDefaults(c.resource, o)
		got := ""
		for _, cause := range kinds.Validate(c.resource, o, nil) {
			got += cause.Field
		}
		if got != c.want {
			t.Errorf("%s %s: %q, want %q", c.resource, c.strategy, got, c.want)
		}
	}
}
