package recording

import (
	"context"
	"encoding/json"
	"io"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
)

// clusterOf asks which cluster is recorded; what the server does not send stays empty.
func clusterOf(ctx context.Context, c *client.Client) replay.Cluster {
	cl := replay.Cluster{Server: c.Server()}
	if resp, err := c.Do(ctx, &client.Request{Path: "/version"}); err == nil {
		var v struct{ GitVersion string }
		_ = json.NewDecoder(io.LimitReader(resp.Body, 1<<16)).Decode(&v)
		resp.Body.Close()
		cl.GitVersion = v.GitVersion
	}
	if ns, err := client.Of[kube.Partial](c, kube.Namespaces).Get(ctx, kube.Key{Name: "kube-system"}); err == nil {
		cl.UID = ns.GetUID()
	}
	return cl
}
