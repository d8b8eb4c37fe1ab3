package kube_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// A resource of your own is a literal; its objects are a struct that embeds Meta.
func Example() {
	crontabs := kube.Resource{Group: "example.com", Version: "v1", Plural: "crontabs", Kind: "CronTab", Namespaced: true}

	type CronTab struct {
		kube.Meta `json:"metadata"`
		Spec      struct{ Schedule string }
	}
	tab := CronTab{Meta: kube.Meta{Namespace: "default", Name: "nightly"}}

	fmt.Println(crontabs)
	fmt.Println(crontabs.ObjectPath(kube.KeyOf(tab)))
	// Output:
	// crontabs.v1.example.com
	// /apis/example.com/v1/namespaces/default/crontabs/nightly
}

func ExampleParseSelector() {
	sel, err := kube.ParseSelector("tier != db, app in (web, api), !spot")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sel)
	fmt.Println(sel.Matches(map[string]string{"app": "web"}))
	fmt.Println(sel.Matches(map[string]string{"app": "web", "spot": "yes"}))

	_, err = kube.ParseSelector("app in web")
	fmt.Println(err)
	// Output:
	// app in (api,web),!spot,tier!=db
	// true
	// false
	// parse label selector "app in web": after "app" in: want (value,...)
}

func ExampleParseFieldSelector() {
	sel, err := kube.ParseFieldSelector("spec.nodeName=node-1,status.phase!=Running")
	if err != nil {
		fmt.Println(err)
		return
	}
	pod := map[string]string{"spec.nodeName": "node-1", "status.phase": "Pending"}
	fmt.Println(sel.Matches(func(path string) string { return pod[path] }))
	// Output: true
}

func ExampleRevision_Compare() {
	fmt.Println(kube.Revision("9").Compare("10"))
	fmt.Println(kube.Revision("9").Compare("x-10"))
	// Output:
	// -1 <nil>
	// 0 compare resource versions: "x-10" is not a decimal integer
}

func ExampleStatus() {
	err := fmt.Errorf("watch pods: %w", &kube.Status{Code: 410, Reason: "Expired", Message: "too old resource version: 1 (7)"})
	fmt.Println(errors.Is(err, kube.ErrGone))
	fmt.Println(err)
	// Output:
	// true
	// watch pods: server: too old resource version: 1 (7) (410 Expired)
}

func ExampleParseKey() {
	k, err := kube.ParseKey("default/web-0")
	fmt.Println(k.Namespace, k.Name, err)
	// Output: default web-0 <nil>
}

func ExampleIntOrString() {
	var policy struct {
		MaxUnavailable kube.IntOrString `json:"maxUnavailable"`
		RenewTime      kube.MicroTime   `json:"renewTime"`
	}
	policy.MaxUnavailable = kube.FromString("25%")
	policy.RenewTime.Time = time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)
	b, err := json.Marshal(policy)
	fmt.Println(string(b), err)
	policy.MaxUnavailable = kube.FromInt(3)
	fmt.Println(policy.MaxUnavailable)
	// Output:
	// {"maxUnavailable":"25%","renewTime":"2026-11-23T06:00:00.000000Z"} <nil>
	// 3
}
