package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/file"
)

// program is one run.
type program struct {
	env    func(string) string
	stdout io.Writer
	voice  *voice // of log
	log    *slog.Logger

	connect   connection
	to        string
	toFile    string
	companion string
	selection selection
	batch     batching
	replicas  replicas
	listen    string
	history   time.Duration

	natsEmbedded bool
	natsDir      string

	wait time.Duration // verify

	maxTypes int
}

type connection struct {
	kubeconfig, context, cluster string
}

type selection struct {
	namespace, labels, fields, where, project, mode string
	rescope, showSecrets                            bool
	maxObject                                       int
}

type batching struct {
	records int
	flush   time.Duration
}

type replicas struct {
	lease  string
	shards int
	given  bool // shards was
	shard  int
}

// database is where records go.
type database interface {
	sink.Sink
	sink.Reader
	pruner
	io.Closer
}

// readable is a sink that is only read.
type readable interface {
	sink.Reader
	io.Closer
}

// pruner shortens the history. One whose system does that by itself removes nothing.
type pruner interface {
	Prune(ctx context.Context, before time.Time, limit int) (int64, error)
}

const about = `Write collections of a cluster into another system: a table of what exists and a
log of what changed, every change once.

  listwatch-sink [flags] TYPE[,TYPE...]   move these resources until stopped; '*' is all
                                          but Secrets, Leases and Events
  listwatch-sink init                     make or migrate the tables of the sink, and end
  listwatch-sink status                   print positions, lag and gaps of the sink
  listwatch-sink verify [TYPE...]         compare the table with the cluster
  listwatch-sink pause [TYPE...]          have nobody commit to the sink, until resume
  listwatch-sink resume [TYPE...]         have the processes that wait continue
  listwatch-sink backfill [TYPE...]       have all objects listed and written again
  listwatch-sink reshard [TYPE...]        change the number of shards to --shards, offline

What fails at the start ends the program: the sink or the cluster cannot be reached, or a
type is not served. What fails later is retried.

Exit codes: 0 success, or stopped while moving; 1 failed or interrupted; 2 wrong usage;
3 verify found a difference.

Flags:
`

