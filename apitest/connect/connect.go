// Package connect connects clients of this module to a fake server, for tests of
// operators and of programs that watch.
//
// Package apitest does not depend on package client: any client can use its server.
// [Config] returns the configuration for the client of this module.
package connect

import (
	"strings"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
)

// Config returns a client configuration for srv: its address, CA, current token and
// client certificate, and its connections in memory. The caller may change it.
func Config(srv *apitest.Server) client.Config {
	c := client.Config{Server: srv.URL, Dial: srv.Dial, Token: srv.Token(), TLS: client.TLS{CAData: srv.CAPEM()}}
	c.TLS.CertData, c.TLS.KeyData = srv.ClientCertPEM()
	c.PlainHTTP = strings.HasPrefix(srv.URL, "http://")
	return c
}
