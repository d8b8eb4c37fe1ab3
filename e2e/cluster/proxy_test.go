package cluster_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/listwatch/listwatch/e2e/cluster"
)

func testProxy(t *testing.T, c *cluster.Cluster) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *cluster.Cluster, *cluster.Proxy, *http.Client)
	}{
		{"CutAllResetsWatch", testCutAll},
		{"CutAfterResetsMidBody", testCutAfter},
		{"RefuseAndAccept", testRefuse},
		{"PauseIsSilentAndLosesNothing", testPause},
		{"ForgetIsSilentForGood", testForget},
		{"DelayHoldsBytes", testDelay},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := cluster.NewProxy(c.Addr())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.Close)
			// A client of its own: no connection of an earlier test is reused.
			transport := c.Transport().Clone()
			t.Cleanup(transport.CloseIdleConnections)
			test.run(t, c, p, &http.Client{Transport: c.Authorize(transport)})
		})
	}
}

func testCutAll(t *testing.T, c *cluster.Cluster, p *cluster.Proxy, client *http.Client) {
	_, next := watch(t.Context(), t, client, p.URL()+configMaps+"?watch=1")
	if _, err := next(); err != nil {
		t.Fatalf("first frame: %v", err)
	}
	p.CutAll()
	var err error
	for err == nil {
		_, err = next()
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the watch ended with %v, want a connection reset", err)
	}
	a := request(t.Context(), t, client, http.MethodGet, p.URL()+"/readyz", "")
	if a.code != http.StatusOK || p.Accepted() != 2 {
		t.Errorf("after the cut: HTTP %d, %d connections; want 200 on a second one", a.code, p.Accepted())
	}
}

func testCutAfter(t *testing.T, c *cluster.Cluster, p *cluster.Proxy, client *http.Client) {
	request(t.Context(), t, client, http.MethodGet, p.URL()+"/readyz", "") // handshake done
	p.CutAfter(4096)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL()+"/openapi/v2", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatalf("the headers should fit: %v", err)
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err == nil || n > 4096 {
		t.Errorf("read %d bytes, error %v; want an error within 4096", n, err)
	}
}

func testRefuse(t *testing.T, c *cluster.Cluster, p *cluster.Proxy, client *http.Client) {
	p.Refuse()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL()+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Do(req); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("while refusing: %v, want connection refused", err)
	}
	if err := p.Accept(); err != nil {
		t.Fatal(err)
	}
	if a := request(t.Context(), t, client, http.MethodGet, p.URL()+"/readyz", ""); a.code != http.StatusOK {
		t.Errorf("after Accept: HTTP %d", a.code)
	}
}

func testPause(t *testing.T, c *cluster.Cluster, p *cluster.Proxy, client *http.Client) {
	rv := createConfigMap(t, c, "before-pause")
	_, next := watch(t.Context(), t, client, p.URL()+configMaps+"?watch=1&resourceVersion="+rv)
	p.Pause()
	want := createConfigMap(t, c, "during-pause")
	// A request on the paused path gets no answer, not even an error.
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL()+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Do(req); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while paused: %v, want silence until the deadline", err)
	}
	p.Resume()
	f, err := next()
	if err != nil || f.Object.Metadata.ResourceVersion != want {
		t.Errorf("after Resume: frame %+v, error %v; want version %s", f, err, want)
	}
}

func testForget(t *testing.T, c *cluster.Cluster, p *cluster.Proxy, client *http.Client) {
	request(t.Context(), t, client, http.MethodGet, p.URL()+"/readyz", "") // a connection to forget
	p.Forget()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL()+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Do(req); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("on a forgotten connection: %v, want silence until the deadline", err)
	}
	fresh := c.Transport().Clone()
	t.Cleanup(fresh.CloseIdleConnections)
	a := request(t.Context(), t, &http.Client{Transport: c.Authorize(fresh)}, http.MethodGet, p.URL()+"/readyz", "")
	if a.code != http.StatusOK || p.Accepted() != 2 {
		t.Errorf("afterwards: HTTP %d, %d connections; want 200 on a second one", a.code, p.Accepted())
	}
}

func testDelay(t *testing.T, c *cluster.Cluster, p *cluster.Proxy, client *http.Client) {
	request(t.Context(), t, client, http.MethodGet, p.URL()+"/readyz", "") // handshake done
	const delay = 200 * time.Millisecond
	p.Delay(delay)
	start := time.Now()
	request(t.Context(), t, client, http.MethodGet, p.URL()+"/readyz", "")
	if took := time.Since(start); took < 2*delay {
		t.Errorf("a round trip took %s, want at least twice %s", took, delay)
	}
}
