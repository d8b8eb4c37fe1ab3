package main

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// explain returns err on one line, with what to do about it.
func explain(err error) string {
	text := oneLine(err.Error())
	if do := advice(err); do != "" {
		text += "; " + do
	}
	return text
}

// advice returns what a person can do about err, or nothing.
func advice(err error) string {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var dns *net.DNSError
	var content *client.ContentError
	switch {
	case errors.As(err, &content):
		return "" // says it itself
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there: is the cluster up, and are --server, --context and the kubeconfig right?"
	case errors.As(err, &authority):
		return "give the cluster's CA by --certificate-authority or in the kubeconfig (--insecure-skip-tls-verify would trust anybody)"
	case errors.As(err, &host):
		return "give the name that the certificate carries by --tls-server-name, or another --server"
	case errors.As(err, &invalid):
		return "check the clock of this machine and the server's certificate"
	case errors.As(err, &dns):
		return "check --server or the kubeconfig, and the network"
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "the server speaks plain HTTP: give --server http://..."
	case errors.Is(err, kube.ErrUnauthorized):
		return "the credentials are missing, wrong or expired: check --token, --user, --context or the kubeconfig"
	case errors.Is(err, kube.ErrForbidden):
		return `this user lacks the permission (verbs "list" and "watch"): ask for a role, or give -n, --context or --as`
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, client.ErrIdle), errors.Is(err, os.ErrDeadlineExceeded):
		return "the server did not answer in time: check --server and the network, or give a longer --request-timeout"
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return "the connection was closed: check --server (https or http?) and proxies in between"
	}
	return ""
}

// brief says why a connection broke, without the addresses of both ends.
func brief(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNRESET):
		return "connection reset by the server"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "cut in mid-answer"
	case errors.Is(err, client.ErrIdle):
		return "silent for too long"
	}
	return oneLine(err.Error())
}
