package discovery_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/discovery"
)

func ExampleAPI_Resolve() {
	ts := httptest.NewServer(&server{aggregated: "v2"}) // a Kubernetes API server
	defer ts.Close()
	c, err := client.New(client.Config{Server: ts.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	api, err := discovery.Fetch(context.Background(), c)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"deploy", "Event", "crontabs.v1beta1.example.com", "certificates", "pdos"} {
		found, err := api.Resolve(name)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(name, "is", found[0].Path(""))
	}
	// Output:
	// deploy is /apis/apps/v1/deployments
	// Event is /api/v1/events
	// crontabs.v1beta1.example.com is /apis/example.com/v1beta1/crontabs
	// "certificates" may be any of certificates.cert-manager.io, certificates.networking.internal.knative.dev: say which
	// the server has no resource type "pdos"; did you mean pods or pods.metrics.k8s.io?
}
