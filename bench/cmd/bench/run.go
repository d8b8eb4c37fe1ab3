package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/bench/probe"
)

// build builds the server and the clients into dir.
func build(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator), "./cmd/server", "./client/ours", "./client/typed", "./client/peers", "./cmd/store", "./cmd/queue", "./cmd/rows")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// workshop runs clients, one at a time, against a server that it starts.
type workshop struct {
	options
	dir    string
	report *report // of how long things took

	server *exec.Cmd
	url    string
	http   *http.Client // trusts the server
	of     benchCase    // whose objects and transport the server has
}

// run runs the cases of a group: rounds of all their clients, so that what else
// happens on the machine meets all of them.
func (w *workshop) run(ctx context.Context, group []benchCase) ([]outcome, error) {
	var out []outcome
	for _, c := range group {
		out = append(out, outcome{Case: c, Runs: map[string][]probe.Result{}})
	}
	for round := range w.runs {
		for _, o := range out {
			if err := w.report.timed(o.Case.Name, func() error { return w.round(ctx, o, round) }); err != nil {
				return nil, fmt.Errorf("%s: %w", o.Case.Name, err)
			}
		}
	}
	return out, nil
}

// round runs each client of a case once, or the fast ones.
func (w *workshop) round(ctx context.Context, o outcome, round int) error {
	c := o.Case
	for _, name := range append(slices.Clone(c.Clients), c.Slow...) {
		if !w.client.MatchString(name) || round > 0 && slices.Contains(c.Slow, name) {
			continue
		}
		if err := w.serve(ctx, c); err != nil {
			return err
		}
		mine := c
		mine.Events = c.events(name)
		res, err := w.one(ctx, mine, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		progress("%s: %s: sync %.2f s CPU, events %.2f s CPU, heap %.0f MB", c.Name, name, res.Sync.CPU(), res.Run.CPU(), float64(res.Heap)/1e6)
		o.Runs[name] = append(o.Runs[name], res)
	}
	return nil
}

// one runs one client once. One that begins warm has the snapshot of a client
// that ended before the events.
func (w *workshop) one(ctx context.Context, c benchCase, name string) (probe.Result, error) {
	if !strings.HasSuffix(name, "-warm") {
		return w.measure(ctx, c, name, "")
	}
	dir, err := os.MkdirTemp(w.dir, "snapshot")
	if err != nil {
		return probe.Result{}, err
	}
	defer os.RemoveAll(dir)
	before, snapshot := c, filepath.Join(dir, "objects")
	before.Events = 0
	if _, err := w.measure(ctx, before, name, snapshot); err != nil {
		return probe.Result{}, fmt.Errorf("save a snapshot: %w", err)
	}
	if _, err := os.Stat(snapshot); err != nil {
		return probe.Result{}, fmt.Errorf("no snapshot was saved: %w", err)
	}
	return w.measure(ctx, c, name, snapshot)
}

// measure runs one client once, and checks that it did its work.
func (w *workshop) measure(ctx context.Context, c benchCase, name, snapshot string) (probe.Result, error) {
	var res probe.Result
	s, ok := subjects[name]
	if !ok {
		return res, fmt.Errorf("no such client")
	}
	q := url.Values{"events": {strconv.Itoa(c.Events)}, "rate": {strconv.Itoa(c.Rate)}, "initial": {c.Initial}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/bench/reset?"+q.Encode(), nil)
	if err != nil {
		return res, err
	}
	req.Header.Set("Accept", s.accept)
	resp, err := w.http.Do(req)
	if err != nil {
		return res, err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return res, fmt.Errorf("reset: %s", resp.Status)
	}

	cmd := exec.CommandContext(ctx, filepath.Join(w.dir, s.program), "-server", w.url, "-ca", w.ca(c), "-client", name, "-kind", c.Kind, "-initial", c.Initial,
		"-handlers", strconv.Itoa(c.Handlers), "-informers", strconv.Itoa(c.Informers), "-rate", strconv.Itoa(c.Rate), "-snapshot", snapshot)
	cmd.Env = append(os.Environ(), fmt.Sprintf("KUBE_FEATURE_WatchListClient=%t", c.Initial == probe.Stream))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return res, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	if err := json.Unmarshal(stdout.Bytes(), &res); err != nil {
		return res, err
	}
	if strings.HasPrefix(name, "floor") {
		return res, nil
	}
	merged := c.Name == reconciled && res.Calls < c.Events // some; latency wants nine tenths of them
	if res.Stored != c.Objects || res.Calls != c.Events*c.Handlers && !merged {
		return res, fmt.Errorf("%d objects stored, want %d; %d calls of handlers, want %d", res.Stored, c.Objects, res.Calls, c.Events*c.Handlers)
	}
	return res, nil
}

// ca returns the file with the authority of the server of a case; empty with plain HTTP.
func (w *workshop) ca(c benchCase) string {
	if c.Transport == "" {
		return ""
	}
	return filepath.Join(w.dir, "ca.pem")
}

// serve sees to it that the server has the objects of a case, and its transport.
func (w *workshop) serve(ctx context.Context, c benchCase) error {
	if w.server != nil && w.of.Kind == c.Kind && w.of.Objects == c.Objects && w.of.Transport == c.Transport {
		return nil
	}
	w.close()
	cmd := exec.CommandContext(ctx, filepath.Join(w.dir, "server"), "-kind", c.Kind, "-objects", strconv.Itoa(c.Objects),
		"-transport", cmp.Or(c.Transport, probe.Plain), "-ca", w.ca(c))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	w.server, w.of = cmd, c
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	w.url, w.http = strings.TrimSpace(line), http.DefaultClient
	if c.Transport == "" {
		return nil
	}
	trust, err := probe.Trust(w.ca(c))
	w.http = &http.Client{Transport: &http.Transport{TLSClientConfig: trust}}
	return err
}

// close ends the server.
func (w *workshop) close() {
	if w.server == nil {
		return
	}
	_ = w.server.Process.Kill()
	_ = w.server.Wait() // it was killed
	w.server = nil
}
