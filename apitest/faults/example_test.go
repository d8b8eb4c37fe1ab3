package faults_test

import (
	"fmt"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
)

func ExampleParse() {
	srv, err := apitest.Start(apitest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	rules, err := faults.Parse("get: html 502\nwatch pods ns=shop nth=2 after=5 times=1: cut 60")
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := faults.Apply(srv, rules); err != nil {
		fmt.Println(err)
		return
	}
	resp, err := srv.Client().Get(srv.URL + "/api/v1/namespaces/a/pods/b")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status, resp.Header.Get("Content-Type"))
	for _, rule := range rules {
		fmt.Println(rule)
	}
	// Output:
	// 502 Bad Gateway text/html
	// get: html 502
	// watch pods ns=shop nth=2 after=5 times=1: cut 60
}
