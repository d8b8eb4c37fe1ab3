package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/listwatch/listwatch/apitest"
)

// Commands of scripts about what a fake API server cannot be:
//
//	peer says TEXT...              listen as $PEER: one of the texts in turn for whatever is heard, then the end
//	peer tls CERT KEY [CA]         listen as $PEER in TLS 1.2, under this certificate; CA: ask for one of it
//	full                           from now on stdout has no room
//	entry FILE KIND TEXT           append an entry to a checkpoint, with good checksums
//	body PATH TYPE FILE            the fake server answers so

func cmdPeer(ts *testscript.TestScript, neg bool, args []string) {
	l, err := new(net.ListenConfig).Listen(worldOf(ts).ctx, "tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv("PEER", l.Addr().String())
	var serve func(net.Conn)
	switch args[0] {
	case "says":
		serve = func(c net.Conn) {
			for _, text := range args[1:] {
				if _, err := c.Read(make([]byte, 64<<10)); err != nil {
					return
				}
				io.WriteString(c, strings.ReplaceAll(text, `\n`, "\r\n"))
			}
		}
	case "tls":
		pair, err := tls.LoadX509KeyPair(ts.MkAbs(args[1]), ts.MkAbs(args[2]))
		ts.Check(err)
		cfg := &tls.Config{Certificates: []tls.Certificate{pair}, MaxVersion: tls.VersionTLS12} // in which who is refused hears it before the end
		if len(args) > 3 {
			cfg.ClientAuth, cfg.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
			cfg.ClientCAs.AppendCertsFromPEM([]byte(ts.ReadFile(args[3])))
		}
		serve = func(c net.Conn) { tls.Server(c, cfg).Handshake() }
	default:
		ts.Fatalf("peer: unknown %s", args[0])
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.SetDeadline(time.Now().Add(10 * time.Second))
			serve(c)
			c.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, c) // else what was said may be lost
			c.Close()
		}
	}()
	ts.Defer(func() {
		l.Close()
		<-done
	})
}

func cmdFull(ts *testscript.TestScript, neg bool, args []string) { worldOf(ts).full = true }

// nowhere is a stdout on a full disk.
type nowhere struct{}

func (nowhere) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
}

func cmdEntry(ts *testscript.TestScript, neg bool, args []string) {
	table := crc32.MakeTable(crc32.Castagnoli)
	payload := args[1] + args[2]
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(payload)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, table))
	b = append(b, payload...)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum([]byte(payload), table))
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	ts.Check(err)
	_, err = f.Write(b)
	ts.Check(err)
	ts.Check(f.Close())
}

func cmdBody(ts *testscript.TestScript, neg bool, args []string) {
	b := ts.ReadFile(args[2])
	worldOf(ts).srv.On(apitest.Match{Path: args[0]}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", args[1])
		out := bufio.NewWriter(w)
		out.WriteString(b)
		out.Flush()
	})
}
