package discovery_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/listwatch/listwatch/apitest/internal/discovery"
	"github.com/listwatch/listwatch/apitest/internal/kinds"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// TestDocumentsAreKept: a document is made once for many requests, and anew when a definition
// changes.
func TestDocumentsAreKept(t *testing.T) {
	defined := func(field string) *object.Info {
		info := kinds.Complete(object.Info{Resource: kube.Resource{Group: "x.io", Version: "v1", Plural: "ks", Kind: "K", Namespaced: true},
			Schema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string"}}}`, field))})
		return &info
	}
	var d discovery.Documents
	get := func(info *object.Info) (body, tag string) {
		w := httptest.NewRecorder()
		d.Answer(w, httptest.NewRequest(http.MethodGet, "/openapi/v3/apis/x.io/v1", nil), []*object.Info{info})
		if w.Code != http.StatusOK {
			t.Errorf("HTTP %d", w.Code)
		}
		return w.Body.String(), w.Header().Get("Etag")
	}
	before := defined("before")
	body, tag := get(before)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if b, same := get(before); b != body || same != tag || !strings.Contains(b, `"before"`) {
				t.Errorf("another document: %.300s", b)
			}
		})
	}
	all.Wait()
	if n := d.Made(); n != 1 {
		t.Errorf("%d documents were made for 21 requests", n)
	}
	b, other := get(defined("after"))
	if n := d.Made(); n != 2 || other == tag || strings.Contains(b, `"before"`) || !strings.Contains(b, `"after"`) {
		t.Errorf("after a change %d were made: %s %.300s", n, other, b)
	}
}
