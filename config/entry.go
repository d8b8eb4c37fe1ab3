package config

import (
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// kubeconfig is the content of a file, in YAML or JSON. See
// https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/.
type kubeconfig struct {
	APIVersion     string         `yaml:"apiVersion"`
	Kind           string         `yaml:"kind"`
	CurrentContext string         `yaml:"current-context"`
	Contexts       []namedContext `yaml:"contexts"` // without null entries
	Clusters       []namedCluster `yaml:"clusters"`
	Users          []namedUser    `yaml:"users"`

	notes []string // oddities that are tolerated
	open  openness
}

type namedContext struct {
	Name    string       `yaml:"name"`
	Context contextEntry `yaml:"context"`
}

type namedCluster struct {
	Name    string       `yaml:"name"`
	Cluster clusterEntry `yaml:"cluster"`
}

type namedUser struct {
	Name string    `yaml:"name"`
	User userEntry `yaml:"user"`
}

type contextEntry struct {
	Cluster   string `yaml:"cluster"`
	User      string `yaml:"user"`
	Namespace string `yaml:"namespace"`

	file string // that holds the entry
}

type clusterEntry struct {
	Server             string `yaml:"server"`
	TLSServerName      string `yaml:"tls-server-name"`
	Insecure           bool   `yaml:"insecure-skip-tls-verify"`
	CAFile             string `yaml:"certificate-authority"`
	CAData             string `yaml:"certificate-authority-data"`
	ProxyURL           string `yaml:"proxy-url"`
	DisableCompression bool   `yaml:"disable-compression"`

	// Extensions belong to other programs and may hold anything; one of them may be
	// for the plugin.
	Extensions yaml.Node `yaml:"extensions"`

	file string
}

type userEntry struct {
	CertFile  string              `yaml:"client-certificate"`
	CertData  string              `yaml:"client-certificate-data"`
	KeyFile   string              `yaml:"client-key"`
	KeyData   string              `yaml:"client-key-data"`
	Token     string              `yaml:"token"`
	TokenFile string              `yaml:"tokenFile"`
	Username  string              `yaml:"username"`
	Password  string              `yaml:"password"`
	As        string              `yaml:"as"`
	AsUID     string              `yaml:"as-uid"`
	AsGroups  []string            `yaml:"as-groups"`
	AsExtra   map[string][]string `yaml:"as-user-extra"`
	Exec      *execEntry          `yaml:"exec"`
	Provider  *providerEntry      `yaml:"auth-provider"`

	file string
}

type execEntry struct {
	APIVersion  string     `yaml:"apiVersion"`
	Command     string     `yaml:"command"`
	Args        []string   `yaml:"args"`
	Env         []envEntry `yaml:"env"`
	InstallHint string     `yaml:"installHint"`
	ClusterInfo bool       `yaml:"provideClusterInfo"`
	Interactive string     `yaml:"interactiveMode"`
}

type envEntry struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value"`
}

type providerEntry struct {
	Name   string    `yaml:"name"`
	Config yaml.Node `yaml:"config"`
}

// absolute resolves the paths in k against the directory of its file, as kubectl does,
// and sets the file of each entry.
func (k *kubeconfig) absolute(path string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	fix := func(paths ...*string) {
		for _, p := range paths {
			if *p != "" && !filepath.IsAbs(*p) {
				*p = filepath.Join(filepath.Dir(abs), *p)
			}
		}
	}
	for i := range k.Contexts {
		k.Contexts[i].Context.file = path
	}
	for i := range k.Clusters {
		c := &k.Clusters[i].Cluster
		c.file = path
		fix(&c.CAFile)
	}
	for i := range k.Users {
		u := &k.Users[i].User
		u.file = path
		fix(&u.CertFile, &u.KeyFile, &u.TokenFile)
		// Without a separator the command is looked up in PATH.
		if u.Exec != nil && strings.ContainsRune(u.Exec.Command, filepath.Separator) {
			fix(&u.Exec.Command)
		}
	}
	return nil
}

// Names of environment variables, arguments and keys that hold secrets for plugins.
// AWS_PROFILE and "eks get-token" do not match.
var (
	secretEnv = regexp.MustCompile(`(?i)secret|token|passw|key`)
	secretArg = regexp.MustCompile(`(?i)secret|passw`)
	secretKey = regexp.MustCompile(`(?i)secret|passw|(id|access|refresh)-token`)
)

// secrets reports whether the entry itself holds a credential, not a file that it names.
func (u *userEntry) secrets() bool {
	if u.Token != "" || u.Password != "" || u.KeyData != "" {
		return true
	}
	if u.Exec != nil {
		for _, e := range u.Exec.Env {
			if e.Value != "" && secretEnv.MatchString(e.Name) {
				return true
			}
		}
		for _, a := range u.Exec.Args {
			if secretArg.MatchString(a) {
				return true
			}
		}
	}
	if u.Provider != nil && u.Provider.Config.Kind == yaml.MappingNode {
		pairs := u.Provider.Config.Content
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i+1].Value != "" && secretKey.MatchString(pairs[i].Value) {
				return true
			}
		}
	}
	return false
}

// secrets reports whether the entry holds the password of a proxy.
func (c *clusterEntry) secrets() bool { return strings.Contains(c.ProxyURL, "@") }
