// Package connect connects clients of this module to a fake server, for tests of
// operators and of programs that watch.
//
// Package apitest does not know package client: any client can talk to its server.
// [Config] is what ours needs to know.
package connect

import (
	"strings"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
)

// Config returns the configuration of a client that reaches srv and is authorised: its
// address, CA, token and client certificate as they are now, in memory too. The caller may
// change it.
func Config(srv *apitest.Server) client.Config {
	c := client.Config{Server: srv.URL, Dial: srv.Dial, Token: srv.Token(), TLS: client.TLS{CAData: srv.CAPEM()}}
	c.TLS.CertData, c.TLS.KeyData = srv.ClientCertPEM()
	c.PlainHTTP = strings.HasPrefix(srv.URL, "http://")
	return c
}
