package postgres_test

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/sink/postgres"
)

// liar answers each connection with what, after its first message, until the test ends.
func liar(t *testing.T, what []byte) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				c.Read(make([]byte, 4096))
				c.Write(what)
				io.Copy(io.Discard, c)
			}()
		}
	}()
	return l.Addr().String()
}

// message returns a message of the protocol whose header announces n bytes of body.
func message(kind byte, n int, body string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(n+4)), body...)
}

// TestMessagesOfAServerAreLimited: what it announces is not allocated.
func TestMessagesOfAServerAreLimited(t *testing.T) {
	at := liar(t, message('E', 64<<20+1, "S"))
	_, err := postgres.Open(t.Context(), "postgres://u@"+at+"/db?sslmode=disable", postgres.Options{})
	if err == nil || !strings.Contains(err.Error(), "at most 67108864") {
		t.Errorf("error %v", err)
	}
}
