package list_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
)

// TestRevisionThatCouldControlATerminalIsRefused: it is printed in errors, as those of
// objects and bookmarks.
func TestRevisionThatCouldControlATerminalIsRefused(t *testing.T) {
	for _, rv := range []string{`\u001b[31m`, `7\n`, `\u009b`, `\u202e7`} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"%s"},"items":[]}`, rv)
		}))
		defer srv.Close()
		c, err := client.New(client.Config{Server: srv.URL})
		if err != nil {
			t.Fatal(err)
		}
		l := list.New(client.Of[kube.Partial](c, kube.ConfigMaps), list.Options{})
		var last error
		for _, err := range l.All(t.Context()) {
			last = err
		}
		if !errors.Is(last, kube.ErrBadName) || l.Revision() != "" {
			t.Errorf("%s: error %v, revision %q", rv, last, l.Revision())
		}
	}
}
