package schema_test

import (
	"fmt"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/kube"
)

func ExampleType_Apply() {
	var catalog schema.Catalog
	maps, err := catalog.Type(kube.ConfigMaps)
	if err != nil {
		fmt.Println(err)
		return
	}
	apply := func(live map[string]any, config, manager string) (map[string]any, error) {
		c, err := schema.DecodeObject([]byte(config))
		if err != nil {
			return nil, err
		}
		return maps.Apply(live, c, schema.Write{Manager: manager, Now: time.Now()})
	}
	live, err := apply(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"one"}}`, "me")
	fmt.Println(live["data"], err)
	_, err = apply(live, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"two"}}`, "you")
	fmt.Println(err)
	// Output:
	// map[k:one] <nil>
	// server: Apply failed with 1 conflict: conflict with "me": .data.k (409 Conflict)
}
