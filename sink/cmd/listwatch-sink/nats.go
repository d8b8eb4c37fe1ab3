package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/listwatch/listwatch/sink/jetstream"
)

// natsSink is a sink in NATS, and what it runs on.
type natsSink struct {
	*jetstream.Sink
	conn   *nats.Conn
	server *server.Server // nil = not ours
}

// Prune removes nothing: the stream has a limit.
func (*natsSink) Prune(context.Context, time.Time, int) (int64, error) { return 0, nil }

// Close closes the connection, and stops the server if it is ours.
func (s *natsSink) Close() error {
	s.conn.Close()
	stopNATS(s.server)
	return nil
}

func stopNATS(srv *server.Server) {
	if srv != nil {
		srv.Shutdown()
		srv.WaitForShutdown()
	}
}

// openNATS opens the sink at nats://HOST[:PORT][/STREAM]. The parameters are bucket,
// replicas, creds (a file), ca, cert and key (files).
func (p *program) openNATS(ctx context.Context, u *url.URL, exists bool) (_ database, err error) {
	o, err := p.natsOptions(u)
	if err != nil {
		return nil, err
	}
	o.Logger = p.sinkLog(exists)
	if u.User != nil && p.to != "" {
		return nil, usage("--to has a token or a password, which every process of this machine can read: use --to-file or LISTWATCH_SINK_TO")
	}
	s := &natsSink{}
	if p.natsEmbedded && !exists {
		if s.server, err = p.serveNATS(u); err != nil {
			return nil, err
		}
		u.Host = s.server.Addr().String()
	}
	defer func() {
		if err != nil {
			if s.conn != nil {
				s.conn.Close()
			}
			stopNATS(s.server)
		}
	}()
	opening, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ended := nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
		if errors.Is(err, jetstream.ErrProtocol) {
			p.log.Warn("the connection to NATS ended", "at", u.Host, "err", err)
			stop(err)
		}
	})
	if s.conn, err = nats.Connect((&url.URL{Scheme: u.Scheme, Host: u.Host}).String(), append(natsConnection(u), ended)...); err != nil {
		return nil, fmt.Errorf("connect to NATS at %s: %w", u.Host, err)
	}
	if s.Sink, err = openStream(opening, s.conn, o, exists); err != nil {
		if cause := context.Cause(opening); cause != nil && ctx.Err() == nil {
			err = cause // rather than that it was cancelled
		}
		return nil, fmt.Errorf("at %s: %w", u.Host, err)
	}
	return s, nil
}

// openStream opens the sink of a connection, where exists only if there is its stream.
func openStream(ctx context.Context, conn *nats.Conn, o jetstream.Options, exists bool) (*jetstream.Sink, error) {
	js, err := natsjs.New(conn)
	if err != nil {
		return nil, err
	}
	if exists {
		if _, err := js.Stream(ctx, o.Stream); err != nil {
			return nil, fmt.Errorf("look for the stream %s: %w", o.Stream, err)
		}
	}
	return jetstream.Open(ctx, js, o)
}

func (p *program) natsOptions(u *url.URL) (o jetstream.Options, err error) {
	q := u.Query()
	o = jetstream.Options{Stream: strings.Trim(u.Path, "/"), Bucket: q.Get("bucket"), Retention: p.history}
	if o.Stream == "" {
		o.Stream = "listwatch"
	}
	if p.history <= 0 {
		o.Retention = -1
	}
	if n := q.Get("replicas"); n != "" {
		if o.Replicas, err = count("replicas", n); err != nil {
			return o, err
		}
	}
	for name := range q {
		switch name {
		case "bucket", "replicas", "creds", "ca", "cert", "key":
		default:
			return o, usage("--to: a nats URL has no parameter %q: there are bucket, replicas, creds, ca, cert and key", name)
		}
	}
	return o, nil
}

// natsConnection returns the options of the connection. Credentials do not become a part
// of the URL that the client knows, and prints in errors.
func natsConnection(u *url.URL) []nats.Option {
	all := []nats.Option{
		nats.Name("listwatch-sink"), nats.MaxReconnects(-1), nats.Timeout(10 * time.Second),
		nats.SetCustomDialer(jetstream.Dialer{}), nats.SkipHostLookup(),
	}
	if name, password := u.User.Username(), ""; name != "" {
		var ok bool
		if password, ok = u.User.Password(); ok {
			all = append(all, nats.UserInfo(name, password))
		} else {
			all = append(all, nats.Token(name))
		}
	}
	q := u.Query()
	if file := q.Get("creds"); file != "" {
		all = append(all, nats.UserCredentials(file))
	}
	if file := q.Get("ca"); file != "" {
		all = append(all, nats.RootCAs(file))
	}
	if file := q.Get("cert"); file != "" {
		all = append(all, nats.ClientCert(file, q.Get("key")))
	}
	return all
}

// embeddedURL is where --nats-embedded serves, unless --to says where.
const embeddedURL = "nats://127.0.0.1:4222"

// serveNATS starts a server for a try at a loopback address. It stores into the folder
// cluster.nats.
func (p *program) serveNATS(u *url.URL) (*server.Server, error) {
	host, port := u.Hostname(), server.DEFAULT_PORT
	if n := u.Port(); n != "" {
		var err error
		if port, err = strconv.Atoi(n); err != nil {
			return nil, usage("--to: the port %q is not a number", n)
		}
		if port == 0 {
			port = server.RANDOM_PORT
		}
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, usage("--nats-embedded serves without authentication, at a loopback address only, such as %s; not at %q", embeddedURL, host)
	}
	dir, err := filepath.Abs(p.natsDir)
	if err != nil {
		return nil, err
	}
	srv, err := server.NewServer(&server.Options{Host: host, Port: port, JetStream: true, StoreDir: dir, SyncAlways: true, NoSigs: true, NoLog: true})
	if err != nil {
		return nil, fmt.Errorf("start NATS: %w", err)
	}
	srv.Start()
	if !srv.ReadyForConnections(10 * time.Second) {
		stopNATS(srv)
		return nil, errors.New("start NATS at " + u.Host + ": it is not ready after 10 s: is the address in use?")
	}
	p.log.Info("NATS is ready", "url", srv.ClientURL(), "folder", dir)
	return srv, nil
}
