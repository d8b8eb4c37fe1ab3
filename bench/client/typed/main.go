// Typed runs listwatch over Kubernetes' own Go types, decoded by json-iterator.
package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/listwatch/listwatch/bench/client/follow"
	"github.com/listwatch/listwatch/bench/probe"
)

func main() {
	probe.Main(func(ctx context.Context, r *probe.Run, failed chan<- error) (func() int, error) {
		switch {
		case r.Client != "ours-typed":
		case r.Kind == "pods":
			return follow.Start[*corev1.Pod](ctx, r, failed, nil)
		case r.Kind == "configmaps":
			return follow.Start[*corev1.ConfigMap](ctx, r, failed, nil)
		}
		return nil, fmt.Errorf("unknown client %q of %s", r.Client, r.Kind)
	})
}
