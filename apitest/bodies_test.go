package apitest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
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

// TestDefaultsThatMultiplyAreRefused: as a body above the limit, whatever the write is.
func TestDefaultsThatMultiplyAreRefused(t *testing.T) {
	var props []string
	for i := range 400 {
		props = append(props, fmt.Sprintf(`"p%d":{"type":"string","default":""}`, i))
	}
	srv := apitest.NewInMemory(t)
	srv.AddResource(apitest.ResourceInfo{Resource: kube.Resource{Group: "x.io", Version: "v1", Plural: "ks", Kind: "K", Namespaced: true},
		Schema: json.RawMessage(`{"type":"object","properties":{"x":{"type":"array","items":{"type":"object","properties":{` + strings.Join(props, ",") + `}}}}}`)})
	const path = "/apis/x.io/v1/namespaces/a/ks"
	object := func(items int) string {
		return `{"apiVersion":"x.io/v1","kind":"K","metadata":{"name":"k"},"x":[` + strings.Repeat("{},", items) + "{}]}"
	}
	if code, body := do(t, srv, http.MethodPost, path, object(10)); code != http.StatusCreated {
		t.Fatalf("HTTP %d %.300s", code, body)
	}
	large := object(1000)
	for _, c := range []struct{ method, path, typ string }{
		{http.MethodPost, path + "?dryRun=All", "application/json"},
		{http.MethodPut, path + "/k", "application/json"},
		{http.MethodPatch, path + "/k", "application/merge-patch+json"},
		{http.MethodPatch, path + "/k?fieldManager=m&force=true", "application/apply-patch+yaml"},
	} {
		code, body := do(t, srv, c.method, c.path, large, "Content-Type", c.typ)
		if code != http.StatusRequestEntityTooLarge || !strings.Contains(body, `"message":"Request entity too large: limit is 3145728"`) {
			t.Errorf("%s %s in %s: HTTP %d %.300s", c.method, c.path, c.typ, code, body)
		}
	}
}
