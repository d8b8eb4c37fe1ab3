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
	"sync"
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
with their history, the changes with their times, and the times that were not observed.
The page cannot change the cluster, and does not show the values of Secrets.

The link on stderr opens the page in one browser; press Enter for another link.
Pods, workloads, nodes, events and the given types are always watched; Services, ConfigMaps,
Ingresses, NetworkPolicies, ResourceQuotas, PersistentVolumeClaims and autoscalers too, while
half of --memory is free; other types are watched while a page shows them. --history keeps
the states of the types that are always watched on disk.`,
		Example: `  listwatch ui
  listwatch ui --history ~/history/prod
  listwatch ui --recording incident.lwrec.ndjson.gz
  listwatch ui certificates.cert-manager.io --context prod --open
  listwatch ui --context prod-eu,prod-us`,
		RunE: func(cmd *cobra.Command, args []string) error { return run(p, cmd, args, o) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.serving.Register(f)
	f.StringVar(&o.recording, "recording", "", "show this recording of listwatch record, not a cluster")
	f.StringVar(&o.history, "history", "", "keep the states of the types that are always watched in this folder, for the next run, without the values of Secrets")
	f.Int64Var(&o.disk, "history-size", 1024, "keep at most this many MiB of files in --history")
	f.DurationVar(&o.age, "history-age", 7*24*time.Hour, "keep states in --history for this long")
	f.StringVar(&o.basePath, "base-path", "", "serve the page behind a proxy under this path, such as /live; the proxy may keep or remove the path, and must keep the Host header")
	f.StringVar(&o.auth, "auth", "token", "admit by: token (browsers with the printed link) or token-review (people with a token of the cluster, who see what SubjectAccessReview allows; only behind TLS)")
	f.StringSliceVar(&o.audiences, "audience", nil, "require this audience in the tokens of --auth token-review (default that of the server)")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing on stderr but the link and why the program ended")
	f.StringVar(&o.logFormat, "log-format", "text", "write messages to stderr as text or json")
	o.connection.Register(f)
	o.connection.AllowClusters(f)
	f.Lookup("context").Usage = "use this context of the kubeconfig, or several: a,b; may be repeated; each cluster has a page, with links to the others"
	complete.Objects(p, cmd, &o.connection)
	return cmd
}

// Register adds the flags.
func (o *Serving) Register(f *pflag.FlagSet) {
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "serve the page at this address and port (0 = a free port)")
	f.StringSliceVar(&o.acceptHosts, "accept-host", nil, "accept requests that name this host, besides those of the loopback and, with another --listen, IP addresses")
	f.BoolVar(&o.browser, "open", false, "open the page in a browser")
	f.Int64Var(&o.memory, "memory", 256, "keep at most this many MiB of objects of each cluster")
	f.Int64Var(&o.history, "history-memory", 64, "keep at most this many MiB of earlier states of each cluster")
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
		return serve(cmd, &o.serving, o.basePath, t, ui.Options{Recording: recorded(rec), Name: filepath.Base(o.recording)})
	}
	if o.disk < 1 || o.disk > 1<<20 || o.age < time.Minute {
		return exit.Usage("--history-size: want 1 to 1048576 MiB, and --history-age a minute or more")
	}
	clusters, err := o.connection.LoadAll(p, t)
	if err != nil {
		return err
	}
	if len(clusters) > 1 && o.auth != "token" {
		return exit.Usage("--auth token-review is for one cluster: give one --context")
	}
	var pages []ui.Options
	for _, c := range clusters {
		defer c.Client.CloseIdleConnections()
		keep, err := types(cmd.Context(), c.Client, names)
		if err != nil {
			return err
		}
		page := ui.Options{Client: c.Client, Name: c.Config.Context, Keep: keep, TokenReview: o.auth == "token-review", Audiences: o.audiences, History: o.history, Limits: ui.Limits{Disk: o.disk << 20, Age: o.age}}
		if page.History != "" && len(clusters) > 1 {
			page.History = filepath.Join(o.history, folder(c.Name))
		}
		page.HistoryFailed = func(err error) { historyFailed(t, page.History, err) }
		pages = append(pages, page)
	}
	return serve(cmd, &o.serving, o.basePath, t, pages...)
}

// historyFailed reports that the states in a folder are not written, or with nil that they
// are again.
func historyFailed(t *messages.Writer, folder string, err error) {
	if err == nil {
		t.Info("history", "states are written to "+folder+" again", "history written")
		return
	}
	t.Warn("history", "states are not written to "+folder+": "+err.Error()+"; the page continues without them, and retries every minute", "history not written", "err", printable.Line(err.Error()))
}

// serve serves pages below a path until it is stopped.
func serve(cmd *cobra.Command, o *Serving, base string, t *messages.Writer, pages ...ui.Options) error {
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
	site := &site{base: base}
	for _, opts := range pages {
		opts.Bound, opts.Hosts = l.Addr().String(), o.acceptHosts
		if !opts.TokenReview { // for one person, who may use the memory and the ports of this machine
			opts.Filter = jq.Condition
			opts.OpenMoment = openMoment(ctx)
		}
		opts.Limits.Objects, opts.Limits.History = o.memory<<20, o.history<<20
		if err := site.add(opts, len(pages) > 1); err != nil {
			return exit.Failed(err)
		}
	}
	if err := ui.Link(site.pages...); err != nil && len(pages) > 1 {
		return exit.Failed(err)
	}
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for _, u := range site.pages {
		running.Go(func() { _ = u.Run(ctx) }) // it ends with ctx only
	}
	served := listenAndServe(ctx, l, site)
	link := func() string {
		page := "http://" + l.Addr().String() + site.paths[0] + "/"
		if pages[0].TokenReview {
			return page
		}
		return page + "#token=" + site.pages[0].Token()
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
	running.Wait()
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return exit.Failed(err)
	}
	return context.Cause(ctx)
}

// garbage is how much of it there may be, in percent of what is in use. Most of the memory
// of a page is kept for long, and the default of 100 would double it.
const garbage = 27

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
	return serve(cmd, o, "", t, ui.Options{Client: c, Name: "demo"})
}