func (p *program) flagSet(out io.Writer) *pflag.FlagSet {
	f := pflag.NewFlagSet("listwatch-sink", pflag.ContinueOnError)
	f.SetOutput(out)
	f.SortFlags = false
	f.Usage = func() { fmt.Fprint(out, about+f.FlagUsages()) }
	f.StringVar(&p.to, "to", "", "write to this URL: sqlite:FILE, file:FOLDER, postgres://USER@HOST/DATABASE, nats://HOST/STREAM, kafka://HOST/PREFIX or https://HOST/PATH; also from LISTWATCH_SINK_TO (default sqlite:cluster.db)")
	f.StringVar(&p.toFile, "to-file", "", "read the URL from this file, which keeps credentials out of the command line")
	f.StringVar(&p.companion, "companion", "", "keep the position and the table for an HTTP server in this sink, sqlite:FILE or postgres:URL; also from LISTWATCH_SINK_COMPANION (default sqlite:cluster.db)")
	f.BoolVar(&p.natsEmbedded, "nats-embedded", false, "for a try, start a NATS server in this process (default --to "+embeddedURL+")")
	f.StringVar(&p.natsDir, "nats-dir", "cluster.nats", "the folder where --nats-embedded stores")
	f.StringVar(&p.connect.kubeconfig, "kubeconfig", "", "read the cluster from this file")
	f.StringVar(&p.connect.context, "context", "", "use this context of the kubeconfig")
	f.StringVar(&p.connect.cluster, "cluster-id", "", "name the cluster in the sink (default: the UID of the namespace kube-system)")
	f.StringVarP(&p.selection.namespace, "namespace", "n", "", "move only objects in this namespace (default: all namespaces)")
	f.StringVarP(&p.selection.labels, "selector", "l", "", "move only objects with these labels")
	f.StringVar(&p.selection.fields, "field-selector", "", "move only objects with these fields")
	f.StringVar(&p.selection.where, "where", "", "move only objects for which this jq expression is true")
	f.StringVar(&p.selection.project, "project", "", "store what this jq expression makes of an object")
	f.StringVar(&p.selection.mode, "mode", "both", "keep the table, the history, or both")
	f.BoolVar(&p.selection.rescope, "rescope", false, "replace another selection that the table was made with")
	f.BoolVar(&p.selection.showSecrets, "show-secrets", false, "store the values of Secrets, which are redacted by default")
	f.IntVar(&p.selection.maxObject, "max-object", 0, "store only the metadata of objects above this number of bytes (default: no limit)")
	f.IntVar(&p.batch.records, "batch", 500, "commit at most this number of records at once")
	f.DurationVar(&p.batch.flush, "flush", 500*time.Millisecond, "commit records that are this old")
	f.StringVar(&p.replicas.lease, "lease", "", "elect one replica by the Lease NAMESPACE/NAME, with --shard I NAMESPACE/NAME-I; not with sqlite and file")
	f.IntVar(&p.replicas.shards, "shards", 1, "divide each resource into this number of shards; fixed when the table is made, unless by reshard")
	f.IntVar(&p.replicas.shard, "shard", -1, "move only this shard, counted from 0 (default: all)")
	f.StringVar(&p.listen, "listen", "", "serve /metrics, /readyz and /livez at this address, such as :8080")
	f.DurationVar(&p.history, "history", 30*24*time.Hour, "remove records of the history that are older, at the start and then every hour (PostgreSQL: whole days; file: whole segments; a NATS stream or a Kafka topic that exists keeps its own limits, with a warning); 0 keeps all")
	f.DurationVar(&p.wait, "wait", 75*time.Second, "verify: wait this long for a table that differs to reach the cluster, type by type")
	return f
}

// check refuses values that would have no effect or make no sense. set says which flags are given.
func (p *program) check(set *pflag.FlagSet) error {
	for _, name := range []string{"to", "to-file", "companion"} {
		if f := set.Lookup(name); f.Changed && f.Value.String() == "" {
			return usage("--%s is empty", name) // as of a variable that is not set: the default is another sink
		}
	}
	switch {
	case p.batch.records < 1:
		return usage("--batch %d: a batch has at least one record", p.batch.records)
	case p.batch.flush <= 0:
		return usage("--flush %v: not a time above 0", p.batch.flush)
	case p.history < 0:
		return usage("--history %v is negative: 0 keeps all", p.history)
	case p.selection.maxObject < 0:
		return usage("--max-object %d is negative: 0 is no limit", p.selection.maxObject)
	case p.wait < 0:
		return usage("--wait %v is negative: 0 does not wait", p.wait)
	}
	_, mode := p.mode()
	_, selects := where(p.selection.where)
	_, projects := project(p.selection.project)
	return cmp.Or(mode, selects, projects)
}

// count returns the value of a parameter of --to that counts something.
func count(name, value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return 0, usage("--to: %s=%s is not a number above 0", name, value)
	}
	return n, nil
}

// target returns the URL of the sink, which may hold credentials: it must not be printed.
func (p *program) target() (*url.URL, error) {
	text, given := p.to, "--to"
	switch {
	case p.toFile != "" && p.to != "":
		return nil, usage("--to and --to-file are both given: which of them?")
	case p.toFile != "":
		var err error
		if text, err = readURL(p.toFile); err != nil {
			return nil, fmt.Errorf("--to-file: %w", err)
		}
		given = "what --to-file names"
	case text == "":
		text, given = p.env("LISTWATCH_SINK_TO"), "LISTWATCH_SINK_TO"
	}
	if text == "" {
		if text = "sqlite:cluster.db"; p.natsEmbedded {
			text = embeddedURL
		}
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, usage("%s is not a URL, such as sqlite:cluster.db", given) // its text may be a password
	}
	if hasPassword(u) && text == p.to {
		return nil, usage("--to has a password, which every process of this machine can read: use --to-file or LISTWATCH_SINK_TO")
	}
	return u, nil
}

