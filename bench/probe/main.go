package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Run is what a client is asked to do: one informer for each element of Sinks,
// with one handler for each of its sinks.
type Run struct {
	Server  string // base URL
	CA      string // file with the authority of the server's certificate; empty = plain HTTP
	Client  string // which of the clients in this program
	Path    string // of the collection of all namespaces
	Kind    string // plural
	Initial string // Stream or Paged
	Sinks   [][]*Sink

	// TLS trusts CA; nil with plain HTTP.
	TLS *tls.Config

	// Snapshot is a file that the client begins with, if it is there, and leaves
	// behind at its end; empty = none.
	Snapshot string

	// Synced holds up the end of the synchronisation, besides the sinks: a client
	// that can tell when it is synced adds to it in its Start.
	Synced *sync.WaitGroup

	// Close, which a client may set in its Start, ends it. It is called after
	// everything was measured.
	Close func()
}

// Namespace returns the namespace that the i-th informer watches; all of them
// where there is only one informer.
func (r *Run) Namespace(i int) string {
	if len(r.Sinks) == 1 {
		return ""
	}
	return fmt.Sprintf("team-%02d", i)
}

// Start starts a client and returns at once. Stored returns the number of
// objects that it holds. A client that fails sends an error to failed.
type Start func(ctx context.Context, r *Run, failed chan<- error) (stored func() int, err error)

// Main measures a client, as the command line says, and prints its Result as
// JSON.
func Main(start Start) {
	if err := run(start); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[0], err)
		os.Exit(1)
	}
}

func run(start Start) error {
	r := &Run{}
	res := Result{}
	flag.StringVar(&r.Server, "server", "", "URL of the benchmark's server")
	flag.StringVar(&r.CA, "ca", "", "file with the authority of the server's certificate")
	flag.StringVar(&r.Client, "client", "", "which client to run")
	flag.StringVar(&r.Kind, "kind", "pods", "plural of what the server serves")
	flag.StringVar(&r.Initial, "initial", Stream, "how to learn what exists: stream or paged")
	flag.IntVar(&res.Handlers, "handlers", 1, "handlers on each informer")
	flag.IntVar(&res.Informers, "informers", 1, "informers: 1, or 50 of a namespace each")
	flag.StringVar(&r.Snapshot, "snapshot", "", "file to begin with, and to leave behind at the end")
	flag.IntVar(&res.Rate, "rate", 0, "events a second that the server sends, which makes latency be measured")
	syncProfile := flag.String("profile-sync", "", "file for a CPU profile of the synchronisation")
	runProfile := flag.String("profile-events", "", "file for a CPU profile of the events")
	limit := flag.Duration("timeout", 10*time.Minute, "give up after")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, *limit, errors.New("the client did not finish"))
	defer cancel()

	if err := r.trust(); err != nil {
		return err
	}

	var synced, done sync.WaitGroup
	var info Info
	if err := call(ctx, http.MethodGet, r.Server+"/bench/info", &info); err != nil {
		return err
	}
	r.Path = info.Path
	r.Synced = &synced
	res.Client, res.Kind, res.Initial, res.Objects, res.Events = r.Client, r.Kind, r.Initial, info.Objects, info.Events

	r.sinks(res, info, &synced, &done)
	synced.Add(res.Informers * res.Handlers)
	done.Add(res.Informers * res.Handlers)

	var err error
	res.HeapBase, _ = live()
	if res.PeakBase, err = Peak(); err != nil {
		return err
	}
	failed := make(chan error, res.Informers)
	var stored func() int
	res.Sync, err = phase(ctx, *syncProfile, &synced, failed, func() (err error) {
		stored, err = start(ctx, r, failed)
		return err
	})
	if err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	if res.PeakSync, err = Peak(); err != nil {
		return err
	}
	res.HeapSync, _ = live()
	res.HeapSync -= min(res.HeapSync, res.HeapBase)

	res.Run, err = phase(ctx, *runProfile, &done, failed, func() error { return call(ctx, http.MethodPost, r.Server+"/bench/go", nil) })
	if err != nil {
		return fmt.Errorf("events: %w", err)
	}
	if res.Peak, err = Peak(); err != nil {
		return err
	}
	res.Heap, res.HeapInuse = live()
	res.Heap -= min(res.Heap, res.HeapBase)
	res.Stored = stored()
	for _, sinks := range r.Sinks {
		for _, s := range sinks {
			res.Calls += max(0, s.seen-s.objects)
		}
	}
	if res.Rate > 0 {
		if res.Latency, err = latency(ctx, r); err != nil {
			return err
		}
	}
	if err := call(ctx, http.MethodGet, r.Server+"/bench/info", &info); err != nil {
		return err
	}
	res.Lists, res.Watches, res.PeakServer = info.Lists, info.Watches, info.Peak
	if r.Close != nil {
		r.Close()
	}
	runtime.KeepAlive(stored)
	return json.NewEncoder(os.Stdout).Encode(res)
}

// sinks makes the sinks of a run: one for each handler of each informer.
func (r *Run) sinks(res Result, info Info, synced, done *sync.WaitGroup) {
	n, m := info.Objects/res.Informers, info.Events/res.Informers
	for range res.Informers {
		var sinks []*Sink
		for range res.Handlers {
			s := &Sink{objects: n, last: strconv.FormatInt(info.Revision+int64(m), 10), synced: synced, done: done, base: info.Revision}
			if res.Rate > 0 {
				s.received = make([]int64, m)
			}
			sinks = append(sinks, s)
		}
		r.Sinks = append(r.Sinks, sinks)
	}
}

// trust reads the authority of the server's certificate.
func (r *Run) trust() error {
	if r.CA == "" {
		return nil
	}
	var err error
	if r.TLS, err = Trust(r.CA); err == nil {
		http.DefaultTransport.(*http.Transport).TLSClientConfig = r.TLS.Clone()
	}
	return err
}

// Trust returns the configuration of a client that trusts the authority in a file.
func Trust(file string) (*tls.Config, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(b)
	return &tls.Config{RootCAs: pool}, nil
}

// phase measures from begin until wg is done.
func phase(ctx context.Context, profile string, wg *sync.WaitGroup, failed <-chan error, begin func() error) (Phase, error) {
	end, err := Profile(profile)
	if err != nil {
		return Phase{}, err
	}
	defer end()
	from := read()
	if err := begin(); err != nil {
		return Phase{}, err
	}
	over := make(chan struct{})
	go func() {
		wg.Wait()
		close(over)
	}()
	select {
	case <-over:
		return from.to(read()), nil
	case err := <-failed:
		return Phase{}, err
	case <-ctx.Done():
		return Phase{}, context.Cause(ctx)
	}
}

// latency compares when events were written with when the first handler saw
// them.
func latency(ctx context.Context, r *Run) (*Latency, error) {
	var sent []int64
	if err := call(ctx, http.MethodGet, r.Server+"/bench/sent", &sent); err != nil {
		return nil, err
	}
	received := r.Sinks[0][0].received
	var took []int64
	for k, at := range received {
		if at != 0 && k < len(sent) {
			took = append(took, at-sent[k])
		}
	}
	if len(took) < len(sent)*9/10 {
		return nil, fmt.Errorf("only %d of %d events were seen", len(took), len(sent))
	}
	slices.Sort(took)
	at := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))]) / 1e3 }
	return &Latency{at(0.5), at(0.9), at(0.99), at(1)}, nil
}

func call(ctx context.Context, method, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(into)
}
