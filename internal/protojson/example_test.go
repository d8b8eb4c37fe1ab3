package protojson_test

import (
	"fmt"

	"github.com/listwatch/listwatch/internal/protojson"
)

func ExampleDecode() {
	// A ConfigMap named x, as a typed client sends it.
	body := []byte("k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x05\x0a\x03\x0a\x01x")
	b, apiVersion, kind, err := protojson.Decode(body, 1<<20)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %s\n%s\n", apiVersion, kind, b)
	// Output:
	// v1 ConfigMap
	// {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"}}
}
