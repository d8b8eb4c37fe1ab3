package config

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/client"
)

// Config is what Load found out. It holds secrets: its String shows none.
type Config struct {
	Client    client.Config
	Namespace string // never empty: "default" if nothing says otherwise
	Context   string // the kubeconfig context in use; empty = none
	Cluster   string // the entry of it; empty = none
	User      string // the entry of who we are, which flags may outweigh; empty = none

	// Sources are the files that were read, or "in-cluster".
	Sources []string
	// Warnings are for people, one sentence each.
	Warnings []string
}

// String shows server, namespace and context only.
func (c Config) String() string {
	return fmt.Sprintf("config.Config(%v, namespace %q, context %q)", c.Client, c.Namespace, c.Context)
}

// GoString is String, for %#v.
func (c Config) GoString() string { return c.String() }

// Load resolves o. It reads files but keeps none open; client.New reads the
// certificates and token files that the result names.
//
// Where the user's entry names a credential plugin, client.Config.Credentials of
// the result is a *plugin.Plugin, which runs it when a credential is needed.
//
// Errors: *ProviderError for a user with an auth-provider, ErrNoCluster if
// nothing says which cluster, and texts that name the file and the key.
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

// ErrNoCluster means that neither flags nor files nor a pod's surroundings say
// which cluster to talk to.
var ErrNoCluster = errors.New("no cluster configured")

// load tries the sources in their order.
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
	// As for kubectl, KUBECONFIG stands in place of the home file.
	if o.getenv("KUBECONFIG") == "" {
		if m, err = readAll(o.homeFile(), false); err != nil {
			return nil, err
		}
		if len(m.sources) == 0 {
			m.warnings = nil // it is no surprise that there is none
		}
	}
	return o.resolve(m)
}

// pod returns the configuration of the pod we run in; nil without an error if
// we do not, or if o asks for what only a file or another server has.
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

// nothing says why there is no cluster to talk to, and what to do.
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
