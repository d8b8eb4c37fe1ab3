package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/listwatch/listwatch/client"
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

func ExampleConfig_String() {
	cfg := client.Config{Server: "https://127.0.0.1:6443", Token: "a secret"}
	fmt.Printf("%+v\n", cfg)
	// Output: client.Config("https://127.0.0.1:6443")
}
