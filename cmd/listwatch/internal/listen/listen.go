package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"

	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/guard"
	"github.com/listwatch/listwatch/internal/printable"
)

// Address checks an address to listen at, and reports whether others than
// this machine can reach it.
func Address(flag, s string) (address string, open bool, err error) {
	host, port, err := net.SplitHostPort(s)
	if _, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil {
		return "", false, exit.Usage("%s %q: want an address and a port, such as 127.0.0.1:8080", flag, printable.Clip(s))
	}
	if host == "" {
		return "", false, exit.Usage("%s %q would serve everybody who reaches this machine: give 127.0.0.1:%s, or 0.0.0.0:%s if that is what you want", flag, printable.Clip(s), port, port)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return "", false, exit.Usage("%s %q: want an IP address and a port, such as 127.0.0.1:8080", flag, printable.Clip(s))
	}
	return net.JoinHostPort(host, port), !ip.IsLoopback(), nil
}

// Error is how the program ends that does not get the address of a flag.
func Error(flag, address string, err error) error {
	var op *net.OpError
	if !errors.As(err, &op) {
		return exit.Failed(err) // it is about something else
	}
	return exit.Failed(fmt.Errorf("%s %s: %w; give another port, or 0 for a free one", flag, address, op))
}

// Serve serves h on l behind the guard, for hosts besides those of the loopback, to at most
// so many connections at once; 0 = guard.Connections. Requests end with ctx. Stop ends the
// server and its requests, and returns why it had ended before, if it had.
func Serve(ctx context.Context, l net.Listener, h http.Handler, hosts []string, connections int) (stop func() error) {
	srv := guard.Server(ctx, guard.Handler(h, guard.Options{Bound: l.Addr().String(), Hosts: hosts}))
	served := make(chan error, 1)
	go func() { served <- srv.Serve(guard.Listen(l, connections)) }()
	return func() error {
		srv.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
}
