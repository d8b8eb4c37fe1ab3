package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/client"
)

func TestIdleBeforeHeaders(t *testing.T) {
	for _, tt := range []struct{ timeout, want time.Duration }{
		{0, time.Minute},
		{7 * time.Second, 7 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newMemoryClient(t, client.Config{Timeout: tt.timeout}, silence)
			start := time.Now()
			_, err := c.Do(t.Context(), &client.Request{Path: "/", Idle: time.Hour})
			if !errors.Is(err, client.ErrIdle) || !strings.Contains(err.Error(), tt.want.String()) {
				t.Errorf("Do: %v; want ErrIdle after %v", err, tt.want)
			}
			if got := time.Since(start); got != tt.want {
				t.Errorf("it took %v, want %v", got, tt.want)
			}
		})
	}
}

func TestIdleInMidBody(t *testing.T) {
	for _, tt := range []struct{ idle, want time.Duration }{
		{0, time.Minute},
		{3 * time.Minute, 3 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newMemoryClient(t, client.Config{}, func(w http.ResponseWriter, r *http.Request) {
				for range 3 {
					say(w, "x")
					pass(50 * time.Second) // slow, but there
				}
				say(w, "x")
				silence(w, r)
			})
			resp, err := c.Do(t.Context(), &client.Request{Path: "/", Watch: true, Idle: tt.idle})
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			start := time.Now()
			b, err := io.ReadAll(resp.Body)
			if string(b) != "xxxx" || !errors.Is(err, client.ErrIdle) {
				t.Errorf("read %q, %v; want xxxx and ErrIdle", b, err)
			}
			if got, want := time.Since(start), 150*time.Second+tt.want; got != want {
				t.Errorf("it took %v, want %v", got, want)
			}
		})
	}
}

func TestSlowReaderIsNotASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMemoryClient(t, client.Config{}, func(w http.ResponseWriter, _ *http.Request) {
			for range 3 {
				say(w, "x")
			}
		})
		resp, err := c.Do(t.Context(), &client.Request{Path: "/", Watch: true, Idle: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var got []byte
		for one := make([]byte, 1); ; {
			pass(time.Hour)
			n, err := resp.Body.Read(one)
			got = append(got, one[:n]...)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("after %q: %v", got, err)
			}
		}
		if string(got) != "xxx" {
			t.Errorf("read %q, want xxx", got)
		}
	})
}

// TestCloseFreesEverything leaves bodies in every state: the bubble fails if a
// goroutine of theirs stays.
func TestCloseFreesEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := make(chan struct{}, 10)
		c := newMemoryClient(t, client.Config{}, func(w http.ResponseWriter, r *http.Request) {
			defer func() { left <- struct{}{} }()
			say(w, "x")
			if r.URL.Path == "/endless" {
				silence(w, r)
			}
		})
		open := func(path string) *http.Response {
			resp, err := c.Do(t.Context(), &client.Request{Path: path, Watch: true})
			if err != nil {
				t.Fatal(err)
			}
			return resp
		}

		unread := open("/endless")
		unread.Body.Close()
		<-left

		half := open("/endless")
		if _, err := half.Body.Read(make([]byte, 10)); err != nil {
			t.Error(err)
		}
		half.Body.Close()
		half.Body.Close() // twice does no harm
		if n, err := half.Body.Read(make([]byte, 10)); n != 0 || err == nil {
			t.Errorf("read after close: %d, %v", n, err)
		}
		<-left

		whole := open("/short")
		if _, err := io.ReadAll(whole.Body); err != nil {
			t.Error(err)
		}
		whole.Body.Close()
		<-left

		reading := open("/endless")
		ended := make(chan error)
		go func() {
			_, err := io.ReadAll(reading.Body)
			ended <- err
		}()
		synctest.Wait()
		reading.Body.Close() // under a reader
		if err := <-ended; err == nil {
			t.Error("a read that was closed under ends without an error")
		}
		<-left
	})
}

func TestCancelInterrupts(t *testing.T) {
	enough := errors.New("enough")
	for _, tt := range []struct {
		name string
		qps  float64
		do   func(context.Context, *client.Client) error
	}{
		{"the wait for the headers", 0, func(ctx context.Context, c *client.Client) error {
			_, err := do(ctx, c, &client.Request{Path: "/silent"})
			return err
		}},
		{"the body", 0, func(ctx context.Context, c *client.Client) error {
			got, err := do(ctx, c, &client.Request{Path: "/", Idle: time.Hour})
			if got != "x" {
				t.Errorf("read %q", got)
			}
			return err
		}},
		{"the wait for the rate limit", 0.0001, func(ctx context.Context, c *client.Client) error {
			if _, err := do(context.Background(), c, &client.Request{Path: "/short"}); err != nil {
				t.Error(err)
			}
			_, err := do(ctx, c, &client.Request{Path: "/short"})
			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newMemoryClient(t, client.Config{QPS: tt.qps}, func(w http.ResponseWriter, r *http.Request) {
					switch r.URL.Path {
					case "/":
						say(w, "x")
						silence(w, r)
					case "/silent":
						silence(w, r)
					}
				})
				ctx, cancel := context.WithCancelCause(t.Context())
				stop := time.AfterFunc(10*time.Second, func() { cancel(enough) })
				defer stop.Stop()
				start := time.Now()
				if err := tt.do(ctx, c); !errors.Is(err, enough) {
					t.Errorf("error: %v; want the cause", err)
				}
				if got := time.Since(start); got != 10*time.Second {
					t.Errorf("it took %v", got)
				}
			})
		})
	}
}

func TestDeadlineIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMemoryClient(t, client.Config{}, silence)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := c.Do(ctx, &client.Request{Path: "/"})
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, client.ErrIdle) {
			t.Errorf("Do: %v; want DeadlineExceeded", err)
		}
	})
}

func TestRateLimitSparesWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMemoryClient(t, client.Config{QPS: 2, Burst: 3}, func(http.ResponseWriter, *http.Request) {})
		took := func(n int, watch bool) time.Duration {
			t.Helper()
			start := time.Now()
			for range n {
				if _, err := do(t.Context(), c, &client.Request{Path: "/", Watch: watch}); err != nil {
					t.Fatal(err)
				}
			}
			return time.Since(start)
		}
		if got := took(3, false); got != 0 {
			t.Errorf("a burst of 3 took %v", got)
		}
		if got := took(4, false); got != 2*time.Second {
			t.Errorf("4 requests at 2 a second took %v, want 2s", got)
		}
		if got := took(100, true); got != 0 {
			t.Errorf("100 watches took %v, want no time", got)
		}
	})
}
