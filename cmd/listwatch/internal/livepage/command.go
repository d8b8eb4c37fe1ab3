package livepage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/complete"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/connect"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/listen"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/jq"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/replay"
	"github.com/listwatch/listwatch/ui"
)

// flags are those of ui.
type flags struct {
	connection connect.Flags
	serving    Serving
	recording  string
	basePath   string
	auth       string
	audiences  []string
	history    string
	disk       int64
	age        time.Duration
	quiet      bool
	logFormat  string
}

// Serving are the flags about the page, which demo has too.
type Serving struct {
	listen      string
	acceptHosts []string
	browser     bool
	memory      int64
	history     int64
}

// Command is listwatch ui.
func Command(p *cli.Program) *cobra.Command {
	o := &flags{}
	cmd := &cobra.Command{
		Use:   "ui [TYPE...]",
		Short: "Show the cluster live in a browser, with its past",
		Long: `Serve a page that shows the cluster live: lists with the server's columns, objects
with their history, what changed when, and where something was not seen. It reads
only, and shows no values of Secrets.

The link that is printed on stderr lets one browser in; Enter prints another one.
Types that are given are watched always, as pods, workloads, nodes and events are;
others are while somebody looks at them. --history keeps their states on disk.`,
		Example: `  listwatch ui
  listwatch ui --history ~/history/prod
  listwatch ui --recording incident.lwrec.ndjson.gz
  listwatch ui certificates.cert-manager.io --context prod --open`,
		RunE: func(cmd *cobra.Command, args []string) error { return run(p, cmd, args, o) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.serving.Register(f)
	f.StringVar(&o.recording, "recording", "", "show this recording of listwatch record in place of a cluster")
	f.StringVar(&o.history, "history", "", "folder that keeps the states of types that are watched always, for the next run; values of Secrets are not kept")
	f.Int64Var(&o.disk, "history-size", 1024, "MiB of files in --history")
	f.DurationVar(&o.age, "history-age", 7*24*time.Hour, "age of the oldest states in --history")
	f.StringVar(&o.basePath, "base-path", "", "path under which a proxy serves the page, such as /live; the proxy may pass it on or remove it, and must pass on the Host of requests")
	f.StringVar(&o.auth, "auth", "token", "who is let in: token (who has the link that is printed) or token-review (who has a token of the cluster, and sees what SubjectAccessReview allows; behind TLS)")
	f.StringSliceVar(&o.audiences, "audience", nil, "audience that tokens must have under --auth token-review (default that of the server)")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing on stderr but the link and why it ended")
	f.StringVar(&o.logFormat, "log-format", "text", "of stderr: text or json")
	o.connection.Register(f)
	complete.Objects(p, cmd, &o.connection)
	return cmd
}

// Register adds the flags.
func (o *Serving) Register(f *pflag.FlagSet) {
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "address and port to serve the page at (0 = a free port)")
	f.StringSliceVar(&o.acceptHosts, "accept-host", nil, "host that requests may name, besides those of the loopback and, with another --listen, IP addresses")
	f.BoolVar(&o.browser, "open", false, "open the page in a browser")
	f.Int64Var(&o.memory, "memory", 256, "MiB of memory for objects")
	f.Int64Var(&o.history, "history-memory", 64, "MiB of memory for earlier states")
}

func run(p *cli.Program, cmd *cobra.Command, names []string, o *flags) error {
	if o.logFormat != "text" && o.logFormat != "json" {
		return exit.Usage("--log-format %q: want one of text, json", o.logFormat)
	}
	if o.auth != "token" && o.auth != "token-review" {
		return exit.Usage("--auth %q: want token or token-review", printable.Clip(o.auth))
	}
	if b := o.basePath; b != "" && (b[0] != '/' || strings.HasSuffix(b, "/")) {
		return exit.Usage("--base-path %q: want a path such as /live, without a slash at its end", printable.Clip(b))
	}
	t := messages.New(p.Stderr, o.logFormat, o.quiet)
	if o.recording != "" {
		if o.auth != "token" {
			return exit.Usage("--auth token-review needs a cluster, and --recording has none: give one of the two")
		}
		if len(names) > 0 {
			return exit.Usage("--recording has its own types: give none")
		}
		if o.history != "" {
			return exit.Usage("--history is for a cluster, and --recording has its own: give one of the two")
		}
		rec, err := replay.Open(o.recording)
		if err != nil {
			return exit.Failed(fmt.Errorf("--recording: %w", err))
		}
		return serve(cmd, &o.serving, ui.Options{Recording: recorded(rec), Name: filepath.Base(o.recording), BasePath: o.basePath}, t)
	}
	if o.disk < 1 || o.disk > 1<<20 || o.age < time.Minute {
		return exit.Usage("--history-size: want 1 to 1048576 MiB, and --history-age a minute or more")
	}
	c, cfg, err := o.connection.Load(p, t)
	if err != nil {
		return err
	}
	defer c.CloseIdleConnections()
	keep, err := types(cmd.Context(), c, names)
	if err != nil {
		return err
	}
	return serve(cmd, &o.serving, ui.Options{Client: c, Name: cfg.Context, BasePath: o.basePath, Keep: keep, TokenReview: o.auth == "token-review", Audiences: o.audiences,
		History: o.history, HistoryFailed: func(err error) { historyFailed(t, o.history, err) }, Limits: ui.Limits{Disk: o.disk << 20, Age: o.age}}, t)
}

// historyFailed reports that the states in a folder are not written, or with nil that they are again.
func historyFailed(t *messages.Writer, folder string, err error) {
	if err == nil {
		t.Info("history", "states are written to "+folder+" again", "history written")
		return
	}
	t.Warn("history", "states are not written to "+folder+": "+err.Error()+"; the page goes on without, and tries again every minute", "history not written", "err", printable.Line(err.Error()))
}

// serveUI serves a page until it is stopped.
func serve(cmd *cobra.Command, o *Serving, opts ui.Options, t *messages.Writer) error {
	ctx := cmd.Context()
	if o.memory < 1 || o.history < 1 || o.memory > 1<<20 || o.history > 1<<20 {
		return exit.Usage("--memory and --history-memory: want 1 to 1048576 MiB")
	}
	address, open, err := listen.Address("--listen", o.listen)
	if err != nil {
		return err
	}
	if open {
		t.Note("warning: --listen " + o.listen + " is not the loopback: links and all that the page shows go unencrypted over the network")
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return listen.Error("--listen", o.listen, err)
	}
	opts.Bound, opts.Hosts = l.Addr().String(), o.acceptHosts
	if !opts.TokenReview { // for one person, who may use the memory and the ports of this machine
		opts.Filter = jq.Condition
		opts.OpenMoment = openMoment(ctx)
	}
	opts.Limits.Objects, opts.Limits.History = o.memory<<20, o.history<<20
	u, err := ui.New(opts)
	if err != nil {
		return exit.Failed(err)
	}
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ran := make(chan error, 1)
	go func() { ran <- u.Run(ctx) }()
	served := listenAndServe(ctx, l, u)
	link := func() string {
		page := "http://" + l.Addr().String() + opts.BasePath + "/"
		if opts.TokenReview {
			return page
		}
		return page + "#token=" + u.Token()
	}
	first := link()
	fmt.Fprintln(t.Lines(), "ui: "+first)
	if o.browser {
		if err := browse(ctx, first); err != nil {
			t.Note("warning: --open: " + err.Error())
		}
	}
	go func() {
		for lines := bufio.NewScanner(cmd.InOrStdin()); lines.Scan(); {
			fmt.Fprintln(t.Lines(), "ui: "+link())
		}
	}()
	select {
	case <-ctx.Done():
	case err = <-served:
		cancel(err)
	}
	<-ran
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return exit.Failed(err)
	}
	return context.Cause(ctx)
}

// garbage is how much of it there may be, in percent of what is in use. Most of the memory
// of a page is kept for long, and the default of 100 would double it.
const garbage = 30

// Demo serves the page of a cluster that is played.
func (o *Serving) Demo(cmd *cobra.Command, speed float64, t *messages.Writer) error {
	if speed < 0.1 || speed > 1000 {
		return exit.Usage("--speed %v: want 0.1 to 1000", speed)
	}
	played, err := play(cmd.Context(), speed)
	if err != nil {
		return exit.Failed(err)
	}
	defer played.close()
	c, err := client.New(client.Config{Server: played.srv.URL})
	if err != nil {
		return exit.Failed(err)
	}
	defer c.CloseIdleConnections()
	return serve(cmd, o, ui.Options{Client: c, Name: "demo", Keep: []string{"services", "configmaps"}}, t)
}
