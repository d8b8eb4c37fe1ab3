package plugin_test

import (
	"fmt"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/config/plugin"
)

// What a kubeconfig of EKS says of its user, and a client that shows the server
// what the command prints. New starts nothing: the first request does.
func Example() {
	p, err := plugin.New(plugin.Options{
		APIVersion:  "client.authentication.k8s.io/v1beta1",
		Command:     "aws",
		Args:        []string{"--region", "eu-central-1", "eks", "get-token", "--cluster-name", "prod"},
		Env:         []string{"AWS_PROFILE=dev"},
		Interactive: "IfAvailable",
		From:        `user "dev" in /home/me/.kube/config`,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := client.New(client.Config{Server: "https://prod.example", Credentials: p})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c)
	fmt.Println(p)
	// Output:
	// client.Client(https://prod.example)
	// plugin.Plugin(user "dev" in /home/me/.kube/config: "aws")
}
