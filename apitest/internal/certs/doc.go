// Package certs issues the certificates of one fake server: an authority of its own, a
// certificate of the server and one of a client, which can be replaced while it runs, and
// two that no client should accept.
//
// [Set.ServerConfig] serves what is valid when a connection comes, and what the state of
// the listener asks for.
package certs
