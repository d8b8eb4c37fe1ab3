// Package cluster runs a real kube-apiserver with its etcd on loopback, for
// tests that must see what Kubernetes really does, and offers the faults that
// such tests need: a killed and restarted apiserver, a compacted etcd, and a
// TCP proxy that cuts, holds, forgets, delays and refuses connections (Proxy).
//
// There is no kubelet and no scheduler: pods stay Pending, and nothing writes
// objects but the test, apart from the apiserver's own (namespaces, RBAC, leases,
// the kubernetes service). A real kube-controller-manager runs where it is asked
// for. The ServiceAccount admission plugin is off, so that pods need no service
// account.
//
// Programs come from package binaries, which builds them on first use. A
// cluster starts in seconds and takes about 300 MB of memory. It stops every
// process that it started and no other; on Linux the processes also die with
// the test that started them, however it ends.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/listwatch/listwatch/e2e/binaries"
)

// Options choose how a cluster runs. The zero value is good for most tests.
type Options struct {
	// Progress gets a line for each slow step, such as a build. Default: os.Stderr.
	Progress io.Writer
	// APIServerArgs are added after the harness's own flags of kube-apiserver,
	// and so win over them.
	APIServerArgs []string
	// ControllerManager has Start run a kube-controller-manager too, as
	// StartControllerManager does. Default: none.
	ControllerManager bool
	// ControllerManagerArgs are added after the harness's own flags of it.
	ControllerManagerArgs []string
	// StartTimeout bounds each start of a process until it is ready. Default: 60 s.
	StartTimeout time.Duration
}

// Cluster is a running kube-apiserver and etcd. Its methods may be called from
// any goroutine; those that start and stop a program wait for each other.
type Cluster struct {
	dir       string
	options   Options
	pki       *pki
	client    *http.Client
	transport *http.Transport
	admin     string
	user      string

	apiServerPath string
	port          int // the apiserver's, the same over restarts
	etcdPort      int
	etcd          *process

	mu                sync.Mutex
	apiServer         *process // nil while it is down
	controllerManager *process // nil where there is none
}

// Start builds the programs if needed, starts etcd and the apiserver and
// returns when /readyz says ok and the default namespace exists. ctx bounds
// the start only: Stop ends the cluster. On an error nothing is left running
// and the error carries the end of the failed program's log.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if o.Progress == nil {
		o.Progress = os.Stderr
	}
	if o.StartTimeout <= 0 {
		o.StartTimeout = 60 * time.Second
	}
	etcdPath, err := binaries.Ensure(ctx, binaries.Etcd, o.Progress)
	if err != nil {
		return nil, err
	}
	apiServerPath, err := binaries.Ensure(ctx, binaries.APIServer, o.Progress)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "listwatch-e2e-")
	if err != nil {
		return nil, fmt.Errorf("make the cluster's folder: %w", err)
	}
	c := &Cluster{dir: dir, options: o, apiServerPath: apiServerPath, admin: randomToken(), user: randomToken()}
	if err := c.start(ctx, etcdPath); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, etcdPath string) error {
	var err error
	if c.pki, err = newPKI(c.dir); err != nil {
		return fmt.Errorf("make certificates: %w", err)
	}
	if err := c.writeTokens(); err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	c.transport = c.newTransport()
	c.client = &http.Client{Transport: c.Authorize(c.transport)}
	if err := c.startEtcd(ctx, etcdPath); err != nil {
		return err
	}
	// The port was free when it was chosen and may be taken a moment later.
	for range 3 {
		if c.port, err = freePort(); err != nil {
			return err
		}
		if err = c.StartAPIServer(ctx); !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil || !c.options.ControllerManager {
		return err
	}
	return c.StartControllerManager(ctx)
}

// Stop kills all that runs, waits for their end and removes the
// cluster's folder. It may be called more than once.
func (c *Cluster) Stop() error {
	err := errors.Join(c.KillControllerManager(), c.KillAPIServer())
	if c.etcd != nil {
		err = errors.Join(err, c.etcd.kill())
	}
	if c.client != nil {
		c.client.CloseIdleConnections()
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}

// Dir returns the cluster's own folder: certificates, logs (apiserver.log,
// etcd.log, controller-manager.log) and data. Stop removes it.
func (c *Cluster) Dir() string { return c.dir }

// Addr returns the apiserver's host:port, for a Proxy's target.
func (c *Cluster) Addr() string { return fmt.Sprintf("127.0.0.1:%d", c.port) }

// URL returns the apiserver's base URL, without a trailing slash.
func (c *Cluster) URL() string { return "https://" + c.Addr() }

// LogTail returns the last lines of all logs that are more than information, for
// a failed test's output.
func (c *Cluster) LogTail() string {
	text := ""
	for _, name := range []string{"etcd.log", "apiserver.log", "controller-manager.log"} {
		if _, err := os.Stat(filepath.Join(c.dir, name)); err != nil {
			continue // it never ran
		}
		text += "--- " + name + "\n"
		for line := range strings.Lines(logTail(filepath.Join(c.dir, name), 200)) {
			if !strings.HasPrefix(line, "I") { // klog's mark
				text += line
			}
		}
		text += "\n"
	}
	return text
}
