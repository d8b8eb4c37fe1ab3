package manager_test

import (
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/manager"
	"github.com/listwatch/listwatch/metrics"
)

// The metrics of a program, over TLS, for those who may read /metrics.
func ExampleSecure() {
	operator := func(c *client.Client) *manager.Manager {
		return manager.New(manager.Options{
			Listen:  ":8443",
			Metrics: metrics.New().Handler(),
			Secure: &manager.Secure{
				CertFile: "/tls/tls.crt", KeyFile: "/tls/tls.key", // read again when they change
				Client: c, // asks the API server whose a token is, and what that user may read
			},
		})
	}
	_ = operator
}
