package client_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
)

// TestIsolatedDoesNotWaitForOthers: neither for the rate limit, nor on a connection of
// others, and is the same user all the same.
func TestIsolatedDoesNotWaitForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true, TLS: true, Token: "sesame"})
		c := newClient(t, client.Config{
			Server: srv.URL, Dial: srv.Dial, Token: "sesame", QPS: 0.001, Burst: 1,
			TLS: client.TLS{CAData: srv.CAPEM(), ServerName: "localhost"},
		})
		if _, err := do(t.Context(), c, &client.Request{Path: "/version"}); err != nil {
			t.Fatal(err)
		}
		isolated := c.Isolated()
		t.Cleanup(isolated.CloseIdleConnections)
		began := time.Now()
		for range 20 {
			resp, err := isolated.Do(t.Context(), &client.Request{Path: "/version"})
			if err != nil {
				t.Fatal(err)
			}
			if resp.ProtoMajor != 1 {
				t.Errorf("it speaks %s", resp.Proto)
			}
			resp.Body.Close()
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("20 requests took %v", took)
		}
	})
}

// TestIsolatedLeavesAConnectionWithARequestThatIsGivenUp, so that the next is not sent
// into the same silence.
func TestIsolatedLeavesAConnectionWithARequestThatIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewWith(t, apitest.Options{InMemory: true, TLS: true})
		remotes := map[string]bool{}
		srv.On(apitest.Match{Path: "/version"}, func(w http.ResponseWriter, r *http.Request) {
			if len(remotes) == 0 {
				remotes["first"] = true
				faults.HalfOpen()(w, r) // the connection is dead from here on
				return
			}
			apitest.Continue(w, r)
		})
		c := newClient(t, client.Config{Server: srv.URL, Dial: srv.Dial, TLS: client.TLS{CAData: srv.CAPEM(), ServerName: "localhost"}})
		isolated := c.Isolated()
		t.Cleanup(isolated.CloseIdleConnections)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := do(ctx, isolated, &client.Request{Path: "/version"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Do: %v", err)
		}
		began := time.Now()
		if _, err := do(t.Context(), isolated, &client.Request{Path: "/version"}); err != nil || time.Since(began) != 0 {
			t.Errorf("the next request: %v after %v", err, time.Since(began))
		}
	})
}
