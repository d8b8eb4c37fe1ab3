package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// besideKubectl is how -only names the comparison of the program with kubectl.
const besideKubectl = "kubectl"

// viewing is the program beside kubectl, both printing the same collection.
type viewing struct {
	What    string
	Objects int
	Events  int
	Header  bool     `json:"-"`          // the first line is no object
	Output  []string `json:",omitempty"` // more flags, for both
	Turns   int
	Slow    int `json:",omitempty"` // turns of kubectl; 0 = as many
	Ours    []view
	Theirs  []view
}

func viewings(o options) []viewing {
	all := []viewing{
		{What: "10,000 pods", Objects: 10000, Events: 10000, Header: true, Turns: 5},
		{What: "50,000 pods", Objects: 50000, Events: 10000, Header: true, Turns: 3, Slow: 1},
	}
	if o.quick {
		all = all[:1]
		all[0].Objects, all[0].Events = 1000, 1000
	}
	for i := range all {
		all[i].Turns = min(all[i].Turns, max(1, 2*o.runs-1))
	}
	return all
}

// programs are what is compared.
type programs struct{ listwatch, kubectl string }

// findPrograms builds the program as its users do, and kubectl as module e2e
// does, whose build is kept between runs.
func findPrograms(ctx context.Context, dir, kubectl string) (programs, error) {
	p := programs{listwatch: filepath.Join(dir, "listwatch"), kubectl: kubectl}
	if kubectl == "" {
		progress("building kubectl, unless that was done before")
		cmd := exec.CommandContext(ctx, "go", "run", "./cmd/build", "kubectl")
		cmd.Dir, cmd.Stderr = filepath.Join("..", "e2e"), os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return p, fmt.Errorf("build kubectl: %w", err)
		}
		p.kubectl = strings.TrimSpace(string(out))
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", p.listwatch, "./cmd/listwatch")
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	if err := cmd.Run(); err != nil {
		return p, fmt.Errorf("build listwatch: %w", err)
	}
	return p, nil
}

// compare runs all viewings.
func (p programs) compare(ctx context.Context, dir string, o options) ([]viewing, error) {
	if o.cluster != "" {
		v := viewing{What: fmt.Sprintf("%d pods of a real cluster", o.pods), Objects: o.pods, Header: true, Turns: 3}
		err := v.runOn(ctx, dir, o.cluster, p)
		return []viewing{v}, err
	}
	all := viewings(o)
	for i := range all {
		if err := all[i].run(ctx, dir, p); err != nil {
			return nil, fmt.Errorf("beside kubectl: %s: %w", all[i].What, err)
		}
	}
	return all, nil
}

// run lets both programs print the collection, in turns, from a server that has
// recorded what it answers to each. The recording does not count.
func (v *viewing) run(ctx context.Context, dir string, p programs) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the server
	server := exec.CommandContext(ctx, filepath.Join(dir, "rows"), "-objects", strconv.Itoa(v.Objects), "-events", strconv.Itoa(v.Events), "ours", "theirs")
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	defer func() {
		cancel()
		_ = server.Wait() // it was killed
	}()
	sides := v.sides(p)
	urls := bufio.NewReader(out)
	for _, s := range sides {
		line, err := urls.ReadString('\n')
		if err != nil {
			return fmt.Errorf("server: %w", err)
		}
		s.url = strings.TrimSpace(line)
		if err := s.settle(dir, fmt.Appendf(nil, kubeconfig, s.url)); err != nil {
			return err
		}
	}
	return v.turns(ctx, sides)
}

// runOn lets both print the pods of a real cluster, which do not change. The
// first turn, which does not count, fills the caches of both and of the server.
func (v *viewing) runOn(ctx context.Context, dir, kubeconfig string, p programs) error {
	b, err := os.ReadFile(kubeconfig)
	if err != nil {
		return err
	}
	sides := v.sides(p)
	for _, s := range sides {
		if err := s.settle(dir, b); err != nil {
			return err
		}
	}
	return v.turns(ctx, sides)
}

func (v *viewing) sides(p programs) []*viewer {
	return []*viewer{
		{name: "listwatch", program: p.listwatch, args: slices.Concat([]string{"watch", "pods", "-A"}, v.Output), runs: &v.Ours},
		{name: "kubectl", program: p.kubectl, args: slices.Concat([]string{"get", "pods", "-A", "-w"}, v.Output), runs: &v.Theirs},
	}
}

func (v *viewing) turns(ctx context.Context, sides []*viewer) error {
	for turn := range v.Turns + 1 {
		for i, s := range sides {
			if i == 1 && v.Slow > 0 && turn > v.Slow {
				continue
			}
			got, err := s.watch(ctx, v)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if turn > 0 {
				*s.runs = append(*s.runs, got)
			}
			progress("beside kubectl: %s: turn %d: %s: first row %.2f s, all %.2f s, CPU %.2f s, peak %.0f MB; with events CPU %.2f s, peak %.0f MB",
				v.What, turn, s.name, got.First, got.All, got.CPU, float64(got.Peak)/1e6, got.EventsCPU, float64(got.PeakAll)/1e6)
		}
	}
	return nil
}

// viewer is one of the two, with its own address of the server and its own home.
type viewer struct {
	name    string
	program string
	args    []string
	url     string // of a server that records; "" = a real one
	home    string
	runs    *[]view
}

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: bench, cluster: {server: %q}}]
users: [{name: bench, user: {}}]
contexts: [{name: bench, context: {cluster: bench, user: bench}}]
current-context: bench
`

// settle makes a home with a kubeconfig.
func (s *viewer) settle(dir string, kubeconfig []byte) (err error) {
	if s.home, err = os.MkdirTemp(dir, s.name); err != nil {
		return err
	}
	config := filepath.Join(s.home, "kubeconfig")
	s.args = append(s.args, "--kubeconfig", config)
	return os.WriteFile(config, kubeconfig, 0o600)
}

// post tells the server something, unless it is a real one.
func (s *viewer) post(ctx context.Context, what string) error {
	if s.url == "" {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/bench/"+what, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := bufio.NewReader(resp.Body).ReadString('\n')
		return fmt.Errorf("%s: %s: %s", what, resp.Status, strings.TrimSpace(text))
	}
	return nil
}
