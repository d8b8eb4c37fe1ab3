package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// uiProcess is "listwatch ui" as a process, behind a proxy that counts bytes.
type uiProcess struct {
	cmd   *exec.Cmd
	proxy net.Listener
	url   string // of the proxy
	token string
	total atomic.Int64
	wg    sync.WaitGroup
}

func startUI(ctx context.Context, program, server string) (*uiProcess, error) {
	u := &uiProcess{cmd: exec.CommandContext(ctx, program, "ui", "pods", "--server", server, "-q")}
	stderr, err := u.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := u.cmd.Start(); err != nil {
		return nil, err
	}
	var said []string
	lines := bufio.NewScanner(stderr)
	for u.token == "" && lines.Scan() {
		said = append(said, lines.Text())
		if _, link, ok := strings.Cut(lines.Text(), "http://"); ok {
			u.url, u.token, _ = strings.Cut(link, "/#token=")
		}
	}
	if u.token == "" {
		err := u.cmd.Wait()
		return nil, fmt.Errorf("listwatch ui printed no link (%v):\n%s", err, strings.Join(said, "\n"))
	}
	u.wg.Go(func() { _, _ = io.Copy(os.Stderr, stderr) })
	if u.proxy, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		u.close()
		return nil, err
	}
	address := u.url
	u.wg.Go(func() { u.serve(address) })
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
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", u.cmd.Process.Pid))
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
	_ = u.cmd.Process.Signal(os.Interrupt)
	u.wg.Wait()
	_ = u.cmd.Wait()
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
