package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/connect"
	"github.com/listwatch/listwatch/internal/target"
)

// TestSilentClusterDoesNotHoldTheOthers: a cluster that takes packets and never responds is
// late some seconds after the first response, and not after the longest silence of a
// request.
func TestSilentClusterDoesNotHoldTheOthers(t *testing.T) {
	refused := errors.New("refused")
	for _, tt := range []struct {
		name  string
		hasty bool
		fail  error // of a third cluster, at once
		late  []string
		took  time.Duration
		err   error
	}{
		{name: "hasty", hasty: true, late: []string{"silent"}, took: silence},
		{name: "all are needed", late: []string{"silent"}, took: time.Minute},
		{name: "another error", hasty: true, fail: refused, took: time.Second + silence, err: refused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var clusters []connect.Cluster
				for _, name := range []string{"silent", "here", "third"} {
					clusters = append(clusters, connect.Cluster{Name: name})
				}
				begin := time.Now()
				r, err := reach(t.Context(), clusters, tt.hasty, func(ctx context.Context, c *connect.Cluster) ([]target.Target, error) {
					switch c.Name {
					case "silent":
						ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, context.DeadlineExceeded)
						defer cancel()
						<-ctx.Done()
						return nil, context.Cause(ctx)
					case "third":
						return nil, tt.fail
					}
					time.Sleep(time.Second)
					return []target.Target{{Cluster: c.Name}}, nil
				})
				if took := time.Since(begin); took != tt.took || !errors.Is(err, tt.err) {
					t.Errorf("after %s, error %v; want %s, %v", took, err, tt.took, tt.err)
				}
				var late []string
				for _, l := range r.late {
					late = append(late, l.Name)
				}
				if diff := cmp.Diff(tt.late, late); tt.err == nil && diff != "" {
					t.Errorf("clusters that are late (-want +got):\n%s", diff)
				}
			})
		})
	}
}
