package kinds_test

import (
	"fmt"

	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/kube"
)

func ExampleValidate() {
	o := map[string]any{"metadata": map[string]any{"name": "a", "namespace": "b"}, "spec": map[string]any{}}
	kinds.SetDefaults(kube.Services, o)
	for _, cause := range kinds.Validate(kube.Services, o, nil) {
		fmt.Println(cause.Field, cause.Message)
	}
	// Output: spec.ports Required value
}