// hasPassword reports whether a URL has a password: of its user, or as a parameter of PostgreSQL.
func hasPassword(u *url.URL) bool {
	_, secret := u.User.Password()
	q := u.Query()
	return secret || q.Has("password") || q.Has("sslpassword")
}

const maxURL = 64 << 10

// readURL returns what a file has, which must not be printed.
func readURL(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxURL+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxURL {
		return "", usage("%s has more than %d KiB: is it the file of a URL?", path, maxURL>>10)
	}
	text := strings.TrimSpace(string(b))
	if text == "" {
		return "", usage("%s has no URL", path)
	}
	return text, nil
}

// open opens the sink that the flags name.
func (p *program) open(ctx context.Context, exists bool) (database, error) {
	u, err := p.target()
	if err != nil {
		return nil, err
	}
	if p.natsEmbedded && u.Scheme != "nats" {
		return nil, usage("--nats-embedded with --to %s:...: name a nats URL, or none", u.Scheme)
	}
	return p.openURL(ctx, u, exists)
}

// sinkLog returns what logs the warnings of a sink. A command for a sink that exists, such as
// status, does not ask for a retention.
func (p *program) sinkLog(exists bool) *slog.Logger {
	if exists {
		return slog.New(slog.DiscardHandler)
	}
	return p.log
}

func (p *program) openURL(ctx context.Context, u *url.URL, exists bool) (database, error) {
	p.voice.hide(secrets(u)...)
	switch u.Scheme {
	case "nats", "tls":
		return p.openNATS(ctx, u, exists)
	case "kafka":
		return p.openKafka(ctx, u, exists)
	case "file":
		path, err := p.path(u, exists)
		if err != nil {
			return nil, err
		}
		return file.Open(path, file.Options{})
	case "http", "https":
		return p.openHTTP(ctx, u, exists)
	case "sqlite", "postgres", "postgresql":
		return p.openCompanion(ctx, u, "--to", exists)
	}
	return nil, usage("--to: no sink has the scheme %q: there are sqlite, file, postgres, nats, tls, kafka, http and https", u.Scheme)
}

// read opens the sink that the flags name, which must exist, while another process may
// write to it.
func (p *program) read(ctx context.Context) (readable, error) {
	u, err := p.target()
	if err != nil {
		return nil, err
	}
	if u.Scheme != "file" {
		return p.open(ctx, true)
	}
	path, err := p.path(u, true)
	return folder{file.NewReader(path)}, err
}

// folder is a folder of files, which need not be closed.
type folder struct{ *file.Reader }

// Close does nothing.
func (folder) Close() error { return nil }

// path returns the path of a sink on this machine.
func (p *program) path(u *url.URL, exists bool) (string, error) {
	path := u.Opaque
	if path == "" {
		path = u.Path
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return "", usage("--to %s: a path with ? or # is written with %%3F and %%23", u.Redacted())
	}
	path, err := url.PathUnescape(path)
	if err != nil || path == "" {
		return "", usage("--to %s: names no path, such as sqlite:cluster.db or file:cluster.log", u.Redacted())
	}
	if p.replicas.lease != "" {
		return "", usage("--lease with %s: replicas on several machines cannot share the file; run one process", u.Scheme)
	}
	if _, err := os.Stat(path); exists && errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("there is no %s: name the sink by --to", path)
	}
	return path, nil
}

func (p *program) mode() (sink.Mode, error) {
	switch p.selection.mode {
	case "both", "":
		return sink.ModeBoth, nil
	case "table":
		return sink.ModeTable, nil
	case "history":
		return sink.ModeHistory, nil
	}
	return "", usage("--mode %q: there are both, table and history", p.selection.mode)
}
