package lease_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/lease"
)

// TestRingReleaseThatIsLate: a request that gives slots up may reach the table when its
// member works on them again. That request must fail.
func TestRingReleaseThatIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		c.join("a", 4*time.Second, false)
		pass(20 * time.Second)
		held := make(chan struct{})
		c.srv.On(apitest.Match{Verb: "update", Resource: "leases", Name: orders.Name, UserAgent: "a"}, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			close(held)
			pass(14 * time.Second)
			r.Body = io.NopCloser(bytes.NewReader(body))
			apitest.Continue(w, r)
		}).Times(1)
		b := c.join("b", 0, false)
		<-held // a has given up half of its slots, and does not know whether the server has noticed
		b.cancel()
		<-b.done
		pass(13*time.Second + 100*time.Millisecond)
		if slots, _ := c.counts(); slots["a"] != 256 {
			t.Errorf("%v, want all with a again", slots)
		}
		c.join("c", 0, false)
		pass(20 * time.Second)
		c.balanced(2)
		if slots, _ := c.counts(); slots["a"] != 128 {
			t.Errorf("%v, want half with a", slots)
		}
	})
}

// TestRingMemberThatCannotList: who may renew its Lease and cannot read the table gets no
// slots kept free.
func TestRingMemberThatCannotList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		c.join("a", 0, true)
		pass(20 * time.Second)
		c.join("b", 0, true)
		pass(20 * time.Second)
		c.balanced(2)
		refusal := c.srv.On(apitest.Match{Verb: "list", UserAgent: "b"}, faults.HTML(http.StatusForbidden))
		pass(time.Minute)
		if slots, _ := c.counts(); slots["a"] != 256 {
			t.Errorf("%v, want all with a", slots)
		}
		refusal.Remove()
		pass(20 * time.Second)
		c.balanced(2)
	})
}

// TestRingTableSeenAgain: a table that was missing, existed, and is missing again may have
// been deleted just now.
func TestRingTableSeenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		b := c.join("b", 4*time.Second, false)
		pass(14 * time.Second)
		a := c.join("a", 0, false)
		pass(time.Second)
		a.link.set(severed) // it has seen no table
		c.srv.On(apitest.Match{Verb: "delete"}, faults.HTML(http.StatusForbidden))
		pass(22 * time.Second)
		if slots, _ := c.counts(); slots["b"] != 256 {
			t.Fatalf("%v, want all with b", slots)
		}
		b.link.set(severed)
		c.srv.Delete(kube.Leases, orders)
		pass(4 * time.Second)
		a.link.set(fair)
		pass(8 * time.Second) // no two work on one slot, says circle
	})
}

// TestRingTakeMissing: a member that has seen the table waits where it is missing, also
// with TakeMissing, because its owner may have been cut off.
func TestRingTakeMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		a := c.join("a", 4*time.Second, true)
		pass(5 * time.Second)
		c.join("b", 0, true)
		pass(20 * time.Second)
		c.balanced(2)
		a.link.set(severed)
		c.srv.Delete(kube.Leases, orders)
		pass(20 * time.Second)
		if slots, _ := c.counts(); slots["b"] != 256 {
			t.Errorf("%v, want all with b", slots)
		}
	})
}

// TestRingDurationsDiffer: a member may have a longer Duration than the others. It counts
// also after the Lease that says so was deleted.
func TestRingDurationsDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		a := c.joinWith("a", 0, lease.Options{TakeMissing: true, Duration: time.Minute})
		pass(5 * time.Second)
		c.join("b", 0, true)
		pass(30 * time.Second)
		c.balanced(2)
		a.link.set(severed)
		a.deleteLease()
		pass(30 * time.Second) // a works for 40 s
		c.balanced(2)
		pass(40 * time.Second)
		if slots, _ := c.counts(); slots["b"] != 256 {
			t.Errorf("%v, want all with b", slots)
		}
	})
}

// deleteLease deletes the Leases of the member, as a person may.
func (f *fellow) deleteLease() {
	f.t.Helper()
	leases, _ := f.srv.List(kube.Leases)
	for _, b := range leases {
		if l, err := codec.ParseRaw(b); err != nil {
			f.t.Error(err)
		} else if l.GetName() != orders.Name && strings.Contains(l.JSON(), fmt.Sprintf(`"holderIdentity":%q`, f.name)) {
			f.srv.Delete(kube.Leases, kube.KeyOf(l))
		}
	}
}

// ring returns one of the server, and the lines that it logs.
func (c *circle) ring(o lease.Options) (*lease.Ring, *journal) {
	c.t.Helper()
	cl, err := client.New(client.Config{Server: c.srv.URL, Dial: c.srv.Dial})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(cl.CloseIdleConnections)
	j := newJournal()
	o.Logger = j.Logger
	r, err := lease.NewRing(cl, orders, o)
	if err != nil {
		c.t.Fatal(err)
	}
	return r, j
}

