package lease_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
)

func Example() {
	srv, err := apitest.Start(apitest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		fmt.Println(err)
		return
	}

	// Without a Duration it would be 15 seconds until the first leader ever leads.
	e, err := lease.New(c, kube.Key{Namespace: "shop", Name: "orders"}, lease.Options{Duration: time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = e.Run(context.Background(), func(ctx context.Context, t lease.Token) error {
		fmt.Println("leader:", e.IsLeader(), t.Lease, t.Transitions)
		return nil // or work until ctx is done
	})
	fmt.Println("leader:", e.IsLeader(), err)
	// Output:
	// leader: true shop/orders 1
	// leader: false <nil>
}

// What a leader writes carries its token, and it does not write over what carries a
// newer one: then it stood still for so long that there is another leader.
func ExampleToken() {
	srv, err := apitest.Start(apitest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"shop","name":"plan"}}`)
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	type ConfigMap struct {
		kube.Meta `json:"metadata"`
		Data      map[string]string `json:"data"`
	}
	maps := client.Of[ConfigMap](c, kube.ConfigMaps)

	write := func(t lease.Token, plan string) error {
		_, err := maps.Edit(context.Background(), kube.Key{Namespace: "shop", Name: "plan"}, func(m *ConfigMap) error {
			if kube.Revision(m.Annotations["example.com/token"]).Newer(t.Revision) {
				return errors.New("there is a newer leader")
			}
			m.Annotations = map[string]string{"example.com/token": string(t.Revision)}
			m.Data = map[string]string{"plan": plan}
			return nil
		})
		return err
	}
	fmt.Println(write(lease.Token{Revision: "1007"}, "of the first leader"))
	fmt.Println(write(lease.Token{Revision: "1300"}, "of the second leader"))
	fmt.Println(write(lease.Token{Revision: "1007"}, "of the first leader, who awakes") != nil)
	// Output:
	// <nil>
	// <nil>
	// true
}
