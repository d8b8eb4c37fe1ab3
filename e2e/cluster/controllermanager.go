package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/listwatch/listwatch/e2e/binaries"
)

// controllers are those of kube-controller-manager that need neither a kubelet
// nor a cloud. Nobody sends heartbeats, so the one that watches for them is not
// among them: it would take every Node for dead.
var controllers = []string{
	"cronjob-controller",
	"daemonset-controller",
	"deployment-controller",
	"disruption-controller",
	"endpoints-controller",
	"endpointslice-controller",
	"garbage-collector-controller",
	"job-controller",
	"namespace-controller",
	"replicaset-controller",
	"replicationcontroller-controller",
	"resourcequota-controller",
	"statefulset-controller",
	"ttl-after-finished-controller",
}

// StartControllerManager builds kube-controller-manager if needed and runs it
// beside the apiserver, as a user in system:masters: Deployments become
// ReplicaSets and those Pods, Jobs run, what has lost its owner is collected,
// namespaces empty themselves, disruption budgets are counted. Pods stay Pending:
// package node plays the scheduler and the kubelets.
//
// It returns when /healthz says ok; the controllers begin a moment later. An
// error carries the end of its log. It outlives restarts of the apiserver, and
// ends with Stop, or KillControllerManager. It is an error if it runs.
func (c *Cluster) StartControllerManager(ctx context.Context) error {
	path, err := binaries.Ensure(ctx, binaries.ControllerManager, c.options.Progress)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.controllerManager != nil {
		return errors.New("start kube-controller-manager: it runs already")
	}
	config := filepath.Join(c.dir, "controller-manager.kubeconfig")
	if err := c.Kubeconfig(config, c.URL()); err != nil {
		return fmt.Errorf("start kube-controller-manager: %w", err)
	}
	for range 3 { // see start
		if err = c.runControllerManager(ctx, path, config); !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("start kube-controller-manager: %w", err)
	}
	return nil
}

// runControllerManager makes one attempt. The caller holds mu.
func (c *Cluster) runControllerManager(ctx context.Context, path, config string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	args := []string{
		"--kubeconfig=" + config,
		"--controllers=" + strings.Join(controllers, ","),
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + c.pki.certFile,
		"--tls-private-key-file=" + c.pki.keyFile,
		"--leader-elect=false",
		"--kube-api-qps=200", // the default of 20 is for clusters that have others to think of
		"--kube-api-burst=400",
	}
	args = append(args, c.options.ControllerManagerArgs...)
	p, err := startProcess(path, args, filepath.Join(c.dir, "controller-manager.log"))
	if err != nil {
		return err
	}
	// It can authenticate nobody, and would refuse a token; /healthz needs none.
	anonymous := &http.Client{Transport: c.transport}
	healthz := fmt.Sprintf("https://127.0.0.1:%d/healthz", port)
	err = p.ready(ctx, c.options.StartTimeout, func(ctx context.Context) error { return get(ctx, anonymous, healthz) })
	if err != nil {
		return errors.Join(err, p.kill())
	}
	c.controllerManager = p
	return nil
}

// KillControllerManager kills it without warning and returns when it has ended.
// Where it does not run it does nothing.
func (c *Cluster) KillControllerManager() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.controllerManager == nil {
		return nil
	}
	err := c.controllerManager.kill()
	c.controllerManager = nil
	return err
}
