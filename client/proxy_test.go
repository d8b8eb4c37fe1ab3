package client_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

func proxyAt(t testing.TB, raw string) func(*http.Request) (*url.URL, error) {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return http.ProxyURL(u)
}

// TestProxiesCarryListAndWatch: the server is where only the proxy finds it.
func TestProxiesCarryListAndWatch(t *testing.T) {
	for _, tt := range []struct {
		scheme, user, password string
		plain                  bool // the server speaks http
	}{
		{"http", "", "", false},
		{"http", "u", "p:@/% ", false},
		{"http", "u", "hunter2", true},
		{"https", "", "", false},
		{"https", "u", "hunter2", false},
		{"https", "", "", true},
		{"socks5", "", "", false},
		{"socks5", "u", "hunter2", false},
		{"socks5", "", "", true},
		{"socks5h", "", "", false},
		{"socks5h", "u", "hunter2", false},
	} {
		for _, http1 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s user %q plain %t http1 %t", tt.scheme, tt.user, tt.plain, http1), func(t *testing.T) {
				srv := apitest.NewWith(t, apitest.Options{TLS: !tt.plain, Hosts: []string{"*"}})
				srv.Put(kube.Pods, `{"metadata":{"namespace":"a","name":"web"}}`)
				ca := newAuthority(t)
				p := &proxy{server: strings.SplitAfter(srv.URL, "//")[1], user: tt.user, password: tt.password}
				serveProxy(t, tt.scheme, p, ca)
				at := url.URL{Scheme: tt.scheme, Host: p.addr}
				if tt.user != "" {
					at.User = url.UserPassword(tt.user, tt.password)
				}
				cfg := client.Config{Server: "http://" + faraway, Proxy: proxyAt(t, at.String()), DisableHTTP2: http1}
				if !tt.plain {
					cert, key := srv.ClientCertPEM()
					cfg.Server = "https://" + faraway
					cfg.TLS = client.TLS{CAData: slices.Concat(srv.CAPEM(), ca.pem), ServerName: "localhost", CertData: cert, KeyData: key}
				} else {
					cfg.TLS.CAData = ca.pem
				}
				listAndWatch(t, srv, newClient(t, cfg), map[bool]int{true: 1, false: 2}[http1 || tt.plain])

				asked, n := p.carried()
				for _, target := range asked {
					if target != faraway {
						t.Errorf("the proxy was asked for %s", target)
					}
				}
				if len(asked) < 2 || n < 500 {
					t.Errorf("the proxy was asked %d times and carried %d bytes", len(asked), n)
				}
			})
		}
	}
}

// listAndWatch lists pods, watches them, and creates one in mid-watch.
func listAndWatch(t *testing.T, srv *apitest.Server, c *client.Client, protocol int) {
	t.Helper()
	list, err := do(t.Context(), c, &client.Request{Path: "/api/v1/pods"})
	if err != nil || !strings.Contains(list, `"web"`) {
		t.Fatalf("list: %.100s, %v", list, err)
	}
	resp, err := c.Do(t.Context(), &client.Request{Path: "/api/v1/pods", Query: url.Values{"watch": {"1"}}, Watch: true})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.ProtoMajor != protocol {
		t.Errorf("the server speaks %s through it, want HTTP/%d", resp.Proto, protocol)
	}
	events := bufio.NewReader(resp.Body)
	for _, name := range []string{"web", "db"} {
		if name == "db" {
			srv.Put(kube.Pods, `{"metadata":{"namespace":"a","name":"db"}}`)
		}
		event, err := events.ReadString('\n')
		if err != nil || !strings.Contains(event, `"name":"`+name+`"`) {
			t.Fatalf("event: %.300s, %v; want that of %s", event, err, name)
		}
	}
}

