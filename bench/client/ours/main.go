// Ours runs clients that link nothing of Kubernetes: listwatch over Raw, Partial
// and a struct of eight fields, and the floor.
package main

import (
	"context"
	"fmt"

	"github.com/listwatch/listwatch/bench/client/follow"
	"github.com/listwatch/listwatch/bench/probe"
)

func main() {
	probe.Main(func(ctx context.Context, r *probe.Run, failed chan<- error) (func() int, error) {
		switch r.Client {
		case "ours-raw":
			return follow.Start[follow.Raw](ctx, r, failed)
		case "ours-partial":
			return follow.Start[follow.Partial](ctx, r, failed)
		case "ours-struct8":
			return follow.Start[follow.Eight](ctx, r, failed)
		case "floor":
			return floor(ctx, r, "application/json", failed)
		case "floor-partial":
			return floor(ctx, r, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", failed)
		case "floor-protobuf":
			return floor(ctx, r, "application/vnd.kubernetes.protobuf", failed)
		}
		return nil, fmt.Errorf("unknown client %q", r.Client)
	})
}
