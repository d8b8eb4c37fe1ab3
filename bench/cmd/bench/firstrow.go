package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/bench/workload"
	"github.com/listwatch/listwatch/kube"
)

// firstRow compares the time from the start of a program to its first row: the
// line after the header.
type firstRow struct {
	What    string
	Runs    int
	Ours    float64 // seconds, median
	Kubectl float64

	// Processor time of the program up to then, of the last run: the rest of
	// the time was the server's.
	OursCPU    float64
	KubectlCPU float64
}

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: bench, cluster: {server: %q}}]
users: [{name: bench, user: {}}]
contexts: [{name: bench, context: {cluster: bench, user: bench}}]
current-context: bench
`

// firstRows lets the program and kubectl watch 10,000 pods of the fake API
// server, which runs in this process. What both know of the server from earlier
// runs is in their caches.
func firstRows(ctx context.Context, dir, kubectl string) ([]firstRow, error) {
	const objects = 10000
	program := filepath.Join(dir, "listwatch")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/listwatch")
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("build listwatch: %w", err)
	}
	server, err := apitest.Start(apitest.Options{})
	if err != nil {
		return nil, err
	}
	defer server.Close()
	pods, err := workload.ByPlural("pods")
	if err != nil {
		return nil, err
	}
	templates, err := pods.Templates(workload.Form{})
	if err != nil {
		return nil, err
	}
	for i := range objects {
		server.Put(kube.Pods, templates[i%len(templates)].Append(nil, i, objects, 1))
	}
	config := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(config, fmt.Appendf(nil, kubeconfig, server.URL), 0o600); err != nil {
		return nil, err
	}

	const runs = 5
	row := firstRow{What: "listwatch watch pods -A, 10,000 pods", Runs: runs}
	var ours, theirs []float64
	for i := range runs + 1 {
		a, cpu, err := timeToRow(ctx, dir, program, "watch", "pods", "-A", "--kubeconfig", config)
		if err != nil {
			return nil, err
		}
		row.OursCPU = cpu
		b, cpu, err := timeToRow(ctx, dir, kubectl, "get", "pods", "-A", "-w", "--kubeconfig", config)
		if err != nil {
			return nil, err
		}
		row.KubectlCPU = cpu
		if i > 0 { // the first fills the caches
			ours, theirs = append(ours, a), append(theirs, b)
		}
		progress("first row: listwatch %.3f s (CPU %.3f s), kubectl %.3f s (CPU %.3f s)", a, row.OursCPU, b, row.KubectlCPU)
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	row.Ours, row.Kubectl = ours[runs/2], theirs[runs/2]
	return []firstRow{row}, nil
}

// timeToRow returns the seconds from the start of a program to the end of the
// second line of its output, and the processor time until it has been stopped
// then. Home, where it may keep a cache,
// is dir.
func timeToRow(ctx context.Context, dir, program string, args ...string) (took, cpu float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "HOME="+dir, "KUBECONFIG=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	r := bufio.NewReader(out)
	for range 2 {
		if _, err = r.ReadString('\n'); err != nil {
			break
		}
	}
	took = time.Since(began).Seconds()
	cancel()
	_ = cmd.Wait() // it was killed
	cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	if err != nil {
		return 0, 0, fmt.Errorf("%s: no row: %w: %s", filepath.Base(program), err, strings.TrimSpace(stderr.String()))
	}
	return took, cpu, nil
}