// TestDialOpensTheConnectionToTheProxy: what Dial is for, a proxy does not take
// away; it is not asked for the server's address.
func TestDialOpensTheConnectionToTheProxy(t *testing.T) {
	srv := apitest.NewWith(t, apitest.Options{Hosts: []string{"*"}})
	srv.Put(kube.Pods, `{"metadata":{"namespace":"a","name":"web"}}`)
	for _, scheme := range []string{"http", "socks5"} {
		p := &proxy{server: strings.TrimPrefix(srv.URL, "http://")}
		serveProxy(t, scheme, p, nil)
		dialed := make(chan string, 10)
		c := newClient(t, client.Config{
			Server: "http://" + faraway, Proxy: proxyAt(t, scheme+"://proxy.test:3128"),
			Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				dialed <- address
				return new(net.Dialer).DialContext(ctx, network, p.addr)
			},
		})
		if _, err := do(t.Context(), c, &client.Request{Path: "/api/v1/pods"}); err != nil {
			t.Error(err)
		}
		if got := <-dialed; got != "proxy.test:3128" {
			t.Errorf("%s: it dialed %s", scheme, got)
		}
	}
}

// TestProxyOfTheEnvironment runs the test binary again for each environment, which
// net/http reads once.
func TestProxyOfTheEnvironment(t *testing.T) {
	const role, secret = "CLIENT_TEST_SERVERS", "hunter2"
	if servers := os.Getenv(role); servers != "" {
		for _, server := range strings.Fields(servers) {
			fmt.Println("goes to", firstDialed(t, server))
		}
		return
	}
	const p = "proxy.test:3128"
	for name, tt := range map[string]struct {
		env  []string
		want map[string]string // what is dialed, by server
	}{
		"HTTPS_PROXY": {[]string{"HTTPS_PROXY=http://" + p}, map[string]string{
			"https://10.1.2.3:6443": p, "https://api.example.test": p, "http://10.1.2.3:8080": "10.1.2.3:8080",
			"https://127.0.0.1:6443": "127.0.0.1:6443", "https://localhost:6443": "localhost:6443", "https://[::1]:6443": "[::1]:6443",
		}},
		"in lower case":     {[]string{"https_proxy=" + p}, map[string]string{"https://10.1.2.3:6443": p}},
		"HTTP_PROXY":        {[]string{"HTTP_PROXY=http://" + p}, map[string]string{"http://10.1.2.3:8080": p, "https://10.1.2.3:6443": "10.1.2.3:6443"}},
		"https, no port":    {[]string{"HTTPS_PROXY=https://proxy.test"}, map[string]string{"https://10.1.2.3:6443": "proxy.test:443"}},
		"socks5, no port":   {[]string{"HTTPS_PROXY=socks5://proxy.test"}, map[string]string{"https://10.1.2.3:6443": "proxy.test:1080"}},
		"NO_PROXY as CIDR":  {[]string{"HTTPS_PROXY=" + p, "NO_PROXY=10.0.0.0/8, fd00::/8"}, map[string]string{"https://10.1.2.3:6443": "10.1.2.3:6443", "https://11.1.2.3:6443": p, "https://[fd00::1]:6443": "[fd00::1]:6443", "https://[fe00::1]:6443": p}},
		"NO_PROXY suffixes": {[]string{"HTTPS_PROXY=" + p, "NO_PROXY=.corp.test,example.test"}, map[string]string{"https://a.corp.test": "a.corp.test:443", "https://corp.test": p, "https://example.test": "example.test:443", "https://api.example.test": "api.example.test:443", "https://myexample.test": p}},
		"NO_PROXY ports":    {[]string{"HTTPS_PROXY=" + p, "no_proxy=10.1.2.3:6443,api.test:443"}, map[string]string{"https://10.1.2.3:6443": "10.1.2.3:6443", "https://10.1.2.3": p, "https://api.test": "api.test:443", "https://api.test:6443": p}},
		"NO_PROXY=*":        {[]string{"HTTPS_PROXY=" + p, "NO_PROXY=*"}, map[string]string{"https://10.1.2.3:6443": "10.1.2.3:6443", "https://api.test": "api.test:443"}},
		"no URL":            {[]string{"HTTPS_PROXY=http://u:" + secret + "%zz@h"}, map[string]string{"https://10.1.2.3:6443": "10.1.2.3:6443"}},
		"not ASCII":         {[]string{"HTTPS_PROXY=https://u:" + secret + "@pröxy.test"}, map[string]string{"https://10.1.2.3:6443": "GET https://10.1.2.3:6443/version: through the proxy https://pr%C3%B6xy.test: its name is not ASCII: write it as xn--"}},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxyOfTheEnvironment$")
			var servers, want []string
			for server, dialed := range tt.want {
				servers, want = append(servers, server), append(want, dialed)
			}
			for _, e := range os.Environ() {
				if !strings.Contains(strings.ToUpper(e), "_PROXY=") {
					cmd.Env = append(cmd.Env, e)
				}
			}
			cmd.Env = append(append(cmd.Env, tt.env...), role+"="+strings.Join(servers, " "), "GORACE=atexit_sleep_ms=0")
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Contains(string(out), secret) {
				t.Fatalf("%v:\n%s", err, out)
			}
			var got []string
			for line := range strings.Lines(string(out)) {
				if dialed, ok := strings.CutPrefix(line, "goes to "); ok {
					got = append(got, strings.TrimSpace(dialed))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("servers %v (-want +got):\n%s", servers, diff)
			}
		})
	}
}

