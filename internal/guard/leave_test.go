package guard_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/internal/guard"
)

// TestClientThatLeavesEndsItsRequest: also where it sent more than its request needs, so
// that net/http does not read on.
func TestClientThatLeavesEndsItsRequest(t *testing.T) {
	const get = "GET / HTTP/1.1\r\nHost: localhost\r\n"
	for name, sent := range map[string][]string{
		"a request":                {get + "\r\n"},
		"a byte more":              {get + "\r\n", "G"},
		"some bytes more":          {get + "\r\n", "G", "E", "T"},
		"another request":          {get + "\r\n", get + "\r\n"},
		"a body that nobody reads": {get + "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan time.Time, 2)
				p := serve(t, 0, func(w http.ResponseWriter, r *http.Request) {
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
					ended <- time.Now()
				})
				c := p.dial(t)
				go io.Copy(io.Discard, c)
				go func() {
					for _, piece := range sent {
						_, _ = io.WriteString(c, piece)
						time.Sleep(10 * time.Second)
					}
				}()
				time.Sleep(time.Minute)
				select {
				case <-ended:
					t.Fatal("it ended before the client left")
				default:
				}
				left := time.Now()
				c.Close()
				select {
				case at := <-ended:
					if took := at.Sub(left); took > 2*time.Second {
						t.Errorf("it ended %v after the client left", took)
					}
				case <-time.After(time.Hour):
					t.Error("an hour later it goes on")
				}
			})
		})
	}
}

// TestWhatIsReadAheadIsNotLost: a request that comes while another is answered is
// answered next, and a body that comes in pieces, late, arrives as it was sent.
func TestWhatIsReadAheadIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := serve(t, 0, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(10 * time.Second)
			b := make([]byte, 4)
			_, err := io.ReadFull(r.Body, b)
			time.Sleep(10 * time.Second)
			rest, e := io.ReadAll(r.Body)
			if err != nil || e != nil || string(b)+string(rest) != "0123456789" {
				t.Errorf("%s: %q and %q, %v, %v", r.URL.Path, b, rest, err, e)
			}
			_, _ = io.WriteString(w, r.URL.Path)
		})
		c := p.dial(t)
		const post = " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n"
		go func() {
			for _, piece := range []string{"POST /first" + post + "\r\n01", "2345", "67", "89POST /second" + post, "Connection: close\r\n\r\n012", "3456789"} {
				_, _ = io.WriteString(c, piece)
				time.Sleep(3 * time.Second)
			}
		}()
		b, err := io.ReadAll(c)
		if got := string(b); err != nil || !strings.HasSuffix(got, "/second") || !strings.Contains(got, "/first") {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// TestPromptEndsAnswersThatNobodyTakes: after a minute, and no others: an answer that is
// slow itself goes on.
func TestPromptEndsAnswersThatNobodyTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := make(chan time.Duration, 9)
		p := serve(t, 0, guard.Prompt(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for range 3 {
				time.Sleep(10 * time.Minute)
				began := time.Now()
				_, _ = io.WriteString(w, strings.Repeat("x", 64<<10))
				_ = http.NewResponseController(w).Flush()
				took <- time.Since(began)
			}
			time.Sleep(10 * time.Minute)
		})).ServeHTTP)
		const get = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
		reader := p.dial(t)
		for range 2 { // also over a connection that was idle for longer
			go io.WriteString(reader, get)
			resp, err := http.ReadResponse(bufio.NewReader(reader), nil)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(resp.Body); len(b) != 3*64<<10 || err != nil {
				t.Errorf("%d bytes, %v", len(b), err)
			}
			time.Sleep(90 * time.Second)
		}
		for range 6 {
			<-took
		}
		go io.WriteString(p.dial(t), get)
		time.Sleep(2 * time.Hour)
		if diff := cmp.Diff([]time.Duration{time.Minute, 0, 0}, []time.Duration{<-took, <-took, <-took}); diff != "" {
			t.Errorf("how long each write takes (-want +got):\n%s", diff)
		}
	})
}

// TestRefusalAfterAnIdleMinute: what ended the answer before must not end a refusal,
// neither of the guard nor of net/http.
func TestRefusalAfterAnIdleMinute(t *testing.T) {
	for sent, code := range map[string]int{
		"GET / HTTP/1.1\r\nHost: rebound.example\r\n\r\n": http.StatusForbidden,
		"GET / HTTP/1.1\r\n\r\n":                          http.StatusBadRequest,
	} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := serve(t, 0, guard.Prompt(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.WriteString(w, "ok")
				})).ServeHTTP)
				c := p.dial(t)
				got := bufio.NewReader(c)
				for _, request := range []struct {
					sent string
					code int
				}{{"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", http.StatusOK}, {sent, code}} {
					go io.WriteString(c, request.sent)
					resp, err := http.ReadResponse(got, nil)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != request.code {
						t.Errorf("%s, %v, want %d", resp.Status, err, request.code)
					}
					time.Sleep(90 * time.Second)
				}
			})
		})
	}
}
