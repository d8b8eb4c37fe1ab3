package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/listen"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/shell"
	"github.com/listwatch/listwatch/replay"
)

// serveRecording is --serve.
func serveRecording(p *cli.Program, ctx context.Context, o *replayFlags, rec *replay.Recording, pace replay.Pace, t *messages.Writer) error {
	address, open, err := listen.Address("--listen", o.listen)
	if err != nil {
		return err
	}
	if open {
		t.Note("warning: --listen " + o.listen + " is not the loopback: whoever reaches this machine can read the recording")
	}
	if o.serve == "script" {
		return serveScript(p, ctx, o, address, rec, pace, t)
	}
	if len(rec.Streams()) == 0 {
		return recordingError(o.path, errors.New("there are no events in this recording, hence no states; if it is one of traffic: --serve script"))
	}
	srv, err := apitest.Start(apitest.Options{Address: address, Hosts: o.acceptHosts, History: len(rec.Entries) + 10_000})
	if err != nil {
		return listen.Error("--listen", o.listen, err)
	}
	defer srv.Close()
	state, err := replay.NewState(ctx, rec, srv)
	if err != nil {
		return recordingError(o.path, err)
	}
	if err := p.Put(srv.URL + "\n"); err != nil {
		return err
	}
	t.Info("replay", fmt.Sprintf("serving %s; try: %s", printable.Count(state.Len(), "change"), shell.Quote("listwatch", "watch", "-A", "-s", srv.URL, rec.Streams()[0].Resource.GroupResource())),
		"serving", "url", srv.URL, "changes", state.Len())
	if err := state.Play(ctx, pace); err != nil {
		return err
	}
	t.Info("replay", "all changes are made; it goes on serving the last state until it is stopped", "played", "changes", state.Len())
	<-ctx.Done()
	return context.Cause(ctx)
}

func serveScript(p *cli.Program, ctx context.Context, o *replayFlags, address string, rec *replay.Recording, pace replay.Pace, t *messages.Writer) error {
	if !slices.ContainsFunc(rec.Entries, func(e *replay.Entry) bool { return e.Kind == replay.KindReq }) {
		return recordingError(o.path, errors.New("there are no requests in this recording: record them by listwatch record proxy; a recording of events can be served by --serve state"))
	}
	script := replay.NewScript(rec, replay.ScriptOptions{Pace: pace})
	l, err := net.Listen("tcp", address)
	if err != nil {
		return listen.Error("--listen", o.listen, err)
	}
	stop := listen.Serve(ctx, l, script, o.acceptHosts, 0)
	at := "http://" + l.Addr().String()
	t.Info("replay", fmt.Sprintf("serving the answers to %s at %s", printable.Count(script.Left(), "request"), at), "serving", "url", at, "requests", script.Left())
	tellRequests(rec, t)
	if err = p.Put(at + "\n"); err == nil {
		<-ctx.Done()
		err = context.Cause(ctx)
	}
	if e := stop(); err == nil && e != nil {
		err = exit.Failed(e)
	}
	for _, u := range script.Unknown() {
		t.Info("replay", "had no answer: "+u, "unknown", "request", u)
	}
	return err
}

// tellRequests says what a script can be asked.
func tellRequests(rec *replay.Recording, t *messages.Writer) {
	asked, discovery := map[string]int{}, false
	var order []string
	for _, e := range rec.Entries {
		if e.Kind != replay.KindReq {
			continue
		}
		path, _, _ := strings.Cut(e.URL, "?")
		discovery = discovery || path == "/api" || path == "/apis"
		what := e.Method + " " + path
		if asked[what]++; asked[what] == 1 {
			order = append(order, what)
		}
	}
	const most = 8
	for _, what := range order[:min(len(order), most)] {
		t.Info("replay", fmt.Sprintf("%s: %s", what, printable.Count(asked[what], "answer")), "answers", "request", what, "count", asked[what])
	}
	if more := len(order) - most; more > 0 {
		t.Info("replay", fmt.Sprintf("and %s more", printable.Count(more, "path")), "more", "paths", more)
	}
	if !discovery {
		t.Info("replay", "discovery is not in it: programs that begin with that, such as kubectl and listwatch watch, get 503; those that know what they want do not", "no discovery")
	}
}

// recordingInfo is --info.
func recordingInfo(p *cli.Program, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return recordingError(path, err)
	}
	defer f.Close()
	r, err := replay.NewReader(f)
	if err != nil {
		return recordingError(path, err)
	}
	i := recordingSummary{counts: map[replay.Kind]int{}, types: map[string]int{}}
	var damage error
	for e, err := range r.Entries() {
		if err != nil {
			damage = err
			break
		}
		i.add(e)
	}
	end := "closed in good order"
	switch {
	case damage != nil:
		end = "damaged"
	case r.Truncated():
		end = "cut: it plays as far as it goes"
	}
	h := r.Header
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name+":", printable.Cell(value))
		}
	}
	line("format", fmt.Sprintf("%s %d", h.Format, h.Version))
	line("tool", h.Tool)
	line("origin", h.Origin)
	line("created", h.Created.Format(time.RFC3339))
	line("server", strings.TrimSpace(h.Cluster.Server+" "+h.Cluster.GitVersion))
	line("cluster", h.Cluster.UID)
	line("secrets", cmp.Or(map[bool]string{true: "replaced"}[h.Redaction.Secrets], "in it"))
	line("env", cmp.Or(map[bool]string{true: "values replaced"}[h.Redaction.Env], "in it"))
	line("duration", printable.Rough(i.last))
	line("end", end)
	for _, t := range i.targets {
		line("stream", describeTarget(t))
	}
	line("entries", tallyText(i.counts))
	line("events", tallyText(i.types))
	if err := p.Put(b.String()); err != nil {
		return err
	}
	if damage != nil {
		return exit.Failed(fmt.Errorf("%s: %w", path, damage))
	}
	return nil
}

// recordingSummary is what --info counts.
type recordingSummary struct {
	counts  map[replay.Kind]int
	types   map[string]int
	targets []replay.Target
	last    time.Duration
}

func (i *recordingSummary) add(e *replay.Entry) {
	i.counts[e.Kind]++
	i.last = max(i.last, e.At)
	switch e.Kind {
	case replay.KindEvent:
		typ := e.Type
		if _, known := i.types[typ]; !known && len(i.types) >= 20 {
			typ = "of other types"
		}
		i.types[typ]++
	case replay.KindStream:
		if len(i.targets) < 100 {
			i.targets = append(i.targets, *e.Target)
		}
	}
}

func tallyText[K ~string](m map[K]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %s", printable.Thousands(m[k]), k))
	}
	return strings.Join(parts, ", ")
}

func describeTarget(t replay.Target) string {
	s := t.Resource.String()
	if t.Namespace != "" {
		s += " in namespace " + t.Namespace
	}
	if t.Labels != "" {
		s += ", labels " + t.Labels
	}
	if t.Fields != "" {
		s += ", fields " + t.Fields
	}
	return s
}
