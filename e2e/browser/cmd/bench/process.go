package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/listwatch/listwatch/e2e/browser/internal/launch"
)

// uiProcess is "listwatch ui" as a process, behind a proxy that counts bytes.
type uiProcess struct {
	page  *launch.Page
	proxy net.Listener
	url   string // of the proxy
	token string
	total atomic.Int64
	wg    sync.WaitGroup
}

func startUI(ctx context.Context, program, server string) (*uiProcess, error) {
	page, err := launch.Serve(ctx, program, "ui", "pods", "--server", server, "-q")
	if err != nil {
		return nil, err
	}
	u := &uiProcess{page: page, token: page.Token}
	if u.proxy, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		u.close()
		return nil, err
	}
	u.wg.Go(func() { u.serve(strings.TrimPrefix(page.URL, "http://")) })
	u.url = "http://" + u.proxy.Addr().String()
	return u, nil
}

// serve forwards connections to address.
func (u *uiProcess) serve(address string) {
	for {
		in, err := u.proxy.Accept()
		if err != nil {
			return // it was closed
		}
		out, err := net.Dial("tcp", address)
		if err != nil {
			in.Close()
			continue
		}
		go func() {
			defer out.Close()
			_, _ = io.Copy(out, in) // either side may end it
		}()
		go func() {
			defer in.Close()
			_, _ = io.Copy(counted{in, &u.total}, out)
		}()
	}
}

// sent is how many bytes the process sent to the browser.
func (u *uiProcess) sent() int64 { return u.total.Load() }

// memory returns the resident set and its peak, in MB.
func (u *uiProcess) memory() (now, peak float64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", u.page.PID))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kib, _ := strconv.ParseFloat(f[1], 64)
		switch f[0] {
		case "VmRSS:":
			now = kib * 1024 / 1e6
		case "VmHWM:":
			peak = kib * 1024 / 1e6
		}
	}
	return now, peak, nil
}

func (u *uiProcess) close() {
	if u.proxy != nil {
		u.proxy.Close()
	}
	u.page.Close()
	u.wg.Wait()
}

// counted counts what is written.
type counted struct {
	io.Writer
	n *atomic.Int64
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.n.Add(int64(n))
	return n, err
}
