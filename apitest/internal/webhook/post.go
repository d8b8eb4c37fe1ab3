package webhook

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/listwatch/listwatch/apitest/internal/intake"
	"github.com/listwatch/listwatch/apitest/internal/wire"
	"github.com/listwatch/listwatch/kube"
)

// headerLimit limits the headers of a webhook's response in bytes.
const headerLimit = 64 << 10

// url returns the URL of h, which must be https.
func (h *Webhook) url() (*url.URL, error) {
	u, err := url.Parse(h.ClientConfig.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("its clientConfig has no url of the form https://host[/path]")
	}
	u.RawQuery = url.Values{"timeout": {h.timeout().String()}}.Encode()
	return u, nil
}

// post sends body to h and returns its response. It uses its own connection and leaves
// no goroutine, whatever the webhook does: Close waits for it. large is called before a response
// of more than intake.Light bytes is read.
func (h *Webhook) post(ctx context.Context, body []byte, large func() *kube.Status) ([]byte, error) {
	u, err := h.url()
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: u.Hostname()}
	if len(h.ClientConfig.CABundle) > 0 {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(h.ClientConfig.CABundle)
	}
	dialer := &tls.Dialer{Config: config}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443")))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		conn.Close()
		close(closed)
	})
	defer func() {
		if !stop() {
			<-closed
		}
	}()
	b, err := exchange(ctx, conn, u, body, large)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return b, err
}

// exchange sends one request over conn and reads its response.
func exchange(ctx context.Context, conn net.Conn, u *url.URL, body []byte, large func() *kube.Status) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Close = true
	if err := r.Write(conn); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(io.LimitReader(conn, wire.BodyLimit+headerLimit)), r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answered %d", resp.StatusCode)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, intake.Light))
	if err != nil || len(b) < intake.Light {
		return b, err
	}
	if st := large(); st != nil {
		return nil, st
	}
	rest, err := io.ReadAll(io.LimitReader(resp.Body, wire.BodyLimit-intake.Light))
	return append(b, rest...), err
}
