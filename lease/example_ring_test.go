package lease_test

import (
	"context"
	"fmt"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
)

// A replica works on the objects in its share of a ring.
func ExampleRing() {
	srv, err := apitest.Start(apitest.Options{})
	if err != nil {
		panic(err)
	}
	defer srv.Close()
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		panic(err)
	}
	// TakeMissing is for this example: otherwise the first member waits for 15 s.
	ring, err := lease.NewRing(c, kube.Key{Namespace: "shop", Name: "orders"}, lease.Options{TakeMissing: true})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	err = ring.Run(ctx, func(_ context.Context, s lease.Share) error {
		if s.Len() > 0 {
			fmt.Println(s.Len(), "slots; has slot", lease.SlotOf("some-uid"), s.Has("some-uid"))
			stop()
		}
		return nil
	})
	fmt.Println(err)
	fmt.Println(ring.Ready()) // of a readiness probe
	fmt.Println(ring.Check()) // of a liveness probe
	// Output:
	// 256 slots; has slot 168 true
	// ring shop/orders: context canceled
	// <nil>
	// <nil>
}
