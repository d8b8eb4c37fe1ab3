package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// exampleServer stands for an API server.
func exampleServer() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/version":
			fmt.Fprint(w, `{"major":"1","minor":"37"}`)
		case "/api/v1/namespaces/default/pods/web-0":
			fmt.Fprint(w, `{"metadata":{"name":"web-0","namespace":"default"},"spec":{"nodeName":"node-1"}}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"message":"pods \"web-1\" not found","reason":"NotFound","code":404}`)
		}
	}))
}

// The struct says what is read: nothing else of the object takes memory.
func Example() {
	srv := exampleServer()
	defer srv.Close()

	type Pod struct {
		kube.Meta `json:"metadata"`
		Spec      struct {
			NodeName string `json:"nodeName"`
		} `json:"spec"`
	}
	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	pods := client.Of[Pod](c, kube.Pods).In("default")

	pod, err := pods.Get(context.Background(), kube.Key{Name: "web-0"})
	fmt.Println(pod.Name, pod.Spec.NodeName, err)

	_, err = pods.Get(context.Background(), kube.Key{Name: "web-1"})
	fmt.Println(errors.Is(err, kube.ErrNotFound))
	// Output:
	// web-0 node-1 <nil>
	// true
}

func ExampleClient_Do() {
	srv := exampleServer()
	defer srv.Close()

	c, err := client.New(client.Config{Server: srv.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := c.Do(context.Background(), &client.Request{Path: "/version"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(string(body), err)
	// Output: {"major":"1","minor":"37"} <nil>
}

// Edit changes what the struct knows, and keeps the rest.
func ExampleCollection_Edit() {
	srv, err := apitest.Start(apitest.Options{InMemory: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"web"},"data":{"color":"red"},"immutable":false}`)

	type ConfigMap struct {
		kube.Meta `json:"metadata"`
		Data      map[string]string `json:"data"`
	}
	c, err := client.New(client.Config{Server: srv.URL, Dial: srv.Dial})
	if err != nil {
		fmt.Println(err)
		return
	}
	maps := client.Of[ConfigMap](c, kube.ConfigMaps).In("a")

	_, err = maps.Edit(context.Background(), kube.Key{Name: "web"}, func(m *ConfigMap) error {
		m.Data["size"] = "2"
		return nil
	})
	fmt.Println(err)
	raw, err := client.Of[codec.Raw](c, kube.ConfigMaps).In("a").Get(context.Background(), kube.Key{Name: "web"})
	for _, path := range [][]string{{"data", "color"}, {"data", "size"}, {"immutable"}} {
		value, _ := raw.Text(path...)
		fmt.Println(path, value)
	}
	// Output:
	// <nil>
	// [data color] red
	// [data size] 2
	// [immutable] false
}

func ExampleConfig_String() {
	cfg := client.Config{Server: "https://127.0.0.1:6443", Token: "a secret"}
	fmt.Printf("%+v\n", cfg)
	// Output: client.Config("https://127.0.0.1:6443")
}
