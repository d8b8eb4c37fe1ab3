package cloudevents

import (
	"net/http"
	"testing"
	"time"
)

// TestServerThatReadsNothingIsGivenUp: net/http's read loop blocks in a write to it, and nothing
// but the time of a write ends the request. See client.TestServerThatReadsNothing.
func TestServerThatReadsNothingIsGivenUp(t *testing.T) {
	s, err := New("https://memory.test", nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	tr, ok := s.o.Client.Transport.(*http.Transport)
	if !ok || tr.HTTP2 == nil || tr.HTTP2.WriteByteTimeout != 10*time.Second {
		t.Fatalf("its transport is %+v, want one in which a write over HTTP/2 may take 10 s", s.o.Client.Transport)
	}
	if tr.Proxy == nil || !tr.ForceAttemptHTTP2 {
		t.Error("it is not that of http.DefaultTransport otherwise")
	}
}
