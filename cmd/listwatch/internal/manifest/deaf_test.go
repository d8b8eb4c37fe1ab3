package manifest

import (
	"testing"
	"time"
)

// TestDownloadFromAServerThatReadsNothingEnds: net/http's read loop blocks in a write to it, and
// nothing but the time of a write ends the request. See client.TestServerThatReadsNothing.
func TestDownloadFromAServerThatReadsNothingEnds(t *testing.T) {
	tr := newTransport()
	if got := tr.HTTP2.WriteByteTimeout; got != 10*time.Second {
		t.Errorf("a write over HTTP/2 may take %v, want 10 s", got)
	}
	if tr.Proxy == nil || !tr.ForceAttemptHTTP2 {
		t.Error("it is not that of http.DefaultTransport otherwise")
	}
}
