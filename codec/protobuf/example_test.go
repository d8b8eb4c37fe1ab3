package protobuf_test

import (
	"fmt"

	"github.com/listwatch/listwatch/codec/protobuf"
	"github.com/listwatch/listwatch/kube"
)

func ExampleDecoderOf() {
	type ConfigMap struct {
		kube.Meta `json:"metadata"`
		Data      map[string]string `json:"data"`
	}
	decode, ok := protobuf.DecoderOf[ConfigMap]("v1", "ConfigMap")
	if !ok {
		fmt.Println("only JSON will do")
		return
	}
	// A ConfigMap named x with data k: v, as kube-apiserver sends it.
	o, err := decode([]byte("k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x0d\x0a\x03\x0a\x01x\x12\x06\x0a\x01k\x12\x01v"))
	fmt.Println(o.Name, o.Data, err)
	// Output: x map[k:v] <nil>
}
