package apitest_test

import (
	"crypto/tls"
	"io"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest"
)

// TestStreamsOfAConnectionAreLimited: as many as kube-apiserver permits.
func TestStreamsOfAConnectionAreLimited(t *testing.T) {
	srv := apitest.NewWith(t, apitest.Options{InMemory: true, TLS: true})
	raw, err := srv.Dial(t.Context(), "tcp", "")
	if err != nil {
		t.Fatal(err)
	}
	c := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	defer c.Close()
	go io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
	var head [9]byte
	if _, err := io.ReadFull(c, head[:]); err != nil || head[3] != 4 {
		t.Fatalf("no SETTINGS: %v, %v", head, err)
	}
	settings := make([]byte, int(head[1])<<8|int(head[2]))
	if _, err := io.ReadFull(c, settings); err != nil {
		t.Fatal(err)
	}
	if want := string([]byte{0, 3, 0, 0, 0, 100}); !strings.Contains(string(settings), want) {
		t.Errorf("MAX_CONCURRENT_STREAMS is not 100: % x", settings)
	}
}
