package config

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/client"
)

// Config is the result of Load. It holds secrets; its String omits them.
type Config struct {
	Client    client.Config
	Namespace string // never empty; default "default"
	Context   string // the kubeconfig context in use; empty = none
	Cluster   string // name of its cluster entry; empty = none
	User      string // name of the user entry, which flags may override; empty = none

	// Sources are the files that were read, or "in-cluster".
	Sources []string
	// Warnings are sentences for people.
	Warnings []string
}

// String returns server, namespace and context only.
func (c Config) String() string {
	return fmt.Sprintf("config.Config(%v, namespace %q, context %q)", c.Client, c.Namespace, c.Context)
}

// GoString returns String, for %#v.
func (c Config) GoString() string { return c.String() }

// Load finds the cluster, the namespace and the credentials that o selects. It reads
// files but keeps none open; client.New reads the certificates and token files that the
// result names.
//
// If the user entry names a credential plugin, client.Config.Credentials of the result
// is a *plugin.Plugin, which runs the command when a credential is needed.
//
// Errors: *ProviderError for a user with an auth-provider, ErrNoCluster if no cluster is
// configured; others name the file and the key.
func Load(o Options) (*Config, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("load config: %w", err)
	}
	cfg, err := load(o)
	if err != nil {
		return nil, fmt.Errorf("load config: %w", err)
	}
	return cfg, nil
}

// ErrNoCluster means that neither flags nor files nor the environment of a pod name a
// cluster.
var ErrNoCluster = errors.New("no cluster configured")

// load tries the sources in order.
func load(o Options) (*Config, error) {
	if o.Path != "" {
		m, err := readAll([]string{o.Path}, true)
		if err != nil {
			return nil, err
		}
		return o.resolve(m)
	}
	m, err := readAll(o.listed(), false)
	if err != nil {
		return nil, err
	}
	if !m.empty() {
		return o.resolve(m)
	}
	warnings := m.warnings
	if cfg, err := o.pod(); cfg != nil || err != nil {
		if cfg != nil {
			cfg.Warnings = append(warnings, cfg.Warnings...)
		}
		return cfg, err
	}
	// As in kubectl, KUBECONFIG replaces the file in the home directory.
	if o.getenv("KUBECONFIG") == "" {
		if m, err = readAll(o.homeFile(), false); err != nil {
			return nil, err
		}
		if len(m.sources) == 0 {
			m.warnings = nil // a missing file is normal here
		}
	}
	return o.resolve(m)
}

// pod returns the configuration of the pod that the process runs in. It returns nil
// without an error outside of a pod, or if o selects a kubeconfig entry or a server.
func (o Options) pod() (*Config, error) {
	if o.Server != "" || o.Context != "" || o.Cluster != "" || o.User != "" || o.getenv("KUBERNETES_SERVICE_HOST") == "" {
		return nil, nil
	}
	inCluster := o.inCluster
	if inCluster == nil {
		inCluster = client.InCluster
	}
	cc, namespace, err := inCluster()
	if errors.Is(err, client.ErrNotInCluster) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("in-cluster: %w", err)
	}
	r := resolver{o: o, cfg: &Config{Client: cc, Sources: []string{"in-cluster"}}, from: "the pod's service account"}
	if err := r.override(); err != nil {
		return nil, err
	}
	r.cfg.Namespace = cmp.Or(o.Namespace, o.getenv("POD_NAMESPACE"), namespace, "default")
	return r.cfg, nil
}

// nothing returns the error that says why no cluster was found, and what to do.
func (o Options) nothing(m *merged) error {
	const do = "give --kubeconfig, set KUBECONFIG, or give --server"
	switch {
	case len(m.contexts) > 0:
		return fmt.Errorf("%w: %s sets no current-context; give --context, one of: %s", ErrNoCluster, m.where(), names(m.contexts))
	case len(m.clusters) > 0:
		return fmt.Errorf("%w: %s has no contexts; give --cluster, one of: %s", ErrNoCluster, m.where(), names(m.clusters))
	case len(m.sources) > 0:
		return fmt.Errorf("%w: %s names none; %s", ErrNoCluster, m.where(), do)
	}
	pod := "this is not a pod"
	if o.getenv("KUBERNETES_SERVICE_HOST") != "" {
		pod = "this pod has no token of a service account (automountServiceAccountToken)"
	}
	switch {
	case len(o.listed()) > 0:
		return fmt.Errorf("%w: no file of KUBECONFIG exists (%s), and %s; %s", ErrNoCluster, strings.Join(o.listed(), ", "), pod, do)
	case o.getenv("KUBECONFIG") != "":
		return fmt.Errorf("%w: KUBECONFIG holds separators and no file, and %s; %s", ErrNoCluster, pod, do)
	}
	return fmt.Errorf("%w: KUBECONFIG is not set, %s, and %s does not exist; %s",
		ErrNoCluster, pod, cmp.Or(strings.Join(o.homeFile(), ""), "~/.kube/config"), do)
}
