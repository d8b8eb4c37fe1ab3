package auth_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/e2e/cluster"
)

// tunnel is a proxy that connects to one server, whatever it is asked for.
type tunnel struct {
	server         string
	user, password string // wanted, if set
}

// ServeHTTP knows CONNECT.
func (p *tunnel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	want := ""
	if p.user != "" {
		want = "Basic " + base64.StdEncoding.EncodeToString([]byte(p.user+":"+p.password))
	}
	if r.Header.Get("Proxy-Authorization") != want {
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	p.join(conn, buf)
}

func (p *tunnel) join(conn net.Conn, from io.Reader) {
	defer conn.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(server, from)
		server.Close()
	}()
	_, _ = io.Copy(conn, server)
}

// socks serves SOCKS5.
func (p *tunnel) socks(conn net.Conn) {
	in := bufio.NewReader(conn)
	read := func(n int) []byte {
		b := make([]byte, n)
		_, _ = io.ReadFull(in, b)
		return b
	}
	methods := read(int(read(2)[1]))
	if p.user != "" {
		if !strings.Contains(string(methods), "\x02") {
			_, _ = conn.Write([]byte{5, 0xff})
			conn.Close()
			return
		}
		_, _ = conn.Write([]byte{5, 2})
		user := string(read(int(read(2)[1])))
		if password := string(read(int(read(1)[0]))); user != p.user || password != p.password {
			_, _ = conn.Write([]byte{1, 1})
			conn.Close()
			return
		}
		_, _ = conn.Write([]byte{1, 0})
	} else {
		_, _ = conn.Write([]byte{5, 0})
	}
	switch read(4)[3] {
	case 1:
		read(4)
	case 3:
		read(int(read(1)[0]))
	}
	read(2)
	_, _ = conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	p.join(conn, in)
}

// serveTunnel returns the address of p, which speaks scheme.
func serveTunnel(t *testing.T, scheme string, p *tunnel, ca *cluster.CA) string {
	t.Helper()
	if scheme == "socks5" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go p.socks(conn)
			}
		}()
		return l.Addr().String()
	}
	srv := httptest.NewUnstartedServer(p)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	if scheme == "http" {
		srv.Start()
	} else {
		cert, key, err := ca.Issue(x509.Certificate{Subject: pkix.Name{CommonName: "proxy"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		srv.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
		srv.StartTLS()
	}
	t.Cleanup(srv.Close)
	return srv.Listener.Addr().String()
}
