package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
)

// StartAPIServer starts the apiserver after KillAPIServer or StopAPIServer, on the
// same port and the same data, and returns when it is ready. It is an error if it runs.
//
// A restarted apiserver's watch caches begin at etcd's present revision and have
// no history. A watch from an older one gets 410 Expired, whether objects of its
// resource changed since or not: any write will do, such as a lease of the
// apiserver's own (see Advance). LISTs and watches wait until the caches are
// filled.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.apiServer != nil {
		return errors.New("start kube-apiserver: it runs already")
	}
	in := func(name string) string { return filepath.Join(c.dir, name) }
	args := []string{
		"--etcd-servers=" + c.etcdURL(),
		"--etcd-compaction-interval=0", // Compact is the only compactor
		"--bind-address=127.0.0.1",
		"--advertise-address=192.0.2.1", // documentation range: loopback is refused, and nobody connects to it
		"--secure-port=" + strconv.Itoa(c.port),
		"--cert-dir=" + in("apiserver"),
		"--tls-cert-file=" + c.pki.certFile,
		"--tls-private-key-file=" + c.pki.keyFile,
		"--client-ca-file=" + c.pki.caFile,
		"--token-auth-file=" + in("tokens.csv"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.pki.keyFile,
		"--service-account-signing-key-file=" + c.pki.keyFile,
		"--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--disable-admission-plugins=ServiceAccount",
		"--shutdown-delay-duration=0s",
		"--shutdown-watch-termination-grace-period=2s", // else StopAPIServer takes a minute, and cuts them
	}
	args = append(args, c.options.APIServerArgs...)
	p, err := startProcess(c.apiServerPath, args, filepath.Join(c.dir, "apiserver.log"))
	if err != nil {
		return fmt.Errorf("start kube-apiserver: %w", err)
	}
	if err := p.ready(ctx, c.options.StartTimeout, c.apiServerReady); err != nil {
		return fmt.Errorf("start kube-apiserver: %w", errors.Join(err, p.kill()))
	}
	c.apiServer = p
	return nil
}

// apiServerReady reports whether the apiserver is ready and has made the
// default namespace, which it does shortly after.
func (c *Cluster) apiServerReady(ctx context.Context) error {
	for _, path := range []string{"/readyz", "/api/v1/namespaces/default"} {
		if err := get(ctx, c.client, c.URL()+path); err != nil {
			return err
		}
	}
	return nil
}

func get(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return nil
}

// KillAPIServer kills the apiserver without warning (SIGKILL) and returns when
// it has ended: its connections are closed by the kernel and its port refuses.
// Without a running apiserver it does nothing.
func (c *Cluster) KillAPIServer() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.apiServer == nil {
		return nil
	}
	err := c.apiServer.kill()
	c.apiServer = nil
	return err
}

// StopAPIServer asks the apiserver to end (SIGTERM), as an upgrade does, and
// returns when it has: it ends its watches in good order, and lets requests
// finish. One that takes longer than ctx or StartTimeout is killed, which is an
// error. Without a running apiserver it does nothing.
func (c *Cluster) StopAPIServer(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.apiServer == nil {
		return nil
	}
	p := c.apiServer
	c.apiServer = nil
	if err := p.terminate(ctx, c.options.StartTimeout); err != nil {
		return fmt.Errorf("stop kube-apiserver: %w", errors.Join(err, p.kill()))
	}
	return nil
}

// RestartAPIServer is KillAPIServer and StartAPIServer.
func (c *Cluster) RestartAPIServer(ctx context.Context) error {
	if err := c.KillAPIServer(); err != nil {
		return err
	}
	return c.StartAPIServer(ctx)
}
