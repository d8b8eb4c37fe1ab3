package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/config/plugin"
)

// Options select and override parts of the configuration. Their zero value does what
// kubectl does without flags. They hold secrets; their String omits them.
type Options struct {
	// Path is a kubeconfig file that must exist (--kubeconfig); no other is read.
	// Empty = KUBECONFIG, in-cluster, ~/.kube/config.
	Path string
	// Env reads the environment; nil = os.Getenv. Load reads KUBECONFIG and, for
	// in-cluster, KUBERNETES_SERVICE_HOST and POD_NAMESPACE.
	Env func(string) string
	// Home is the directory that holds .kube/config; empty = the user's.
	Home string

	// Context, Cluster and User name entries that replace current-context, and the
	// cluster and user of the context. Each of them excludes in-cluster, because only
	// kubeconfig files have entries.
	Context string
	Cluster string
	User    string

	// Namespace replaces the context's.
	Namespace string

	// Server is a URL. It excludes in-cluster, so that a pod's token is never sent to
	// another server, and also replaces the cluster's tls-server-name, even if
	// TLSServerName is empty.
	Server        string
	TLSServerName string

	// ProxyURL replaces the cluster's proxy-url. Compression is disabled if the
	// cluster's disable-compression or DisableCompression is set.
	ProxyURL           string
	DisableCompression bool

	// CAFile replaces the cluster's CA and its insecure-skip-tls-verify.
	CAFile string
	// Insecure accepts any server certificate and ignores the cluster's CA.
	Insecure bool

	// Token, TokenFile, or Username with Password replaces all credentials of the user
	// entry, an exec plugin and a client certificate included.
	Token     string
	TokenFile string
	Username  string
	Password  string
	// CertFile and KeyFile replace the user's client certificate and key;
	// both together replace an exec plugin too.
	CertFile string
	KeyFile  string

	// As replaces all impersonation of the user's entry. AsGroups and AsUID replace the groups and
	// the UID of the entry, AsExtra each extra that it names; without As, the entry must have "as".
	As       string
	AsGroups []string
	AsUID    string
	AsExtra  map[string][]string

	// RequestTimeout becomes client.Config.Timeout; 0 = its default.
	RequestTimeout time.Duration

	// PluginTimeout, Stdin and Stderr are passed to plugin.Options if the user has an
	// exec plugin; zero = its defaults.
	PluginTimeout time.Duration
	Stdin         *os.File
	Stderr        io.Writer

	inCluster func() (client.Config, string, error)       // nil = client.InCluster
	newPlugin func(plugin.Options) (client.Source, error) // nil = plugin.New
}

// String returns a text without credentials.
func (o Options) String() string {
	return fmt.Sprintf("config.Options(path %q, context %q, %v)", o.Path, o.Context, client.Config{Server: o.Server})
}

// GoString returns String, for %#v.
func (o Options) GoString() string { return o.String() }

func (o Options) check() error {
	basic := o.Username != "" || o.Password != ""
	switch {
	case o.Insecure && o.CAFile != "":
		return errors.New("--insecure-skip-tls-verify and --certificate-authority contradict each other: give one")
	case o.Token != "" && o.TokenFile != "":
		return errors.New("a token and a token file are given: give one")
	case basic && (o.Token != "" || o.TokenFile != ""):
		return errors.New("a token and --username or --password are given: give one")
	case basic && o.Username == "":
		return errors.New("--password needs --username")
	case o.RequestTimeout < 0:
		return fmt.Errorf("--request-timeout %v is negative", o.RequestTimeout)
	case o.PluginTimeout < 0:
		return fmt.Errorf("the time limit %v of a plugin is negative", o.PluginTimeout)
	}
	return nil
}

// identified reports whether o holds credentials that replace those of the user entry.
func (o Options) identified() bool { return o.Token != "" || o.TokenFile != "" || o.Username != "" }

func (o Options) getenv(key string) string {
	if o.Env == nil {
		return os.Getenv(key)
	}
	return o.Env(key)
}

// listed returns the files of KUBECONFIG without duplicates.
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
