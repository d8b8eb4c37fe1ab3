package ui

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"net/http"

	"github.com/listwatch/listwatch/client"
)

//go:embed static
var static embed.FS

// Options of a UI. Client is required.
type Options struct {
	// Client reads from the cluster that is shown.
	Client *client.Client
}

// UI is the live page of one cluster. It is an http.Handler for the path where it is
// mounted; http.StripPrefix removes a prefix.
type UI struct {
	o   Options
	mux *http.ServeMux
}

// New returns a UI, which reads nothing until Run is called.
func New(o Options) (*UI, error) {
	if o.Client == nil {
		return nil, errors.New("ui: Options.Client is missing")
	}
	files, err := fs.Sub(static, "static")
	if err != nil {
		return nil, err
	}
	u := &UI{o: o, mux: http.NewServeMux()}
	u.mux.Handle("GET /", http.FileServerFS(files))
	return u, nil
}

// Run reads from the cluster until ctx ends, and returns its cause.
func (u *UI) Run(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// ServeHTTP serves the page and its requests.
func (u *UI) ServeHTTP(w http.ResponseWriter, r *http.Request) { u.mux.ServeHTTP(w, r) }
