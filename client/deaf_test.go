package client_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/client"
)

// TestServerThatReadsNothing sends without end what net/http answers. The answer blocks, and with
// it what ends a request, until the time is over that a write may take: 10 s, here 100 ms.
func TestServerThatReadsNothing(t *testing.T) {
	for _, tt := range []struct {
		name  string
		frame []byte
	}{
		{"padding", frame(0, 8, 1, append([]byte{255}, make([]byte, 255)...))},
		{"pings", frame(6, 0, 0, make([]byte, 8))},
		{"settings", frame(4, 0, 0, nil)},
	} {
		for _, end := range []error{client.ErrIdle, context.DeadlineExceeded} {
			t.Run(tt.name+", "+end.Error(), func(t *testing.T) {
				c := newClient(t, client.Config{Server: "https://memory.test", Dial: deafServer(t, tt.frame), TLS: client.TLS{Insecure: true}})
				ctx, idle := t.Context(), 300*time.Millisecond
				if end != client.ErrIdle {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, idle)
					defer cancel()
					idle = time.Hour
				}
				start := time.Now()
				resp, err := c.Do(ctx, &client.Request{Path: "/", Watch: true, Idle: idle})
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if _, err = io.ReadAll(resp.Body); !errors.Is(err, end) {
					t.Errorf("the body ends with %v", err)
				}
				if took := time.Since(start); took > 4*time.Second {
					t.Errorf("it ended after %v, by the server", took)
				}
			})
		}
	}
}

// deafServer returns how to connect to a server over HTTP/2 that responds with headers and then
// flood, without end, and reads nothing more. It leaves after 5 s.
func deafServer(t *testing.T, flood []byte) func(context.Context, string, string) (net.Conn, error) {
	t.Helper()
	pair, err := tls.X509KeyPair(newAuthority(t).issue(t, "server"))
	if err != nil {
		t.Fatal(err)
	}
	cfg := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"}, SessionTicketsDisabled: true}
	return func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe() // a write waits for its reader
		_ = theirs.SetDeadline(time.Now().Add(5 * time.Second))
		go deafen(tls.Server(theirs, cfg), flood)
		return hasty{ours}, nil
	}
}

func deafen(c net.Conn, flood []byte) {
	defer c.Close()
	const headers, settings = 1, 4
	r := bufio.NewReader(c)
	_, _ = r.Discard(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	_, _ = c.Write(frame(settings, 0, 0, nil))
	for asked, acknowledged := false, false; !asked || !acknowledged; {
		var head [9]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		_, _ = r.Discard(int(head[0])<<16 | int(head[1])<<8 | int(head[2]))
		asked = asked || head[3] == headers
		acknowledged = acknowledged || head[3] == settings && head[4] == 1
	}
	_, err := c.Write(frame(headers, 4, 1, []byte("\x88\x00\x0ccontent-type\x10application/json"))) // 200
	for flood = bytes.Repeat(flood, 50); err == nil; {
		_, err = c.Write(flood)
	}
}

// frame returns a frame of HTTP/2.
func frame(kind, flags, stream byte, body []byte) []byte {
	return append([]byte{0, byte(len(body) >> 8), byte(len(body)), kind, flags, 0, 0, 0, stream}, body...)
}

// hasty is a connection whose writes may take a tenth of the time.
type hasty struct{ net.Conn }

func (c hasty) SetWriteDeadline(t time.Time) error {
	if !t.IsZero() {
		t = time.Now().Add(time.Until(t) / 10)
	}
	return c.Conn.SetWriteDeadline(t)
}

// TestServerThatSwitchesProtocols: what follows a 101 is the connection itself, whose reading no
// context ends.
func TestServerThatSwitchesProtocols(t *testing.T) {
	dial := func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			_, _ = bufio.NewReader(theirs).ReadString('\n')
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			_, _ = io.WriteString(theirs, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
		}()
		return ours, nil
	}
	c := newClient(t, client.Config{Server: "http://memory.test", Dial: dial})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, watch := range []bool{false, true} {
		_, err := c.Do(ctx, &client.Request{Path: "/api/v1/pods", Watch: watch})
		if err == nil || !strings.Contains(err.Error(), "the server switched protocols (101), which was not asked for") {
			t.Errorf("watch %t: %v", watch, err)
		}
	}
}
