package recording

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/internal/shell"
	"github.com/listwatch/listwatch/replay"
)

// File is a recording, and how it is served.
type File struct {
	Path        string
	MaxBytes    int64  // of memory
	As          string // state or script
	Listen      string // address
	AcceptHosts []string
}

// Load reads the recording.
func (o *File) Load() (*replay.Recording, error) {
	f, err := os.Open(o.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rec, err := replay.Load(f, o.MaxBytes)
	if errors.Is(err, codec.ErrTooLarge) {
		err = fmt.Errorf("%w; give a larger --max-bytes if you trust it", err)
	}
	return rec, err
}

// Error gives a recording that cannot be used its exit code.
func (o *File) Error(err error) error {
	if !errors.As(err, new(*fs.PathError)) {
		err = fmt.Errorf("%s: %w", o.Path, err)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, replay.ErrVersion) {
		return &exit.Error{Code: exit.CodeUsage, Err: err}
	}
	return exit.Failed(err)
}

// Serve serves rec, which is that of the file, until ctx is done.
func (o *File) Serve(p *cli.Program, ctx context.Context, rec *replay.Recording, pace replay.Pace, t *messages.Writer) error {
	address, open, err := listen.Address("--listen", o.Listen)
	if err != nil {
		return err
	}
	if open {
		t.Note("warning: --listen " + o.Listen + " is not the loopback: whoever reaches this machine can read the recording")
	}
	if o.As == "script" {
		return o.script(p, ctx, address, rec, pace, t)
	}
	if len(rec.Streams()) == 0 {
		return o.Error(errors.New("there are no events in this recording, hence no states; if it is one of traffic: --serve script"))
	}
	options := serverOptions(rec)
	options.Address, options.Hosts = address, o.AcceptHosts
	srv, err := apitest.Start(options)
	if err != nil {
		return listen.Error("--listen", o.Listen, err)
	}
	defer srv.Close()
	state, err := replay.NewState(ctx, rec, srv)
	if err != nil {
		return o.Error(err)
	}
	if err := p.Put(srv.URL + "\n"); err != nil {
		return err
	}
	t.Info("replay", fmt.Sprintf("serving %s", printable.Count(state.Len(), "change"))+tryIt(srv.URL, rec.Streams()[0].Resource.GroupResource()),
		"serving", "url", srv.URL, "changes", state.Len())
	if err := state.Play(ctx, pace); err != nil {
		return err
	}
	t.Info("replay", "all changes are made; the server keeps the last state until it is stopped", "played", "changes", state.Len())
	<-ctx.Done()
	return context.Cause(ctx)
}

// serverOptions are those of a server that keeps every state of rec.
func serverOptions(rec *replay.Recording) apitest.Options {
	past := 32 << 20 // of the writes of clients
	for _, e := range rec.Entries {
		past += 2 * len(e.Object) // it is replaced, or deleted and shown by the event
	}
	return apitest.Options{Revision: 1, History: len(rec.Entries) + 10_000, HistoryBytes: past}
}

// tryIt returns a command that watches a type of a recording; empty if no server would
// have that type: its name might be a flag, such as --exec.
func tryIt(url, typ string) string {
	if !shell.Inert(typ) {
		return ""
	}
	return "; try: " + shell.Quote("listwatch", "watch", "-A", "-s", url, typ)
}

func (o *File) script(p *cli.Program, ctx context.Context, address string, rec *replay.Recording, pace replay.Pace, t *messages.Writer) error {
	if !slices.ContainsFunc(rec.Entries, func(e *replay.Entry) bool { return e.Kind == replay.KindReq }) {
		return o.Error(errors.New("there are no requests in this recording: record them by listwatch record proxy; a recording of events can be served by --serve state"))
	}
	script := replay.NewScript(rec, replay.ScriptOptions{Pace: pace})
	l, err := net.Listen("tcp", address)
	if err != nil {
		return listen.Error("--listen", o.Listen, err)
	}
	stop := listen.Serve(ctx, l, script, o.AcceptHosts, 0)
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

// Info prints what is in the file.
func (o *File) Info(p *cli.Program) error {
	f, err := os.Open(o.Path)
	if err != nil {
		return o.Error(err)
	}
	defer f.Close()
	r, err := replay.NewReader(f)
	if err != nil {
		return o.Error(err)
	}
	i := summary{counts: map[replay.Kind]int{}, types: map[string]int{}}
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
	lines := [][2]string{
		{"format", fmt.Sprintf("%s %d", h.Format, h.Version)},
		{"tool", h.Tool},
		{"origin", h.Origin},
		{"created", h.Created.Format(time.RFC3339)},
		{"server", strings.TrimSpace(h.Cluster.Server + " " + h.Cluster.GitVersion)},
		{"cluster", h.Cluster.UID},
		{"secrets", cmp.Or(map[bool]string{true: "replaced"}[h.Redaction.Secrets], "in it")},
		{"env", cmp.Or(map[bool]string{true: "values replaced"}[h.Redaction.Env], "in it")},
		{"duration", printable.Rough(i.last)},
		{"end", end},
	}
	for _, t := range i.targets {
		lines = append(lines, [2]string{"stream", describeTarget(t)})
	}
	lines = append(lines, [2]string{"entries", tallyText(i.counts)}, [2]string{"events", tallyText(i.types)})
	var b strings.Builder
	for _, line := range lines {
		if line[1] != "" {
			fmt.Fprintf(&b, "%-10s %s\n", line[0]+":", printable.Cell(line[1]))
		}
	}
	if err := p.Put(b.String()); err != nil {
		return err
	}
	if damage != nil {
		return exit.Failed(fmt.Errorf("%s: %w", o.Path, damage))
	}
	return nil
}

// summary is what --info counts.
type summary struct {
	counts  map[replay.Kind]int
	types   map[string]int
	targets []replay.Target
	last    time.Duration
}

func (i *summary) add(e *replay.Entry) {
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
