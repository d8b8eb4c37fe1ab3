package apitest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest"
)

// TestJournalIsLimited: a client cannot fill the memory by the texts of its requests; the
// newest ones are kept.
func TestJournalIsLimited(t *testing.T) {
	srv := apitest.NewInMemory(t)
	const requests = 600
	text := strings.Repeat("x", 50_000)
	before := heapMiB()
	for i := range requests {
		resp, err := send(t.Context(), srv, http.MethodGet, fmt.Sprintf("/version?n=%d&text=%s", i, text), "", "User-Agent", text)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if held := heapMiB() - before; held > 48 {
		t.Errorf("%d requests of 100 KB hold %d MiB", requests, held)
	}
	list := srv.Requests()
	if n := len(list); n < 150 || n > 400 || list[n-1].Query.Get("n") != fmt.Sprint(requests-1) {
		t.Errorf("%d requests are left, want those of 16 to 32 MiB, the last one is %s", n, list[n-1].Query.Get("n"))
	}
	srv.ForgetRequests()
	if n := len(srv.Requests()); n != 0 {
		t.Errorf("%d requests after ForgetRequests", n)
	}
}
