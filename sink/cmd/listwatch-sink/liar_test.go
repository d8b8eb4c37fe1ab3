package main

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
)

// liar serves connections by what until the test ends.
func liar(t *testing.T, what func(net.Conn)) (address string) {
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
				what(c)
			}()
		}
	}()
	return l.Addr().String()
}

// natsLiar answers the first request with reply, in which SUBJECT is that of the request's reply.
func natsLiar(c net.Conn, reply string) {
	io.WriteString(c, `INFO {"server_id":"x","version":"2.12.0","proto":1,"headers":true,"max_payload":1048576,"jetstream":true}`+"\r\n")
	for lines := bufio.NewScanner(c); lines.Scan(); {
		switch words := strings.Fields(lines.Text()); {
		case len(words) == 0:
		case words[0] == "PING":
			io.WriteString(c, "PONG\r\n")
		case words[0] == "PUB" && len(words) > 3, words[0] == "HPUB" && len(words) > 4:
			io.WriteString(c, strings.ReplaceAll(reply, "SUBJECT", words[2]))
		}
	}
}

// TestNATSServerThatLies: what it announces is not allocated, and the error says why.
func TestNATSServerThatLies(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		serve      func(net.Conn)
	}{
		{"a large message", "a message of 1100000000 bytes: the limit is 67108864", func(c net.Conn) {
			natsLiar(c, "MSG SUBJECT 1 1100000000\r\nx")
		}},
		{"a line without an end", "a line from the server has more than 1048576 bytes", func(c net.Conn) {
			io.WriteString(c, "INFO ")
			for piece := strings.Repeat("x", 64<<10); ; {
				if _, err := io.WriteString(c, piece); err != nil {
					return
				}
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			at := liar(t, tt.serve)
			s.args = append(s.args[:2:2], "--to", "nats://"+at)
			for _, command := range []string{"init", "status"} {
				if code, _, errs := s.run(command); code != exitFailed || !strings.Contains(errs, "listwatch-sink: ") || !strings.Contains(errs, tt.want) || !strings.Contains(errs, at) {
					t.Errorf("%s: exit code %d\n%s", command, code, errs)
				}
			}
		})
	}
}
