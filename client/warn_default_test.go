package client_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// TestWarningsAreLoggedByDefault: once, and without what the server echoes.
func TestWarningsAreLoggedByDefault(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "server" {
			return slog.Attr{}
		}
		return a
	}})))
	url := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Warning", `299 - "v1 Foo is deprecated; you sent `+r.Header.Get("Authorization")+`"`)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"metadata":{"name":"web"}}`))
	})
	pods := client.Of[pod](newClient(t, client.Config{Server: url, Token: "a-secret-token"}), kube.Pods)
	for range 2 {
		if _, err := pods.Get(t.Context(), web); err != nil {
			t.Fatal(err)
		}
	}
	want := "level=WARN msg=\"warning from the server\" warning=\"v1 Foo is deprecated; you sent Bearer (hidden)\"\n"
	if diff := cmp.Diff(want, log.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
