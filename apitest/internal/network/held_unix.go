//go:build unix

package network

import (
	"net"
	"os"
	"syscall"
	"time"
)

// held is a port that is bound but does not listen: the system refuses its connections,
// and no other process can take it.
type held struct {
	file *os.File
}

func hold(addr *net.TCPAddr) (*held, error) {
	family, to := syscall.AF_INET, syscall.Sockaddr(&syscall.SockaddrInet4{Port: addr.Port})
	if ip := addr.IP.To4(); ip != nil {
		to.(*syscall.SockaddrInet4).Addr = [4]byte(ip)
	} else {
		v6 := &syscall.SockaddrInet6{Port: addr.Port}
		copy(v6.Addr[:], addr.IP)
		family, to = syscall.AF_INET6, v6
	}
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	h := &held{os.NewFile(uintptr(fd), addr.String())}
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		h.Close()
		return nil, os.NewSyscallError("setsockopt", err)
	}
	// A process that was forked has the listener open too, until it executes its program.
	for try := 0; ; try++ {
		err := syscall.Bind(fd, to)
		if err == nil {
			return h, nil
		}
		if err != syscall.EADDRINUSE || try == 1000 {
			h.Close()
			return nil, os.NewSyscallError("bind", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Listen begins to listen on the held port. It ends h.
func (h *held) Listen() (net.Listener, error) {
	defer h.Close()
	if err := syscall.Listen(int(h.file.Fd()), syscall.SOMAXCONN); err != nil {
		return nil, os.NewSyscallError("listen", err)
	}
	return net.FileListener(h.file)
}

func (h *held) Close() error { return h.file.Close() }
