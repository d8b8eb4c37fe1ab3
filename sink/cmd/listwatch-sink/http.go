package main

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/listwatch/listwatch/sink/cloudevents"
	"github.com/listwatch/listwatch/sink/postgres"
	"github.com/listwatch/listwatch/sink/sqlite"
)

// httpSink is a server, and the sink that keeps its position.
type httpSink struct {
	*cloudevents.Sink
	companion companion
}

// companion is a database that can keep the position for an HTTP server.
type companion interface {
	cloudevents.Companion
	pruner
	io.Closer
}

// Prune shortens the history of the companion.
func (s *httpSink) Prune(ctx context.Context, before time.Time, limit int) (int64, error) {
	return s.companion.Prune(ctx, before, limit)
}

// Close closes the companion.
func (s *httpSink) Close() error { return s.companion.Close() }

// openHTTP opens the sink at a URL, and its companion. The header Authorization comes from
// LISTWATCH_SINK_AUTHORIZATION.
func (p *program) openHTTP(ctx context.Context, u *url.URL, exists bool) (database, error) {
	if u.Host == "" {
		return nil, usage("--to is the URL of a server without the server's name: want https://events.example.com/")
	}
	text, given := p.companion, "--companion"
	if text == "" {
		text, given = p.env("LISTWATCH_SINK_COMPANION"), "LISTWATCH_SINK_COMPANION"
	}
	if text == "" {
		text = "sqlite:cluster.db"
	}
	at, err := url.Parse(text)
	if err != nil {
		return nil, usage("%s is not a URL, such as sqlite:cluster.db", given) // its text may be a password
	}
	if hasPassword(at) && p.companion != "" {
		return nil, usage("--companion has a password, which every process of this machine can read: use LISTWATCH_SINK_COMPANION")
	}
	p.voice.hide(secrets(at)...)
	db, err := p.openCompanion(ctx, at, given, exists)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if credentials := p.env("LISTWATCH_SINK_AUTHORIZATION"); credentials != "" {
		_, token, _ := strings.Cut(credentials, " ")
		p.voice.hide(credentials, token)
		header.Set("Authorization", credentials)
	}
	s, err := cloudevents.New(u.String(), db, cloudevents.Options{Header: header})
	if err != nil {
		db.Close()
		return nil, err
	}
	return &httpSink{s, db}, nil
}

// openCompanion opens a database, which can keep the position for an HTTP server. given is where
// its URL is from.
func (p *program) openCompanion(ctx context.Context, u *url.URL, given string, exists bool) (companion, error) {
	switch u.Scheme {
	case "sqlite":
		path, err := p.path(u, exists)
		if err != nil {
			return nil, err
		}
		return sqlite.Open(ctx, path, sqlite.Options{})
	case "postgres", "postgresql":
		return postgres.Open(ctx, u.String(), postgres.Options{})
	}
	return nil, usage("%s: a companion has the scheme sqlite or postgres, not %q", given, u.Scheme)
}
