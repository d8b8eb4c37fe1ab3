package setup

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/listwatch/listwatch/e2e/cluster"
)

// Tables is the folder of the fixture. The fake server is held against the same
// files by its own test, TestTablesAreTheRealOnes, so that neither needs the
// other at hand.
const Tables = "../../apitest/testdata/tables/"

// SendTable sends a request of the fixture. What a definition defines is there
// a moment after it: until then the answer is 404.
func SendTable(ctx context.Context, c *cluster.Cluster, method, path, body string) ([]byte, error) {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, method, c.URL()+path, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		switch method {
		case http.MethodGet:
			req.URL.RawQuery = "includeObject=Metadata"
			req.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
		case http.MethodPatch:
			req.Header.Set("Content-Type", "application/merge-patch+json")
		default:
			req.Header.Set("Content-Type", "application/json")
		}
		resp, err := c.HTTPClient().Do(req)
		if err != nil {
			return nil, err
		}
		answer, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
		resp.Body.Close()
		switch {
		case err != nil:
			return nil, err
		case resp.StatusCode < 300:
			return answer, nil
		case resp.StatusCode != http.StatusNotFound:
			return nil, fmt.Errorf("HTTP %d: %s", resp.StatusCode, answer)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
