package lease_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/lease"
)

// idle is a leader's work that is over at once.
func idle(context.Context, lease.Token) error { return nil }

// TestElectorRefusesNoFunction before it sends a request.
func TestElectorRefusesNoFunction(t *testing.T) {
	c, err := client.New(client.Config{Server: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := lease.New(c, orders, lease.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = "lease shop/orders: the function that leads is nil"
	for range 2 { // and it does not count as running
		if err := e.Run(t.Context(), nil); err == nil || err.Error() != want {
			t.Errorf("Run returned %v, want %s", err, want)
		}
	}
}

// TestTransitionsCountFromOne: the first leadership of a Lease is 1, the next one 2.
func TestTransitionsCountFromOne(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		var got []int
		for _, name := range []string{"a", "b"} {
			r := s.replica(name, lease.Options{})
			r.start()
			s.until(name)
			got = append(got, s.last().token.Transitions)
			r.stop()
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		if diff := cmp.Diff([]int{1, 2}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
