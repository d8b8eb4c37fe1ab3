package cluster_test

import (
	"context"
	"fmt"

	"github.com/listwatch/listwatch/e2e/cluster"
)

// A test that has a testing.TB calls ForTest instead.
func ExampleStart() {
	c, err := cluster.Start(context.Background(), cluster.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Stop()
	resp, err := c.HTTPClient().Get(c.URL() + "/readyz")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	// Output: 200 OK
}
