package manager_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/listwatch/listwatch/manager"
)

// TestFloodOfConnections: whoever opens connections to the listener of a Manager leaves
// probes their place.
func TestFloodOfConnections(t *testing.T) {
	m := manager.New(manager.Options{Listen: "127.0.0.1:0"})
	ctx, stop := context.WithCancel(t.Context())
	running := make(chan struct{})
	m.Add(partFunc(func(ctx context.Context) error {
		close(running)
		<-ctx.Done()
		return nil
	}))
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	<-running
	held := 0
	for range 300 {
		c, err := net.Dial("tcp", m.Address())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			continue
		}
		if n, _ := c.Read(make([]byte, 1)); n == 1 {
			held++
		}
	}
	if held != 250 {
		t.Errorf("one address has %d connections, want 250", held)
	}
	other := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	transport := &http.Transport{DialContext: other.DialContext}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, "GET", "http://"+m.Address()+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := transport.RoundTrip(r)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("a probe: %v, %v", resp, err)
	}
	resp.Body.Close()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
