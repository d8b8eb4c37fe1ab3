package auth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/manifest"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/kube"
)

// Explain returns err on one line, with what to do about it.
func Explain(p *cli.Program, err error) string {
	text := printable.Line(err.Error())
	if do := Advice(err, configOf(p)); do != "" {
		text += "; " + do
	}
	return text
}

// configOf returns the configuration that was loaded last, or the zero value.
func configOf(p *cli.Program) client.Config {
	if p.Cfg == nil {
		return client.Config{}
	}
	return p.Cfg.Client
}

// Advice returns what a user with cfg can do about err; empty if there is no advice.
func Advice(err error, cfg client.Config) string {
	var content *client.ContentError
	if errors.As(err, &content) {
		return "" // its text has the advice
	}
	var download *manifest.DownloadError
	if errors.As(err, &download) {
		return "check the URL, the network and HTTPS_PROXY, or download it by other means and give the file"
	}
	for _, part := range []func(error, client.Config) string{adviceOnProxies, adviceOnTLS, adviceOnUs, adviceOnNetworks, adviceOnAnswers} {
		if do := part(err, cfg); do != "" {
			return do
		}
	}
	return ""
}

// adviceOnProxies is about proxies that cannot be reached. Their own responses are in the
// error, with what to do.
func adviceOnProxies(err error, _ client.Config) string {
	var proxy *client.ProxyError
	if errors.As(err, &proxy) && strings.HasPrefix(proxy.Err.Error(), "cannot reach it") {
		return "check proxy-url in the kubeconfig, or HTTPS_PROXY and NO_PROXY"
	}
	return ""
}

// proxyOf returns the proxy that is used, without its credentials; empty = none.
func proxyOf(cfg client.Config) string {
	choose := cfg.Proxy
	if choose == nil {
		choose = http.ProxyFromEnvironment
	}
	target, err := url.Parse(cfg.Server)
	if err != nil {
		return ""
	}
	u, err := choose(&http.Request{URL: target})
	if err != nil || u == nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// adviceOnTLS is about certificates.
func adviceOnTLS(err error, cfg client.Config) string {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var op *net.OpError
	switch {
	case errors.As(err, &authority):
		return "give the cluster's CA by --certificate-authority or in the kubeconfig (--insecure-skip-tls-verify would trust anybody)"
	case errors.As(err, &host):
		return "give the name that the certificate carries by --tls-server-name, or another --server"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the server's certificate must be renewed, unless the clock of this machine is wrong"
	case errors.As(err, &invalid):
		return "the server's certificate must be issued again, for this use"
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "the server speaks plain HTTP: give --server http://..."
	case errors.As(err, &op) && op.Op == "remote error":
		if cert, ok := certificateOf(cfg.TLS); ok {
			c, _ := describeCertificate(cert, cfg.TLS.CertFile)
			return "the server does not take the " + c.String() + ": check --user or --client-certificate"
		}
		return "the server ended the TLS handshake: it may want a client certificate; give --client-certificate and --client-key"
	case LostConnection(err):
		// Over HTTP/2 the reason may be lost with the connection.
		if cert, ok := certificateOf(cfg.TLS); ok {
			c, _ := describeCertificate(cert, cfg.TLS.CertFile)
			return "the server may not take the " + c.String() + ": check --user or --client-certificate"
		}
	}
	return ""
}

// LostConnection reports whether the connection ended before there was a response.
func LostConnection(err error) bool {
	return strings.Contains(err.Error(), "http2: client conn could not be established") ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF)
}

