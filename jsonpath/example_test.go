package jsonpath_test

import (
	"encoding/json"
	"fmt"

	"github.com/listwatch/listwatch/jsonpath"
)

func Example() {
	var pods any
	_ = json.Unmarshal([]byte(`{"items":[
	  {"metadata":{"name":"web-0"},"status":{"conditions":[{"type":"Ready","status":"True"}]}},
	  {"metadata":{"name":"web-1"},"status":{"conditions":[]}}]}`), &pods)

	t, err := jsonpath.Parse(`{range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := t.Append(nil, pods)
	fmt.Print(string(text), err)
	// Output:
	// web-0=True
	// web-1=
	// <nil>
}
