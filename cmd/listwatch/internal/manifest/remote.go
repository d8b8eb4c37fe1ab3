package manifest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"time"

	"github.com/listwatch/listwatch/internal/printable"
)

// maxDownload is how long a download of manifests takes at most.
const maxDownload = time.Minute

func isURL(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}

// DownloadError is why the response of a URL could not be read.
type DownloadError struct {
	URL string // without what may be secret in it
	Err error
}

func (e *DownloadError) Error() string { return "GET " + e.URL + ": " + e.Err.Error() }

func (e *DownloadError) Unwrap() error { return e.Err }

// download returns the body of a response to a GET of address, and the address without
// what may be secret in it: the user, the query and the fragment.
func download(ctx context.Context, address string, limit int) (body []byte, shown string, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, "", errors.New("the URL cannot be read") // its error quotes the URL
	}
	shown = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	if err := trusted(u); err != nil {
		return nil, "", fmt.Errorf("%s: %w", shown, err)
	}
	ctx, cancel := context.WithTimeout(ctx, maxDownload)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, "", fmt.Errorf("%s: the request cannot be made", shown)
	}
	c := http.Client{Transport: newTransport(), CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) >= 10 {
			return errors.New("there are more than 10 redirects")
		}
		r.Header.Del("Referer") // it has the query of the address, which may be secret
		return trusted(r.URL)
	}}
	defer c.CloseIdleConnections()
	resp, err := c.Do(r)
	if err != nil {
		if whole := (*url.Error)(nil); errors.As(err, &whole) {
			err = whole.Err
		}
		return nil, "", &DownloadError{shown, err}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, "", fmt.Errorf("GET %s: status %d", shown, resp.StatusCode)
	}
	body, err = io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	switch {
	case err != nil:
		return nil, "", &DownloadError{shown, err}
	case len(body) > limit:
		return nil, "", fmt.Errorf("GET %s: the response is larger than %d bytes", shown, limit)
	}
	return body, shown, nil
}

// newTransport returns http.DefaultTransport, but for the time of a write over HTTP/2: while one is
// blocked, as an ACK to a server that reads nothing, no context ends a request of the connection.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.HTTP2 = &http.HTTP2Config{WriteByteTimeout: 10 * time.Second}
	return t
}

// trusted refuses a URL whose response somebody on the way could change.
func trusted(u *url.URL) error {
	if !isURL(u.String()) {
		return fmt.Errorf("it redirects to a URL of %s, which is not followed", printable.Clip(u.Scheme))
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip.IsLoopback()) {
		return nil
	}
	return errors.New("without TLS anybody in between can change it: use https, or download it and give the file")
}

// Kustomize returns the objects of a kustomization, which kustomize or kubectl builds:
// one of them is in $PATH.
func (r *Reader) Kustomize(ctx context.Context, dir string) ([]*Object, error) {
	path, err := exec.LookPath("kustomize")
	args := []string{"build", "--", dir}
	if err != nil {
		path, err = exec.LookPath("kubectl")
		args[0] = "kustomize"
	}
	if err != nil {
		return nil, errors.New("neither kustomize nor kubectl is in $PATH, which build it")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	most := MaxBytes - r.bytes
	out := &limited{limit: most, over: func() { cancel(fmt.Errorf("it printed more than %d bytes", most)) }}
	diagnosis := &limited{limit: 64 << 10, over: func() {}}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, diagnosis, time.Second
	if err := cmd.Run(); ctx.Err() != nil {
		return nil, fmt.Errorf("%s %s %s: %w", path, args[0], dir, context.Cause(ctx))
	} else if err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(diagnosis.buf.String()), "\n")
		return nil, fmt.Errorf("%s %s %s: %w: %s", path, args[0], dir, err, printable.Cut(printable.Line(first), 1000))
	}
	r.bytes += out.buf.Len()
	all, err := r.Parse(dir, out.buf.Bytes())
	if err == nil && all == nil {
		err = fmt.Errorf("%s: %w", dir, ErrNothing)
	}
	return all, err
}

// limited is a buffer of the first bytes that are written. It calls over when more are
// written. It does not embed bytes.Buffer, whose ReadFrom would bypass Write.
type limited struct {
	buf   bytes.Buffer
	limit int
	over  func()
}

func (l *limited) Write(b []byte) (int, error) {
	kept := b[:min(len(b), l.limit-l.buf.Len())]
	if len(kept) < len(b) {
		l.over()
	}
	l.buf.Write(kept)
	return len(b), nil
}
