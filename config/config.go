package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/listwatch/listwatch/client"
)

// Options say where to look and what to override. The zero Options mean what
// kubectl does without flags.
type Options struct {
	// Path is one kubeconfig file that must exist (--kubeconfig); nothing
	// else is then read. Empty = KUBECONFIG, in-cluster, ~/.kube/config.
	Path string
	// Env reads the environment; nil = os.Getenv. Asked for are KUBECONFIG
	// and, for in-cluster, KUBERNETES_SERVICE_HOST.
	Env func(string) string
	// Home is the directory that holds .kube/config; empty = the user's.
	Home string

	// Context, Cluster and User name entries to use instead of
	// current-context and of what the context names. As these exist only in
	// kubeconfig files, each of them rules out in-cluster.
	Context string
	Cluster string
	User    string

	// Namespace replaces the context's.
	Namespace string

	// Server is a URL. It rules out in-cluster, so that a pod's token is
	// never sent to another server.
	Server        string
	TLSServerName string

	// CAFile replaces the cluster's CA and its insecure-skip-tls-verify.
	CAFile string
	// Insecure trusts any certificate; the cluster's CA is then ignored.
	Insecure bool

	// Token or TokenFile replaces every other credential of the user, an
	// exec plugin and a client certificate included.
	Token     string
	TokenFile string
	// CertFile and KeyFile replace the user's client certificate and key;
	// both together replace an exec plugin too.
	CertFile string
	KeyFile  string

	// As replaces all impersonation of the user's entry; AsGroups and AsUID
	// add to As, or without it to the entry's "as".
	As       string
	AsGroups []string
	AsUID    string

	// RequestTimeout becomes client.Config.Timeout; 0 = its default.
	RequestTimeout time.Duration

	inCluster func() (client.Config, string, error) // nil = client.InCluster
}

// Config is what Load found out.
type Config struct {
	Client    client.Config
	Namespace string // never empty: "default" if nothing says otherwise
	Context   string // the kubeconfig context in use; empty = none

	// Sources are the files that were read, or "in-cluster".
	Sources []string
	// Warnings are for people, one sentence each.
	Warnings []string
}

// Load resolves o. It reads files but keeps none open; client.New reads the
// certificates and token files that the result names.
//
// Errors: *PluginError for a user whose credentials come from a command,
// ErrNoCluster if nothing says which cluster, and texts that name the file and
// the key.
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

func (o Options) check() error {
	switch {
	case o.Insecure && o.CAFile != "":
		return errors.New("--insecure-skip-tls-verify and --certificate-authority contradict each other: give one")
	case o.Token != "" && o.TokenFile != "":
		return errors.New("a token and a token file are given: give one")
	case o.RequestTimeout < 0:
		return fmt.Errorf("--request-timeout %v is negative", o.RequestTimeout)
	}
	return nil
}

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
	if len(o.listed()) == 0 {
		if m, err = readAll(o.homeFile(), false); err != nil {
			return nil, err
		}
		m.warnings = nil // it is no surprise that there is none
	}
	return o.resolve(m)
}

func (o Options) getenv(key string) string {
	if o.Env == nil {
		return os.Getenv(key)
	}
	return o.Env(key)
}

// listed returns the files of KUBECONFIG, each once.
func (o Options) listed() []string {
	var files []string
	seen := map[string]bool{"": true}
	for _, f := range filepath.SplitList(o.getenv("KUBECONFIG")) {
		if !seen[f] {
			seen[f] = true
			files = append(files, f)
		}
	}
	return files
}

func (o Options) homeFile() []string {
	home := o.Home
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return nil
		}
	}
	return []string{filepath.Join(home, ".kube", "config")}
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
	r.cfg.Namespace = cmp.Or(o.Namespace, namespace, "default")
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
	case len(o.listed()) > 0:
		return fmt.Errorf("%w: no file of KUBECONFIG exists (%s) and this is not a pod; %s", ErrNoCluster, strings.Join(o.listed(), ", "), do)
	}
	return fmt.Errorf("%w: KUBECONFIG is not set, this is not a pod, and %s does not exist; %s",
		ErrNoCluster, cmp.Or(strings.Join(o.homeFile(), ""), "~/.kube/config"), do)
}
