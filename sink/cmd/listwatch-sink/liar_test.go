package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
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

// TestCredentialsThatAServerRepeatsAreNotPrinted: nor what a terminal obeys.
func TestCredentialsThatAServerRepeatsAreNotPrinted(t *testing.T) {
	const secret = "planted-secret"
	jwt := strings.Repeat("planted.jwt", 5)
	creds := filepath.Join(t.TempDir(), "creds")
	const seed = "SUAMLK2ZNL35WSMW37E7UD4VZ7ELPKW7DHC3BWBSD2GCZ7IUQQXZIORRBU"
	file := "-----BEGIN NATS USER JWT-----\n" + jwt + "\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n" + seed + "\n------END USER NKEY SEED------\n"
	if err := os.WriteFile(creds, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	said := "bad " + secret + " planted\x1b-secret " + jwt + " " + seed + " \x1b]0;x\a"
	refuse := func(c net.Conn) {
		io.WriteString(c, `INFO {"server_id":"x","version":"2.12.0","proto":1,"nonce":"bm9uY2U"}`+"\r\n")
		c.Read(make([]byte, 4096))
		io.WriteString(c, "-ERR '"+said+"'\r\n")
	}
	postgres := func(c net.Conn) {
		c.Read(make([]byte, 4096))
		text := "SFATAL\x00C28P01\x00M" + said + "\x00\x00"
		c.Write(append(binary.BigEndian.AppendUint32([]byte{'E'}, uint32(len(text)+4)), text...))
		io.Copy(io.Discard, c)
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.Superuser("PLAIN", "u", "another"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	cluster.ControlKey(kmsg.SASLAuthenticate.Int16(), func(r kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		resp := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		resp.ErrorCode, resp.ErrorMessage = kerr.SaslAuthenticationFailed.Code, kmsg.StringPtr(said)
		return resp, nil, true
	})
	for name, to := range map[string]string{
		"password of NATS": "nats://u:" + secret + "@" + liar(t, refuse),
		"token of NATS":    "nats://" + secret + "@" + liar(t, refuse),
		"file of NATS":     "nats://u:" + secret + "@" + liar(t, refuse) + "?creds=" + url.QueryEscape(creds),
		"PostgreSQL":       "postgres://u:" + secret + "@" + liar(t, postgres) + "/db?sslmode=disable",
		"Kafka":            "kafka://u:" + secret + "@" + cluster.ListenAddrs()[0] + "?sasl=plain",
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.args = append(s.args[:2:2], "--to-file", filepath.Join(t.TempDir(), "url"))
			if err := os.WriteFile(s.args[3], []byte(to), 0o600); err != nil {
				t.Fatal(err)
			}
			code, out, errs := s.run("status")
			planted := []string{secret, "\x1b", "\a"}
			if strings.Contains(to, "creds") {
				planted = append(planted, jwt, seed)
			}
			for _, p := range planted {
				if strings.Contains(out+errs, p) {
					t.Errorf("%q is printed", p)
				}
			}
			if code != exitFailed || !strings.Contains(errs, "bad (hidden)") {
				t.Errorf("exit code %d\n%s%s", code, out, errs)
			}
		})
	}
}
