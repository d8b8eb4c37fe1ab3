package apitest_test

import (
	"encoding/base64"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
)

// dial connects to a server that accepts and says nothing.
func dial(t *testing.T, srv *apitest.Server) net.Conn {
	t.Helper()
	if err := srv.SetDoor(apitest.Hanging); err != nil {
		t.Fatal(err)
	}
	c, err := srv.Dial(t.Context(), "tcp", "ignored:1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestMemoryConnectionKeepsDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, apitest.NewInMemory(t))
		start := time.Now()
		c.SetReadDeadline(start.Add(time.Minute))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("read: %v after %v", err, time.Since(start))
		}
		c.SetDeadline(start.Add(2 * time.Minute))
		n, err := c.Write(make([]byte, 1<<20)) // more than the other side takes
		if !errors.Is(err, os.ErrDeadlineExceeded) || n != 64<<10 || time.Since(start) != 2*time.Minute {
			t.Errorf("write: %d bytes, %v after %v", n, err, time.Since(start))
		}
		c.SetDeadline(time.Time{})
		go func() {
			time.Sleep(time.Minute)
			c.Close()
		}()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("read after Close: %v", err)
		}
	})
}

func TestMemoryConnectionDistinguishesResetFromEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewInMemory(t)
		c := dial(t, srv)
		srv.Cut()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read after a reset: %v", err)
		}
		if _, err := c.Write([]byte("x")); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("write after a reset: %v", err)
		}
		if err := srv.SetDoor(apitest.Open); err != nil {
			t.Fatal(err)
		}
		c, err := srv.Dial(t.Context(), "tcp", "")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		b, err := io.ReadAll(c)
		if err != nil || !strings.HasSuffix(string(b), "\r\n\r\nok") {
			t.Errorf("%v: %q", err, b)
		}
	})
}

func TestKubeconfigCarriesWhatIsNeeded(t *testing.T) {
	srv := apitest.NewWith(t, apitest.Options{InMemory: true, Token: "secret", ClientCerts: true})
	text := string(srv.Kubeconfig())
	cert, key := srv.ClientCertPEM()
	for _, want := range []string{
		"server: " + srv.URL + "\n", "token: secret\n",
		"certificate-authority-data: " + base64.StdEncoding.EncodeToString(srv.CAPEM()) + "\n",
		"client-certificate-data: " + base64.StdEncoding.EncodeToString(cert) + "\n",
		"client-key-data: " + base64.StdEncoding.EncodeToString(key) + "\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
}
