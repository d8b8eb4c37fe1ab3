package servers_test

import (
	"testing"

	"github.com/listwatch/listwatch/apitest/conform"

	"github.com/listwatch/listwatch/e2e/cluster"
)

// TestConform holds the suite that the fake server passes against the real one.
func TestConform(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	conform.Run(t, c.URL(), c.HTTPClient())
}

// TestConformInProtobuf does so in protobuf.
func TestConformInProtobuf(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	client := *c.HTTPClient()
	client.Transport = conform.Protobuf(client.Transport)
	conform.Run(t, c.URL(), &client)
}
