package object_test

import (
	"fmt"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

func Example() {
	o, err := object.Parse(kube.ConfigMaps, []byte(`{"data": {"k": "v"}, "metadata": {"name": "a", "namespace": "b"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	o.Seal(&object.Info{Resource: kube.ConfigMaps, BuiltIn: true}, 7)
	fmt.Println(string(o.Body))
	// Output:
	// {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"b","resourceVersion":"7"},"data":{"k":"v"}}
}
