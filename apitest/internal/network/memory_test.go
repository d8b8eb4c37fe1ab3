package network

import (
	"errors"
	"syscall"
	"testing"
)

// TestAResetIsNoEnd: the client sees a reset also if the server, which sees it too, closes
// its side at once.
func TestAResetIsNoEnd(t *testing.T) {
	t.Parallel()
	for i := range 20_000 {
		client, server := memoryPair()
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			server.Read(make([]byte, 1))
			server.Close()
		}()
		go server.reset()
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Fatalf("connection %d: %v, want a reset", i, err)
		}
		<-closed
	}
}
