//go:build unix

package network

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"sync"
	"syscall"
	"testing"
)

// TestAPortThatRefusesIsKept: while the listener refuses, the system gives its port to no
// other listener, and it listens on it again.
func TestAPortThatRefusesIsKept(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:0", ":0"} {
		d, err := Listen(false, address)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		port := d.addr.(*net.TCPAddr).Port
		to := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}).String()
		old, err := net.Dial("tcp", to) // stays, and does not keep the port from being bound
		if err != nil {
			t.Fatal(err)
		}
		defer old.Close()
		for range 3 {
			if err := d.Set(Refusing); err != nil {
				t.Fatal(err)
			}
			if c, err := net.Dial("tcp", to); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Fatalf("a connection while it refuses: %v, %v", c, err)
			}
			if d.held == nil {
				t.Fatal("the port is not held")
			}
			if err := d.Set(Open); err != nil {
				t.Fatal(err)
			}
			c, err := net.Dial("tcp", to)
			if err != nil {
				t.Fatal(err)
			}
			c.Close()
		}
	}
}

// TestAPortIsHeldWhileProgramsAreStarted: a process that was forked has the listener open
// until it executes its program.
func TestAPortIsHeldWhileProgramsAreStarted(t *testing.T) {
	t.Parallel()
	d, err := Listen(false, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var starters sync.WaitGroup
	for range 4 {
		starters.Go(func() {
			for ctx.Err() == nil {
				if err := exec.Command("true").Run(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 300 {
		for _, state := range []State{Refusing, Open} {
			if err := d.Set(state); err != nil {
				t.Errorf("change %d: %v", i, err)
			}
		}
	}
	cancel()
	starters.Wait()
}
