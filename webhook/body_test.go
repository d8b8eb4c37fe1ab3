package webhook

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestOneAddressDoesNotHoldUpOthers: the large bodies of one address do not come to their ends.
// Small bodies do not wait for them, nor do large ones of another address.
func TestOneAddressDoesNotHoldUpOthers(t *testing.T) {
	for name, length := range map[string]int64{"with a length": 256 << 10, "without a length": -1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := New(nil, Options{Name: "hooks", Service: secretKey, CertFile: "x", KeyFile: "y"})
				if err != nil {
					t.Fatal(err)
				}
				const room, clients = 4 << 20, 20
				s.budget = newBudget(room).shared(2 * (clients + 1) * firstPiece)
				h := &hook{name: "validate", limit: 256 << 10, handle: func(context.Context, []byte) (any, outcome, error) { return nil, outcome{}, nil }}
				send := func(from string, body io.Reader, length int64) int {
					r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/validate?timeout=10s", body)
					r.ContentLength, r.RemoteAddr = length, from
					r.Header.Set("Content-Type", "application/json")
					w := httptest.NewRecorder()
					s.answer(h, w, r)
					return w.Code
				}
				ended := make(chan struct{})
				var all sync.WaitGroup
				for range clients {
					all.Go(func() { send("10.0.0.1:1", stalled{bytes.NewReader(make([]byte, 200<<10)), ended}, length) })
				}
				synctest.Wait()
				if held := room - s.budget.left; held > room/2 {
					t.Errorf("one address has %d bytes of %d", held, room)
				}
				began := time.Now()
				for _, from := range []string{"10.0.0.2:1", "10.0.0.1:2", "[::ffff:10.0.0.1]:3"} {
					for _, length := range []int64{int64(len(widgetReview)), -1} {
						if code := send(from, strings.NewReader(widgetReview), length); code != http.StatusOK || time.Since(began) > 0 {
							t.Errorf("a small body of %s: %d after %v", from, code, time.Since(began))
						}
					}
				}
				for _, length := range []int64{256 << 10, -1} {
					if code := send("10.0.0.2:1", bytes.NewReader(make([]byte, 256<<10)), length); code != http.StatusOK || time.Since(began) > 0 {
						t.Errorf("a large body of another address: %d after %v", code, time.Since(began))
					}
				}
				close(ended)
				all.Wait()
				if s.budget.left != room {
					t.Errorf("%d left", s.budget.left)
				}
			})
		})
	}
}

// TestTwoBodiesExceedTheBudget: one of each address, of two addresses at a time. What they have
// more is not taken from small bodies.
func TestTwoBodiesExceedTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(120).shared(20)
		var of []*share
		for i := range byte(3) {
			of = append(of, &share{of: b, at: netip.AddrFrom4([4]byte{10, 0, 0, i})})
		}
		now, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if !of[0].take(now, 50) || !of[1].take(now, 40) || !of[2].take(now, 10) {
			t.Fatal("refused")
		}
		if !of[0].take(now, 200) || !of[1].take(now, 300) || b.left != 20 {
			t.Errorf("no request goes on: %d left", b.left)
		}
		for i, s := range of {
			small := share{of: b, at: s.at, small: true}
			if !small.take(now, 10) {
				t.Errorf("a small body waits for large ones of address %d", i)
			}
			small.release()
		}
		if of[2].take(now, 1) {
			t.Error("the requests of three addresses exceed the budget")
		}
		time.AfterFunc(time.Second, of[0].release)
		if !of[2].take(t.Context(), 60) {
			t.Error("no other request goes on")
		}
		of[1].release()
		of[2].release()
		if b.left != 120 || len(b.of) > 0 || len(b.over) > 0 {
			t.Errorf("%d left, %v, %v", b.left, b.of, b.over)
		}
	})
}