// firstDialed returns the address that a request to server dials, or why none.
func firstDialed(t *testing.T, server string) string {
	stop := errors.New("stop")
	dialed := make(chan string, 1)
	c := newClient(t, client.Config{Server: server, Dial: func(_ context.Context, _, address string) (net.Conn, error) {
		dialed <- address
		return nil, stop
	}})
	_, err := do(t.Context(), c, &client.Request{Path: "/version"})
	if !errors.Is(err, stop) {
		return fmt.Sprint(err)
	}
	return <-dialed
}

func TestProxyErrorsNameTheProxyAndNoPassword(t *testing.T) {
	const secret, server = "hunter2", "https://" + faraway
	ca := newAuthority(t)
	// answer says each part of text, between |, when something is said to it.
	answer := func(text string) func(*testing.T) string {
		return func(t *testing.T) string {
			return listen(t, func(conn net.Conn) {
				for _, part := range strings.Split(text, "|") {
					if _, err := conn.Read(make([]byte, 4096)); err != nil {
						return
					}
					_, _ = io.WriteString(conn, part)
				}
			})
		}
	}
	real := func(scheme string, p *proxy) func(*testing.T) string {
		return func(t *testing.T) string {
			serveProxy(t, scheme, p, newAuthority(t))
			return p.addr
		}
	}
	hello := newServer(t, func(w http.ResponseWriter, _ *http.Request) { say(w, "hello") })
	for name, tt := range map[string]struct {
		scheme, server string
		start          func(*testing.T) string
		want           string // ADDR is its address; ... at the end = and more
	}{
		"407":                 {"http", server, answer("HTTP/1.1 407 \r\n\r\n"), "the proxy refuses to connect to 10.1.2.3:6443 (407 proxy authentication required): the user or password in its URL is wrong"},
		"407 for http":        {"http", "http://" + faraway, answer("HTTP/1.1 407 \r\n\r\n"), "the proxy refuses to connect to 10.1.2.3:6443 (407 proxy authentication required): the user or password in its URL is wrong"},
		"403":                 {"http", server, answer("HTTP/1.1 403 No " + secret + "\r\nContent-Type: text/html\r\n\r\n<h1>No</h1>"), "the proxy refuses to connect to 10.1.2.3:6443 (403 forbidden): have it allow that, or name the server in NO_PROXY"},
		"503":                 {"http", server, answer("HTTP/1.1 503 \r\n\r\n"), "the proxy refuses to connect to 10.1.2.3:6443 (503 service unavailable): it cannot reach the server, or not now"},
		"418":                 {"http", server, answer("HTTP/1.1 418 \r\n\r\n"), "the proxy refuses to connect to 10.1.2.3:6443 (418 i'm a teapot): ask its operator"},
		"HTML for CONNECT":    {"http", server, answer("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n|<h1>Log in</h1>"), "it does not send the TLS of a server: the proxy responds itself, or the server uses http"},
		"HTML without a head": {"http", server, answer("<h1>" + secret + "</h1>\n"), "it does not respond in HTTP: check the scheme and the port of its URL"},
		"cuts upon CONNECT":   {"http", server, answer(""), "the connection ended: unexpected EOF"},
		"cuts after CONNECT":  {"http", server, answer("HTTP/1.1 200 OK\r\n\r\n|"), "the connection ended: EOF"},
		"another certificate": {"https", server, real("https", &proxy{}), "cannot reach it: TLS with it: tls: failed to verify certificate: x509: certificate signed by unknown authority..."},
		"no TLS":              {"https", server, real("http", &proxy{}), "cannot reach it: TLS with it: tls: first record does not look like a TLS handshake"},
		"SOCKS, no SOCKS":     {"socks5", server, answer("HTTP/1.1 400 \r\n\r\n"), "socks connect tcp ADDR->10.1.2.3:6443: unexpected protocol version 72"},
		"SOCKS, wrong user":   {"socks5", server, real("socks5", &proxy{user: "u", password: "other"}), "socks connect tcp ADDR->10.1.2.3:6443: username/password authentication failed"},
		"server without TLS":  {"http", server, real("http", &proxy{server: strings.TrimPrefix(hello, "http://"), user: "u", password: secret}), "it does not send the TLS of a server: the proxy responds itself, or the server uses http"},
		"server that is down": {"http", server, real("http", &proxy{server: closedPort(t), user: "u", password: secret}), "the connection ended: EOF"},
		"is not there":        {"http", server, closedPort, "cannot reach it: dial tcp ADDR: connect: connection refused"},
		"https, is not there": {"https", server, closedPort, "cannot reach it: dial tcp ADDR: connect: connection refused"},
		"SOCKS, is not there": {"socks5", server, closedPort, "cannot reach it: dial tcp ADDR: connect: connection refused"},
		"http, is not there":  {"http", "http://" + faraway, closedPort, "cannot reach it: dial tcp ADDR: connect: connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			addr := tt.start(t)
			c := newClient(t, client.Config{Server: tt.server, Proxy: proxyAt(t, tt.scheme+"://u:"+secret+"@"+addr), TLS: client.TLS{CAData: ca.pem}})
			_, err := do(t.Context(), c, &client.Request{Path: "/version"})
			want := "GET " + tt.server + "/version: through the proxy " + tt.scheme + "://" + addr + ": " + strings.ReplaceAll(tt.want, "ADDR", addr)
			if start, more := strings.CutSuffix(want, "..."); more && err != nil && strings.HasPrefix(err.Error(), start) {
				want = err.Error()
			}
			if err == nil || err.Error() != want {
				t.Errorf("error %v\nwant  %s", err, want)
			}
			var pe *client.ProxyError
			if !errors.As(err, &pe) || pe.Proxy != tt.scheme+"://"+addr {
				t.Errorf("ProxyError: %v", pe)
			}
			for _, text := range []string{fmt.Sprintf("%+v %#v", err, err), fmt.Sprintf("%#v", pe)} {
				if strings.Contains(text, secret) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte("u:"+secret))) {
					t.Errorf("it shows the password: %s", text)
				}
			}
		})
	}
}

