package load_test

import (
	"context"
	"fmt"

	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/load"
)

func ExampleRun() {
	ctx := context.Background()
	c, err := cluster.Start(ctx, cluster.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Stop()
	config := load.Config{URL: c.URL(), HTTP: c.HTTPClient(), Writes: 20, Workers: 1, Seed: 7}
	if err := load.Setup(ctx, config); err != nil {
		fmt.Println(err)
		return
	}
	record, err := load.Run(ctx, config)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(record.Writes), "writes,", len(record.Missing("pods", nil)), "of them on pods")
	// Output: 20 writes, 5 of them on pods
}
