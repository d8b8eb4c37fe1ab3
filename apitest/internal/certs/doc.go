// Package certs issues the certificates of one fake server: an authority, a certificate
// of the server and one of a client, which can be replaced while it runs, and two that
// no client should accept.
//
// [Set.ServerConfig] serves the certificates that are current when a connection begins,
// as the state of the listener says.
package certs
