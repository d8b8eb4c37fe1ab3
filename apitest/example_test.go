package apitest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
)

// A watch is cut after its first event, and asked for again.
func Example() {
	srv, err := apitest.Start(apitest.Options{InMemory: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	from := srv.Revision()
	srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"x"}}`)
	srv.Put(kube.ConfigMaps, `{"metadata":{"namespace":"a","name":"y"}}`)
	srv.On(apitest.Match{Verb: "watch", AfterEvent: 1}, faults.Hangup()).Times(1)
	srv.On(apitest.Match{Verb: "watch", AfterEvent: 2}, faults.EndStream())

	for range 2 {
		resp, err := srv.Client().Get(srv.URL + kube.ConfigMaps.Path("a") + "?watch=1&resourceVersion=" + string(from))
		if err != nil {
			fmt.Println(err)
			return
		}
		events := 0
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			events++
		}
		fmt.Println(events, "events from", from, lines.Err())
		resp.Body.Close()
	}
	// Output:
	// 1 events from 100 unexpected EOF
	// 2 events from 100 <nil>
}

func ExampleServer_On() {
	srv, err := apitest.Start(apitest.Options{InMemory: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	srv.On(apitest.Match{Verb: "list", Resource: "pods"}, faults.Throttle("5")).Times(1)
	srv.On(apitest.Match{Path: "/hello"}, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") })

	for _, path := range []string{"/api/v1/pods", "/api/v1/pods", "/hello"} {
		resp, err := srv.Client().Get(srv.URL + path)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		fmt.Printf("%s, Retry-After %q\n", resp.Status, resp.Header.Get("Retry-After"))
	}
	for _, r := range srv.Requests() {
		fmt.Println(r.Verb, r.Path, r.Code)
	}
	// Output:
	// 429 Too Many Requests, Retry-After "5"
	// 200 OK, Retry-After ""
	// 200 OK, Retry-After ""
	// list /api/v1/pods 429
	// list /api/v1/pods 200
	// get /hello 200
}

func ExampleServer_Table() {
	srv, err := apitest.Start(apitest.Options{InMemory: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	b, err := srv.Table(kube.Namespaces, `{"metadata":{"name":"shop","creationTimestamp":"2026-01-02T03:04:05Z"},"status":{"phase":"Active"}}`, created.Add(time.Hour))
	if err != nil {
		fmt.Println(err)
		return
	}
	var table struct {
		ColumnDefinitions []struct{ Name string }
		Rows              []struct{ Cells []any }
	}
	if err := json.Unmarshal(b, &table); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(table.ColumnDefinitions, table.Rows[0].Cells)
	// Output: [{Name} {Status} {Age}] [shop Active 60m]
}
