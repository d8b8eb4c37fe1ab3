package apitest_test

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/internal/backlog"
)

// TestListsThatAreReadSlowlyGiveWay: many clients read a bit of large lists all the time. Who comes
// after them waits a short while, and is served whole.
func TestListsThatAreReadSlowlyGiveWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Second) }) // of the bubble: ended connections stay for 500 ms
		srv := apitest.NewWith(t, apitest.Options{InMemory: true, History: 50, NoManagedFields: true})
		rewrite(srv, 400, 0) // 6 MiB a list
		const slow = 60
		for range slow {
			c, err := srv.Dial(t.Context(), "tcp", "")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			if _, err := io.WriteString(c, "GET /api/v1/configmaps HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			go func() {
				for b := make([]byte, 10_000); ; time.Sleep(backlog.Hurry / 10) {
					if _, err := io.ReadFull(c, b); err != nil {
						return
					}
				}
			}()
		}
		synctest.Wait()
		began := time.Now()
		resp, err := send(t.Context(), srv, http.MethodGet, "/api/v1/configmaps", "")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if took := time.Since(began); err != nil || len(b) < 6<<20 || took > 5*backlog.Hurry {
			t.Errorf("after %v: %d bytes, %v", took, len(b), err)
		}
	})
}
