package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/connect"
	"github.com/listwatch/listwatch/apitest/simulate"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
)

// run is what one process of an operator took.
type run struct {
	One, Many, Peak float64 // bytes
	Private         float64 // of One, without the pages of the program's file, which processes share
	Requests        float64 // for each object
	Quiet           float64 // while nothing changed
	CPU, Ready      float64 // seconds
}

var databases = kube.Resource{Group: "example.com", Version: "v1", Plural: "databases", Kind: "Database", Namespaced: true}

// play runs an operator on a server of its own.
func (o options) play(ctx context.Context, p *operator, dir string) (r run, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 5*time.Minute, errors.New("it does not become ready"))
	defer cancel()
	srv, err := apitest.Start(apitest.Options{TLS: true, CollectGarbage: true})
	if err != nil {
		return r, err
	}
	defer srv.Close()
	done := make(chan error)
	go func() { done <- simulate.New(srv, simulate.Options{}).Run(ctx) }()
	defer func() { cancel(); <-done }()
	c, err := client.New(connect.Config(srv))
	if err != nil {
		return r, err
	}
	defer c.CloseIdleConnections()
	if err := define(ctx, c); err != nil {
		return r, err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := writeKubeconfig(srv, kubeconfig); err != nil {
		return r, err
	}
	port, err := freePort()
	if err != nil {
		return r, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return r, err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, p.file, p.args(kubeconfig, dir, port)...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return r, err
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
		if err != nil {
			text, _ := os.ReadFile(log.Name())
			err = fmt.Errorf("%w\n%s", err, text[max(0, len(text)-4000):])
		}
	}()
	w := &world{srv: srv, client: c, pid: cmd.Process.Pid, program: filepath.Base(p.file)}
	return r, w.measure(ctx, o, &r)
}

// world is a server with an operator.
type world struct {
	srv     *apitest.Server
	client  *client.Client
	pid     int
	program string
}

func (w *world) measure(ctx context.Context, o options, r *run) (err error) {
	if err := w.create(ctx, "first", 1); err != nil {
		return err
	}
	time.Sleep(o.Idle)
	if r.One, err = w.memory("VmRSS:"); err != nil {
		return err
	}
	if r.Private, err = w.memory("RssAnon:"); err != nil {
		return err
	}
	w.srv.ForgetRequests()
	began, used := time.Now(), w.processor()
	if err := w.create(ctx, "many", o.Objects); err != nil {
		return err
	}
	r.Ready, r.CPU = time.Since(began).Seconds(), w.processor()-used
	r.Requests = float64(w.requests()) / float64(o.Objects)
	time.Sleep(o.Idle)
	w.srv.ForgetRequests()
	time.Sleep(o.Idle)
	r.Quiet = float64(w.requests())
	if r.Many, err = w.memory("VmRSS:"); err != nil {
		return err
	}
	r.Peak, err = w.memory("VmHWM:")
	return err
}

// create creates n Databases, and waits until all are ready.
func (w *world) create(ctx context.Context, ns string, n int) error {
	all := client.Of[database](w.client, databases).In(ns)
	for i := range n {
		d := database{Meta: kube.Meta{Namespace: ns, Name: fmt.Sprintf("d%03d", i)}}
		d.Spec = map[string]any{"image": "postgres:18", "replicas": 1, "storage": map[string]any{"size": "1Gi"}}
		if _, err := all.Create(ctx, d); err != nil {
			return err
		}
	}
	for {
		ready := 0
		for d, err := range list.New(all, list.Options{}).All(ctx) {
			if err != nil {
				return err
			}
			if c, _ := kube.ConditionOf(d.Status.Conditions, "Ready"); c.Status == kube.ConditionTrue {
				ready++
			}
		}
		if ready == n {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d are ready: %w", ready, n, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

type database struct {
	kube.Meta `json:"metadata"`
	Spec      map[string]any `json:"spec"`
	Status    struct {
		Conditions []kube.Condition `json:"conditions,omitempty"`
	} `json:"status,omitzero"`
}

// requests counts those of the operator, Events and leases aside.
func (w *world) requests() (n int) {
	for _, r := range w.srv.Requests() {
		agent := r.Header.Get("User-Agent")
		if !strings.HasPrefix(agent, w.program) && !strings.HasPrefix(agent, "database-operator") || r.Resource.Plural == "events" {
			continue
		}
		n++
	}
	return n
}

// memory reads a line of the process's status, in bytes.
func (w *world) memory(name string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			var kb float64
			_, err := fmt.Sscan(rest, &kb)
			return kb * 1024, err
		}
	}
	return 0, fmt.Errorf("there is no %s", name)
}

// processor returns the processor time of the process in seconds.
func (w *world) processor() float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	var user, system float64
	_, _ = fmt.Sscan(f[11]+" "+f[12], &user, &system)
	return (user + system) / 100 // USER_HZ
}

// define creates the definition, without conversion: the fake server does not call it.
func define(ctx context.Context, c *client.Client) error {
	text, err := os.ReadFile("../examples/database/manifests/crd.yaml")
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(text), "\n---\n")
	var tree map[string]any
	if err := yaml.Unmarshal([]byte(first), &tree); err != nil {
		return err
	}
	spec, _ := tree["spec"].(map[string]any)
	delete(spec, "conversion")
	body, err := codec.Encode(tree)
	if err != nil {
		return err
	}
	raw, err := codec.ParseRaw(body)
	if err != nil {
		return err
	}
	crds := kube.Resource{Group: "apiextensions.k8s.io", Version: "v1", Plural: "customresourcedefinitions", Kind: "CustomResourceDefinition"}
	_, err = client.Of[codec.Raw](c, crds).Create(ctx, raw)
	return err
}

func writeKubeconfig(srv *apitest.Server, path string) error {
	cfg := connect.Config(srv)
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "fake",
		"clusters": []any{map[string]any{"name": "fake", "cluster": map[string]any{"server": cfg.Server, "certificate-authority-data": cfg.TLS.CAData}}},
		"users":    []any{map[string]any{"name": "fake", "user": map[string]any{}}},
		"contexts": []any{map[string]any{"name": "fake", "context": map[string]any{"cluster": "fake", "user": "fake"}}},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// certificate writes a certificate for the webhooks of controller-runtime, which gets one from
// cert-manager otherwise.
func certificate(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	now := time.Now()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour), IPAddresses: []net.IP{{127, 0, 0, 1}}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "tls.crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600)
}
