package main

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/listwatch/listwatch/internal/guard"
)

// serve serves h on l behind the guard, for hosts besides those of the loopback. Requests
// end with ctx. Stop ends the server and its requests, and returns why it had ended
// before, if it had.
func serve(ctx context.Context, l net.Listener, h http.Handler, hosts []string) (stop func() error) {
	srv := guard.Server(ctx, guard.Handler(h, guard.Options{Bound: l.Addr().String(), Hosts: hosts}))
	served := make(chan error, 1)
	go func() { served <- srv.Serve(guard.Listen(l, 0)) }()
	return func() error {
		srv.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
}
