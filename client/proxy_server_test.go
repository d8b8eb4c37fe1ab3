package client_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
)

// faraway is where the server is said to be: it can be reached by proxies only.
const faraway = "10.1.2.3:6443"

// proxy is a proxy to one server, wherever it is asked to connect to.
type proxy struct {
	addr   string // its own
	server string // host:port

	user, password string // wanted, if set

	mu    sync.Mutex
	asked []string // what it connected to
	bytes int64    // carried to the client
}

// carried returns what it connected to, and how much came back.
func (p *proxy) carried() ([]string, int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked, p.bytes
}

func (p *proxy) note(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, target)
}

// Write counts.
func (p *proxy) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes += int64(len(b))
	return len(b), nil
}

// join carries bytes both ways until either side ends.
func (p *proxy) join(conn net.Conn, from io.Reader) {
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		_, _ = from.Read(make([]byte, 4096)) // what comes and is not read would make a reset of the end
		conn.Close()
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(server, from)
		server.Close()
	})
	_, _ = io.Copy(io.MultiWriter(p, conn), server)
	conn.Close()
	both.Wait()
}

// ServeHTTP is an HTTP proxy: CONNECT, and forwarding for servers without TLS.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.user != "" {
		r.Header.Set("Authorization", r.Header.Get("Proxy-Authorization"))
		if u, pw, ok := r.BasicAuth(); !ok || u != p.user || pw != p.password {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
	}
	p.note(r.Host)
	if r.Method == http.MethodConnect {
		conn, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		p.join(conn, buf)
		return
	}
	out := r.Clone(r.Context())
	out.RequestURI, out.URL.Host = "", p.server
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(out)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.WriteHeader(resp.StatusCode)
	b := make([]byte, 4096)
	for {
		n, err := resp.Body.Read(b)
		_, _ = p.Write(b[:n])
		say(w, string(b[:n]))
		if err != nil {
			return
		}
	}
}

// socks serves SOCKS5 (RFC 1928, RFC 1929) on conn.
func (p *proxy) socks(conn net.Conn) {
	in := bufio.NewReader(conn)
	read := func(n int) []byte {
		b := make([]byte, n)
		_, _ = io.ReadFull(in, b) // what is missing is zero, hence refused
		return b
	}
	methods := read(int(read(2)[1]))
	want := byte(0)
	if p.user != "" {
		want = 2
	}
	for i := 0; ; i++ {
		if i == len(methods) {
			_, _ = conn.Write([]byte{5, 0xff})
			return
		}
		if methods[i] == want {
			break
		}
	}
	_, _ = conn.Write([]byte{5, want})
	if want == 2 {
		u := string(read(int(read(2)[1])))
		if pw := string(read(int(read(1)[0]))); u != p.user || pw != p.password {
			_, _ = conn.Write([]byte{1, 1})
			return
		}
		_, _ = conn.Write([]byte{1, 0})
	}
	var host string
	switch head := read(4); head[3] {
	case 1:
		host = net.IP(read(4)).String()
	case 3:
		host = string(read(int(read(1)[0])))
	default:
		return
	}
	p.note(net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(read(2))))))
	_, _ = conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	p.join(conn, in)
}

// listen calls serve for each connection to the address it returns, until the end
// of the test.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			running.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return l.Addr().String()
}

// serveProxy starts p: as an HTTP proxy, one behind TLS with a certificate of ca,
// or a SOCKS5 one.
func serveProxy(t *testing.T, scheme string, p *proxy, ca *authority) {
	t.Helper()
	switch scheme {
	case "http", "https":
		srv := httptest.NewUnstartedServer(p)
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		if scheme == "http" {
			srv.Start()
		} else {
			pair, err := tls.X509KeyPair(ca.issue(t, "proxy"))
			if err != nil {
				t.Fatal(err)
			}
			// Whoever offers HTTP/2 gets it, and then CONNECT is another.
			srv.EnableHTTP2 = true
			srv.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert, VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
				if len(raw) > 0 {
					t.Error("the proxy is shown the certificate that is for the server")
				}
				return nil
			}}
			srv.StartTLS()
		}
		t.Cleanup(srv.Close)
		p.addr = srv.Listener.Addr().String()
	default:
		p.addr = listen(t, p.socks)
	}
}