// TestRingOfAForeignLease: a Lease of the ring's name that is not its table is an error
// that is reported, and not waited for in silence.
func TestRingOfAForeignLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		c.srv.Put(kube.Leases, `{"metadata":{"namespace":"shop","name":"orders"},"spec":`+released+`}`)
		r, j := c.ring(lease.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx, func(context.Context, lease.Share) error { return nil }) }()
		pass(time.Minute)
		const want = "the Lease shop/orders exists and is not the table of a ring: delete it, or give the ring another key"
		if err := r.Ready(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ready: %v", err)
		}
		if lines := j.lines(); len(lines) != 1 || !strings.Contains(lines[0], "level=WARN") || !strings.Contains(lines[0], want) {
			t.Errorf("log %q", lines)
		}
		c.srv.Delete(kube.Leases, orders)
		pass(time.Minute)
		if err := r.Ready(); err != nil {
			t.Errorf("ready: %v", err)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestRingOfAMalformedTable: while the table cannot be read, also one that was good before, no
// member can claim slots, and Ready says so.
func TestRingOfAMalformedTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		r, j := c.ring(lease.Options{TakeMissing: true})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx, func(context.Context, lease.Share) error { return nil }) }()
		pass(30 * time.Second)
		if err := r.Ready(); err != nil {
			t.Errorf("ready: %v", err)
		}
		c.srv.Put(kube.Leases, `{"metadata":{"namespace":"shop","name":"orders","labels":{"listwatch.dev/ring":"orders"},"annotations":{"listwatch.dev/slots":"0-255"}},"spec":`+released+`}`)
		pass(time.Minute)
		const want = `the Lease shop/orders is not the table of a ring: the slots of the ring are not written as FIRST-LAST MEMBER: "0-255"`
		if err := r.Ready(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ready: %v", err)
		}
		c.srv.Delete(kube.Leases, orders)
		pass(time.Minute)
		if err := r.Ready(); err != nil {
			t.Errorf("ready: %v, log %q", err, j.lines())
		}
		cancel()
		<-done
	})
}

// TestRingIsRefused: requests that the server refuses are logged once, and Ready fails.
func TestRingIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		allow := c.srv.Deny("", apitest.Match{Resource: "leases"})
		r, j := c.ring(lease.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx, func(context.Context, lease.Share) error { return nil }) }()
		pass(time.Minute)
		if err := r.Ready(); !errors.Is(err, kube.ErrForbidden) {
			t.Errorf("ready: %v", err)
		}
		if lines := j.lines(); len(lines) != 1 || !strings.Contains(lines[0], `level=WARN msg="requests for the lease are refused; trying again" lease=shop/orders leading=false err=`) {
			t.Errorf("log %q", lines)
		}
		allow()
		pass(time.Minute)
		if err := r.Ready(); err != nil {
			t.Errorf("ready: %v", err)
		}
		cancel()
		<-done
	})
}

// TestRingLeaves: a member that owns nothing leaves at once.
func TestRingLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		for _, after := range []time.Duration{0, 5 * time.Second, 30 * time.Second} {
			m := c.join(fmt.Sprint("leaves after ", after), 0, false)
			pass(after)
			began := time.Now()
			m.cancel()
			<-m.done
			if took := time.Since(began); took > 0 {
				t.Errorf("after %s it takes %s to leave", after, took)
			}
			if left, _ := c.srv.List(kube.Leases); len(left) > 1 || len(left) == 1 && after < 20*time.Second {
				t.Errorf("after %s it leaves %d Leases", after, len(left))
			}
		}
	})
}

// TestRingOfMany: members that begin at one time do not hinder each other, and that
// another was faster is no failure.
func TestRingOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		const n = 40
		for i := range n {
			m := &fellow{circle: c, name: fmt.Sprint(i)}
			r, _ := c.ring(lease.Options{TakeMissing: true, Trace: lease.Trace{Failed: func(err error) { t.Error(err) }}})
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() { defer close(done); _ = r.Run(ctx, m.apply) }()
			t.Cleanup(func() {
				began := time.Now()
				cancel()
				<-done
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("it takes %s to leave", took)
				}
			})
		}
		pass(20 * time.Second)
		slots, _ := c.counts()
		for name, has := range slots {
			if name == "" || has < 256/n || has > 256/n+1 {
				t.Errorf("%q has %d slots", name, has)
			}
		}
	})
}

// TestRingName: the name of a ring is the value of a label.
func TestRingName(t *testing.T) {
	cl, err := client.New(client.Config{Server: "http://apitest.invalid"})
	if err != nil {
		t.Fatal(err)
	}
	for n, ok := range map[int]bool{63: true, 64: false} {
		if _, err := lease.NewRing(cl, kube.Key{Namespace: "shop", Name: strings.Repeat("a", n)}, lease.Options{}); (err == nil) != ok {
			t.Errorf("a name of %d characters: %v", n, err)
		}
	}
}

// TestRingTableOfAMemberWithALongerDuration: who creates a table that was deleted waits as
// long as any member that it knows may still work by it.
func TestRingTableOfAMemberWithALongerDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCircle(t)
		a := c.joinWith("a", 0, lease.Options{TakeMissing: true, Duration: time.Minute})
		pass(5 * time.Second)
		c.join("b", 0, true)
		pass(30 * time.Second)
		c.balanced(2)
		a.link.set(severed)
		c.srv.Delete(kube.Leases, orders)
		pass(50 * time.Second) // a works for 40 s
		if slots, _ := c.counts(); slots["b"] != 0 {
			t.Errorf("%v, want none with b", slots)
		}
		pass(20 * time.Second)
		if slots, _ := c.counts(); slots["b"] != 256 {
			t.Errorf("%v, want all with b", slots)
		}
	})
}
