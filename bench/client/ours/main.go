// Ours runs clients that link nothing of Kubernetes: listwatch over Raw, also
// compressed, Partial and a struct of eight fields, and the floor.
package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/bench/client/follow"
	"github.com/listwatch/listwatch/bench/probe"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/compressed"
	"github.com/listwatch/listwatch/kube"
)

func main() {
	probe.Main(func(ctx context.Context, r *probe.Run, failed chan<- error) (func() int, error) {
		switch strings.TrimSuffix(strings.TrimSuffix(r.Client, "-warm"), "-json") {
		case "ours-raw":
			return follow.Start[codec.Raw](ctx, r, failed, nil)
		case "ours-compressed":
			var c compressed.Compressor
			return follow.Start(ctx, r, failed, c.Compress)
		case "ours-partial":
			return follow.Start[kube.Partial](ctx, r, failed, nil)
		case "ours-struct8":
			return follow.Start[follow.Eight](ctx, r, failed, nil)
		case "ours-controller-raw":
			return follow.Reconcile[codec.Raw](ctx, r, failed)
		case "ours-controller-struct8":
			return follow.Reconcile[follow.Eight](ctx, r, failed)
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
