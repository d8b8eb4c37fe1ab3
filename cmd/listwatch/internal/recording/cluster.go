package recording

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
)

// clusterOf asks which cluster is recorded; what the server does not send stays empty.
func clusterOf(ctx context.Context, c *client.Client) replay.Cluster {
	var version struct{ GitVersion string }
	ask(ctx, c, "/version", &version)
	var ns struct{ Metadata struct{ UID string } }
	ask(ctx, c, kube.Namespaces.Path("")+"/kube-system", &ns)
	return replay.Cluster{Server: c.Server(), GitVersion: version.GitVersion, UID: ns.Metadata.UID}
}

// ask decodes a response, if there is one, of which it reads 64 KiB.
func ask(ctx context.Context, c *client.Client, path string, into any) {
	resp, err := c.Do(ctx, &client.Request{Path: path})
	if err != nil {
		return
	}
	defer resp.Body.Close()
	_ = json.NewDecoder(io.LimitReader(resp.Body, 1<<16)).Decode(into) // what is not there stays empty
}

// patience is how long the recording of a custom resource waits for its definition.
const patience = 5 * time.Second

// columnsOf returns the columns that the definition of r has, nil if r has none, or it may
// not be read. Events that happen meanwhile are not recorded, so it does not wait for long.
func columnsOf(ctx context.Context, c *client.Client, r kube.Resource) ([]apitest.Column, error) {
	if !strings.Contains(r.Group, ".") {
		return nil, nil // only groups of a domain may be defined
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("the server did not send it within 5s"))
	defer cancel()
	d, err := client.Of[codec.Raw](c, kube.CustomResourceDefinitions).Get(ctx, kube.Key{Name: r.GroupResource()})
	switch {
	case errors.Is(err, kube.ErrForbidden), errors.Is(err, kube.ErrUnauthorized), errors.Is(err, kube.ErrNotFound):
		return nil, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	}
	var o struct {
		Spec struct {
			Versions []struct {
				Name    string
				Columns []struct {
					Name, Type, JSONPath string
					Priority             int
					Format, Description  string
				} `json:"additionalPrinterColumns"`
			}
		}
	}
	if err := json.Unmarshal([]byte(d.JSON()), &o); err != nil {
		return nil, err
	}
	for _, v := range o.Spec.Versions {
		if v.Name != r.Version {
			continue
		}
		var all []apitest.Column
		for _, c := range v.Columns {
			all = append(all, apitest.Column{Name: c.Name, Type: c.Type, Path: strings.TrimPrefix(c.JSONPath, "."), Priority: c.Priority, Format: c.Format, Description: c.Description})
		}
		return all, nil
	}
	return nil, nil
}
