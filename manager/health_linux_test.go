package manager_test

import (
	"context"
	"net"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/listwatch/listwatch/manager"
)

// TestManagerEndsWhenItsListenerFails: nobody could probe it any more. The kernel ends the
// listener here, as a test of the process cannot.
func TestManagerEndsWhenItsListenerFails(t *testing.T) {
	w := &world{}
	m := manager.New(manager.Options{Listen: "127.0.0.1:0"})
	m.Add(&part{w: w, name: "cache"})
	m.AddLed(&part{w: w, name: "cut", f: func(ctx context.Context) error {
		shutDown(t, m.Address())
		<-ctx.Done()
		return nil
	}})
	err := m.Run(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "manager: listen: accept tcp "+m.Address()) {
		t.Errorf("Run: %v", err)
	}
}

// shutDown ends the listening socket with the address, of this process.
func shutDown(t *testing.T, address string) {
	t.Helper()
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		t.Error(err)
		return
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Error(err)
		return
	}
	for fd := range 1 << 10 {
		listens, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_ACCEPTCONN)
		if err != nil || listens == 0 {
			continue
		}
		name, err := syscall.Getsockname(fd)
		if at, ok := name.(*syscall.SockaddrInet4); err == nil && ok && at.Port == port {
			if err := syscall.Shutdown(fd, syscall.SHUT_RD); err != nil {
				t.Error(err)
			}
			return
		}
	}
	t.Errorf("no socket listens at %s", address)
}
