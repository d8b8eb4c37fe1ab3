package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// readerLook is how often to look whether anybody reads stdout still.
const readerLook = time.Second

// unread waits until nobody reads the pipe w any more, as after head(1), and reports
// whether that is so: a write would show it, but nothing may be written for days. It is
// false once ctx is done, and where w is no pipe. A pipe with a name is left alone: its
// next reader may be about to come.
func unread(ctx context.Context, w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	var pipe, closed bool
	if err := conn.Control(func(fd uintptr) {
		to, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		pipe = err == nil && strings.HasPrefix(to, "pipe:")
	}); err != nil || !pipe {
		return false
	}
	look := time.NewTicker(readerLook)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-look.C:
			if err := conn.Control(func(fd uintptr) {
				fds := []unix.PollFd{{Fd: int32(fd)}}
				n, err := unix.Poll(fds, 0)
				closed = n == 1 && err == nil && fds[0].Revents&unix.POLLERR != 0
			}); err != nil || closed {
				return closed
			}
		}
	}
}