// closedPort returns an address where nothing listens, and that no other test can take.
func closedPort(t *testing.T) string {
	t.Helper()
	srv := apitest.New(t)
	if err := srv.SetDoor(apitest.Refusing); err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(srv.URL, "http://")
}

// TestProxyThatStallsIsNoticed in every state that a connection through one has.
func TestProxyThatStallsIsNoticed(t *testing.T) {
	const silent = "the server was silent for too long: nothing for 30s"
	for _, tt := range []struct {
		name, scheme, server string
		answer               string
		after                time.Duration
		want                 string
	}{
		{"upon CONNECT", "http", "https", "", 30 * time.Second, silent},
		{"after CONNECT", "http", "https", "HTTP/1.1 200 OK\r\n\r\n", 10 * time.Second, "net/http: TLS handshake timeout"},
		{"in its own TLS", "https", "https", "", 10 * time.Second, "cannot reach it: TLS with it: it does not answer for 10s"},
		{"SOCKS", "socks5", "https", "", 30 * time.Second, silent},
		{"forwarding", "http", "http", "", 30 * time.Second, silent},
		{"forwarding, in mid-body", "http", "http", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", 30 * time.Second, silent},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClient(t, client.Config{
					Server: tt.server + "://" + faraway, Proxy: proxyAt(t, tt.scheme+"://u:hunter2@proxy.test:3128"), Timeout: 30 * time.Second,
					Dial: func(context.Context, string, string) (net.Conn, error) {
						ours, theirs := net.Pipe()
						go func() {
							defer theirs.Close()
							buf := make([]byte, 4096)
							if _, err := theirs.Read(buf); err != nil {
								return
							}
							_, _ = io.WriteString(theirs, tt.answer)
							_, _ = io.Copy(io.Discard, theirs) // until the client leaves
						}()
						return ours, nil
					},
				})
				start := time.Now()
				_, err := do(t.Context(), c, &client.Request{Path: "/version"})
				want := "through the proxy " + tt.scheme + "://proxy.test:3128: " + tt.want
				if err == nil || !strings.HasSuffix(err.Error(), want) {
					t.Errorf("error %v, want %s", err, want)
				}
				if errors.Is(err, client.ErrIdle) != (tt.want == silent) {
					t.Errorf("ErrIdle is not what %v is", err)
				}
				if took := time.Since(start); took != tt.after {
					t.Errorf("it took %v, want %v", took, tt.after)
				}
			})
		})
	}
}

