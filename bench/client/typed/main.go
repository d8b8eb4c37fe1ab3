// Typed runs listwatch over Kubernetes' own Go types, from protobuf or JSON.
package main

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/listwatch/listwatch/bench/client/follow"
	"github.com/listwatch/listwatch/bench/probe"
)

func main() {
	probe.Main(func(ctx context.Context, r *probe.Run, failed chan<- error) (func() int, error) {
		switch {
		case strings.TrimSuffix(r.Client, "-json") != "ours-typed":
		case r.Kind == "pods":
			return follow.Start[*corev1.Pod](ctx, r, failed, nil)
		case r.Kind == "configmaps":
			return follow.Start[*corev1.ConfigMap](ctx, r, failed, nil)
		}
		return nil, fmt.Errorf("unknown client %q of %s", r.Client, r.Kind)
	})
}
