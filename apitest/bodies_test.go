package apitest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
)

// TestBodiesWithoutEndHoldLittle: many clients send most of a large body. What the server
// holds of them is limited, and it serves others.
func TestBodiesWithoutEndHoldLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Second) }) // of the bubble: ended connections stay for 500 ms
		srv := apitest.NewWith(t, apitest.Options{InMemory: true, NoManagedFields: true})
		const clients = 100
		part := []byte(strings.Repeat(" ", 2_900_000))
		before := heapMiB()
		for range clients {
			c, err := srv.Dial(t.Context(), "tcp", "")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			go func() {
				io.WriteString(c, "POST /api/v1/namespaces/a/configmaps HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 3000000\r\n\r\n")
				c.Write(part)
			}()
		}
		synctest.Wait()
		if held := heapMiB() - before; held > 120 {
			t.Errorf("%d bodies without an end hold %d MiB", clients, held)
		}
		for _, size := range []int{10, 1_000_000} {
			body := `{"metadata":{"generateName":"c"},"data":{"a":"` + strings.Repeat("x", size) + `"}}`
			resp, err := send(t.Context(), srv, http.MethodPost, "/api/v1/namespaces/a/configmaps", body)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			if resp.Body.Close(); resp.StatusCode != http.StatusCreated {
				t.Errorf("a write of %d bytes gets HTTP %d", size, resp.StatusCode)
			}
		}
	})
}
