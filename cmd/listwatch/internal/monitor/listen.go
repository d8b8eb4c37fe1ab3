package monitor

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/listen"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/guard"
	"github.com/listwatch/listwatch/metrics"
)

// Flags are the flags of a program that runs for long.
type Flags struct {
	listen       string
	acceptHosts  []string
	maxStaleness time.Duration
}

func (o *Flags) Register(f *pflag.FlagSet) {
	f.StringVar(&o.listen, "listen", "", "serve /metrics, /healthz, /readyz and /debug/state at this address, such as 127.0.0.1:8080 or 0.0.0.0:8080; a port alone means 127.0.0.1, port 0 a free port (default off)")
	f.StringSliceVar(&o.acceptHosts, "accept-host", nil, "accept requests to --listen that name this host, besides those of the loopback and, with another address, IP addresses (* = any)")
	f.DurationVar(&o.maxStaleness, "max-staleness", 0, "end with exit code 1 when the server of a watch has sent nothing for this long; /readyz fails then too (default never; /readyz after 1m30s)")
}

// check returns an error for invalid values, and the address to listen at.
func (o *Flags) check(cmd *cobra.Command) (address string, open bool, err error) {
	if o.maxStaleness <= 0 && cmd.Flags().Changed("max-staleness") {
		return "", false, exit.Usage("--max-staleness %v: want more than 0", o.maxStaleness)
	}
	if o.listen == "" {
		if cmd.Flags().Changed("accept-host") {
			return "", false, exit.Usage("--accept-host is for --listen: give both")
		}
		if cmd.Flags().Changed("listen") {
			return "", false, exit.Usage(`--listen "": want an address and a port, such as 127.0.0.1:8080`)
		}
		return "", false, nil
	}
	address = o.listen
	if port := strings.TrimPrefix(address, ":"); port != "" && strings.Trim(port, "0123456789") == "" {
		address = "127.0.0.1:" + port
	}
	return listen.Address("--listen", address)
}

// Start returns a monitor, and serves it if --listen is set. closed stops the server
// and waits for it.
func (o *Flags) Start(ctx context.Context, cmd *cobra.Command, t *messages.Writer) (m *Monitor, closed func(), err error) {
	address, open, err := o.check(cmd)
	if err != nil {
		return nil, nil, err
	}
	m = &Monitor{limit: StaleAfter}
	if o.maxStaleness > 0 {
		m.limit, m.end = o.maxStaleness, true
	}
	if address == "" {
		return m, func() {}, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, nil, listen.Error("--listen", o.listen, err)
	}
	if open {
		t.Note("--listen " + o.listen + ": whoever reaches this machine can read the state of the watches, though nothing of the objects")
	}
	t.Info("listen", "serving /metrics, /healthz, /readyz and /debug/state at http://"+l.Addr().String(), "listening", "url", "http://"+l.Addr().String())
	stop := listen.Serve(ctx, l, m.handler(), o.acceptHosts, 0)
	return m, func() { _ = stop() }, nil // it ends only by stop
}

// handler serves the state of the run. It never waits for a stream.
func (m *Monitor) handler() http.Handler {
	r := metrics.New()
	r.MustRegister(scraper{m})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", r.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { sayText(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := m.NotReady(); len(why) > 0 {
			sayText(w, http.StatusServiceUnavailable, strings.Join(why, "\n"))
			return
		}
		sayText(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET /debug/state", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.Encode(m.state()) // an error means that the client has left
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		sayText(w, http.StatusOK, "listwatch: /metrics /healthz /readyz /debug/state")
	})
	return guard.Prompt(mux) // the metrics answer four requests at a time
}

func sayText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	io.WriteString(w, text+"\n")
}

// runView is the whole of /debug/state.
type runView struct {
	Version      string       `json:"version"`
	Ready        bool         `json:"ready"`
	Reasons      []string     `json:"reasons,omitempty"`
	MaxStaleness string       `json:"maxStaleness"`
	Records      int64        `json:"recordsPrinted"`
	Bytes        int64        `json:"bytesWritten"`
	Streams      []streamView `json:"streams"`
}

func (m *Monitor) state() runView {
	why := m.NotReady()
	return runView{Version: cli.ThisBuild().Version, Ready: len(why) == 0, Reasons: why, MaxStaleness: m.limit.String(),
		Records: m.Printed.Load(), Bytes: m.written.Load(), Streams: m.views()}
}