func TestProxyThatCutsInMidWatchIsNamed(t *testing.T) {
	for _, http1 := range []bool{false, true} {
		srv := apitest.NewWith(t, apitest.Options{TLS: true, Hosts: []string{"*"}})
		cut := make(chan struct{})
		addr := listen(t, func(conn net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
			go func() {
				<-cut
				conn.Close()
			}()
			p := &proxy{server: strings.TrimPrefix(srv.URL, "https://")}
			p.join(conn, conn)
		})
		c := newClient(t, client.Config{
			Server: "https://" + faraway, Proxy: proxyAt(t, "http://u:hunter2@"+addr), DisableHTTP2: http1,
			TLS: client.TLS{CAData: srv.CAPEM(), ServerName: "localhost"},
		})
		resp, err := c.Do(t.Context(), &client.Request{Path: "/api/v1/pods", Query: url.Values{"watch": {"1"}}, Watch: true})
		if err != nil {
			t.Fatal(err)
		}
		close(cut)
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
		// A proxy that has not read everything yet resets the connection.
		cutOff := errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
		if want := "through the proxy http://" + addr + ": "; !cutOff || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("HTTP/1.1 %t: %v, want %s and the end", http1, err, want)
		}
	}
}

// TestCancelThroughAProxyIsNotItsFault: the cause comes out as it is.
func TestCancelThroughAProxyIsNotItsFault(t *testing.T) {
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	addr := listen(t, func(conn net.Conn) {
		_, _ = bufio.NewReader(conn).ReadString('\n')
		cancel(enough)
		_, _ = io.Copy(io.Discard, conn)
	})
	c := newClient(t, client.Config{Server: "https://" + faraway, Proxy: proxyAt(t, "http://"+addr)})
	_, err := do(ctx, c, &client.Request{Path: "/version"})
	var pe *client.ProxyError
	if !errors.Is(err, enough) || errors.As(err, &pe) {
		t.Errorf("error %v", err)
	}
}
