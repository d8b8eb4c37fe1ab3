package connect_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/connect"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

func ExampleConfig() {
	srv, err := apitest.Start(apitest.Options{InMemory: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	srv.PutYAML("apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: a, name: b}")
	c, err := client.New(connect.Config(srv))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.CloseIdleConnections()
	o, err := client.Of[kube.Partial](c, kube.ConfigMaps).Get(context.Background(), kube.Key{Namespace: "a", Name: "b"})
	fmt.Println(kube.KeyOf(o), err)
	// Output: a/b <nil>
}

// TestConfigReachesEveryServer: with and without sockets, TLS, tokens and certificates.
func TestConfigReachesEveryServer(t *testing.T) {
	for name, o := range map[string]apitest.Options{
		"open": {}, "in memory": {InMemory: true}, "token over http": {Token: "sesame"}, "TLS": {TLS: true},
		"token": {TLS: true, Token: "sesame"}, "certificate": {ClientCerts: true}, "both": {InMemory: true, ClientCerts: true, Token: "sesame"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := apitest.NewWith(t, o, apitest.Fixture{Resource: kube.ConfigMaps, Object: `{"metadata":{"namespace":"a","name":"b"}}`})
			c, err := client.New(connect.Config(srv))
			if err != nil {
				t.Fatal(err)
			}
			defer c.CloseIdleConnections()
			if _, err := client.Of[kube.Partial](c, kube.ConfigMaps).Get(t.Context(), kube.Key{Namespace: "a", Name: "b"}); err != nil {
				t.Error(err)
			}
		})
	}
}
