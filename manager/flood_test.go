package manager_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/manager"
)

// TestSecureUnderAFlood: a client that invents tokens without end, while reviews are slow,
// keeps no other client out.
func TestSecureUnderAFlood(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.SetToken("good")
		c, err := client.New(client.Config{Server: w.URL, Dial: w.Dial, Token: "good", PlainHTTP: true})
		if err != nil {
			t.Fatal(err)
		}
		h, end := (&manager.Secure{Client: c}).Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), newJournal().Logger)
		defer end()
		w.On(apitest.Match{Resource: "tokenreviews"}, func(rw http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			select {
			case <-time.After(2 * time.Second):
			case <-r.Context().Done():
				return
			}
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(http.StatusCreated)
			fmt.Fprintf(rw, `{"status":{"authenticated":%t,"user":{"username":"jane"}}}`, strings.Contains(string(b), `"good"`))
		})
		get := func(ctx context.Context, address, token string) int {
			r := httptest.NewRequestWithContext(ctx, "GET", "/metrics", nil)
			r.RemoteAddr = address
			r.Header.Set("Authorization", "Bearer "+token)
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, r)
			return rec.Code
		}
		ctx, stop := context.WithCancel(t.Context())
		var flood sync.WaitGroup
		for n := range 60 {
			flood.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					if code := get(ctx, fmt.Sprint("10.0.0.1:", n), fmt.Sprint("invented-", n, "-", i)); code == 200 {
						t.Error("an invented token passes")
					}
					select {
					case <-time.After(time.Second):
					case <-ctx.Done():
					}
				}
			})
		}
		for range 3 { // as a scraper does, whose permission has ended each time
			<-time.After(61 * time.Second)
			if code := get(t.Context(), "10.0.0.2:1", "good"); code != 200 {
				t.Errorf("a good token: %d", code)
			}
		}
		stop()
		flood.Wait()
		if code := get(t.Context(), "10.0.0.1:1", "good"); code != 200 {
			t.Errorf("after the flood, from the same address: %d", code)
		}
		synctest.Wait()
		c.CloseIdleConnections()
	})
}

// TestAnswersThatNobodyReadsEnd: a client that reads nothing of a response holds it for a
// minute.
func TestAnswersThatNobodyReadsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		m := manager.New(manager.Options{Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			var err error
			for err == nil {
				_, err = w.Write(make([]byte, 4<<10))
			}
			ended <- err
		})})
		ours, theirs := net.Pipe()
		l := &one{conns: make(chan net.Conn, 1), closed: make(chan struct{})}
		l.conns <- theirs
		server := m.Server()
		go server.Serve(l)
		began := time.Now()
		if _, err := io.WriteString(ours, "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			if took := time.Since(began); took != time.Minute || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("it ended after %v: %v", took, err)
			}
		case <-time.After(time.Hour):
			t.Error("it is held for an hour")
		}
		ours.Close()
		server.Close()
		synctest.Wait()
	})
}

// one is a listener of connections that are given to it.
type one struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *one) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *one) Close() error {
	close(l.closed)
	return nil
}

func (l *one) Addr() net.Addr { return &net.TCPAddr{} }
