package main

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/listwatch/listwatch/sink/cloudevents"
)

// httpSink is a server, and the sink that keeps its position.
type httpSink struct {
	*cloudevents.Sink
	companion database
}

// Close closes the companion.
func (s *httpSink) Close() error { return s.companion.Close() }

// openHTTP opens the sink at a URL, and its companion. The header Authorization comes from
// LISTWATCH_SINK_AUTHORIZATION.
func (p *program) openHTTP(ctx context.Context, u *url.URL, exists bool) (database, error) {
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
	switch at.Scheme {
	case "sqlite", "postgres", "postgresql":
	default:
		return nil, usage("%s: a companion has the scheme sqlite or postgres, not %q", given, at.Scheme)
	}
	if hasPassword(at) && p.companion != "" {
		return nil, usage("--companion has a password, which every process of this machine can read: use LISTWATCH_SINK_COMPANION")
	}
	companion, err := p.openURL(ctx, at, exists)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if credentials := p.env("LISTWATCH_SINK_AUTHORIZATION"); credentials != "" {
		_, token, _ := strings.Cut(credentials, " ")
		p.voice.hide(credentials, token)
		header.Set("Authorization", credentials)
	}
	s, err := cloudevents.New(u.String(), companion, cloudevents.Options{Header: header})
	if err != nil {
		companion.Close()
		return nil, err
	}
	return &httpSink{s, companion}, nil
}