// adviceOnUs is about credentials and permissions.
func adviceOnUs(err error, cfg client.Config) string {
	var discovering *discovery.FetchError
	switch {
	case cfg.Credentials != nil && strings.Contains(err.Error(), "credential plugin ") && puzzling(err.Error()):
		return "run the command by hand, and see what it prints"
	case errors.Is(err, kube.ErrUnauthorized):
		return notKnown(cfg)
	case errors.Is(err, kube.ErrForbidden) && impersonationRefused(err):
		return `this user may not act as another (verb "impersonate"): leave out --as, or ask for a role`
	case errors.Is(err, kube.ErrForbidden) && userIn(err) == anonymousUser:
		return notKnown(cfg)
	case errors.Is(err, kube.ErrForbidden) && errors.As(err, &discovering):
		return `this user may not even ask what types there are, which by default all may who are logged in: ask to be bound to ClusterRole "system:discovery", or give another --user, --context or --as`
	case errors.Is(err, kube.ErrForbidden):
		return `this user lacks the permission for it: ask for a role, or give -n, --context or --as; "listwatch auth check" says what is missing`
	}
	return ""
}

// puzzling reports whether an error about a credential plugin lacks advice of its own.
func puzzling(text string) bool {
	if strings.Contains(text, " it printed expired ") {
		return false
	}
	for _, part := range []string{" it printed", "because it took more than", "it was ended by", "it cannot be started"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// notKnown returns what may be wrong with the credentials.
func notKnown(cfg client.Config) string {
	shown := describe(cfg)
	const check = "check --token, --user, --context or the kubeconfig"
	switch {
	case len(shown.Shown) == 0 && cfg.Server == "":
		return "the credentials are missing, wrong or expired: " + check
	case len(shown.Shown) == 0:
		return "no credentials were shown: " + check
	case len(shown.Warnings) > 0:
		return shown.Warnings[0] + ": log in again, or " + check
	}
	var kinds []string
	for _, s := range shown.Shown {
		if s.Kind == kindCommand {
			kinds = append(kinds, "credential of the "+s.String())
			continue
		}
		kinds = append(kinds, s.String())
	}
	return "the server does not take the " + strings.Join(kinds, " and the ") + ", which may be wrong, expired or of another cluster: " + check
}

// adviceOnNetworks is about what is between the program and the server.
func adviceOnNetworks(err error, _ client.Config) string {
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there: is the cluster up, and are --server, --context and the kubeconfig right?"
	case errors.As(err, &dns):
		return "check --server or the kubeconfig, and the network"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, client.ErrIdle), errors.Is(err, os.ErrDeadlineExceeded):
		return "the server did not answer in time: check --server and the network, or give a longer --request-timeout"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no way there: check --server, the network and a VPN that may be off"
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return "the connection was closed: check --server (https or http?) and proxies in between"
	}
	return ""
}

// adviceOnAnswers is about faults of the server.
func adviceOnAnswers(err error, _ client.Config) string {
	var st *kube.Status
	var syntax *codec.SyntaxError
	var decode *codec.DecodeError
	var other *codec.NotListError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the answer was cut off: try again; if it is so each time, look at the proxies in between"
	case errors.Is(err, kube.ErrThrottled):
		return "the server has too much to do: try again later, or ask for less, as by --qps"
	case errors.As(err, &st) && st.Code >= 500:
		return "the server, or a proxy before it, has a fault of its own: try again, or look into its log"
	case errors.As(err, &syntax), errors.As(err, &decode), errors.As(err, &other):
		return "no API server answers so: check --server and the proxies in between"
	}
	return ""
}

// Brief returns why a connection broke, without the addresses of both ends.
func Brief(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNRESET):
		return "connection reset by the server"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "cut in mid-answer"
	case errors.Is(err, client.ErrIdle):
		return "silent for too long"
	}
	return printable.Line(err.Error())
}

// Cause is Brief without what differs between requests that fail for one reason: the URL,
// and the message of a Status.
func Cause(err error) string {
	var st *kube.Status
	if errors.As(err, &st) {
		return fmt.Sprintf("%d %s", st.Code, printable.Line(st.Reason))
	}
	text := Brief(err)
	if request, reason, ok := strings.Cut(text, ": "); ok && strings.Contains(request, "://") {
		return reason
	}
	return text
}
