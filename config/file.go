package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile bounds a kubeconfig file; those of fleets with thousands of clusters
// and inline certificates reach some MiB.
const maxFile = 16 << 20

// kubeconfig is a file as it is written. JSON is YAML. See
// https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/.
type kubeconfig struct {
	APIVersion     string         `yaml:"apiVersion"`
	Kind           string         `yaml:"kind"`
	CurrentContext string         `yaml:"current-context"`
	Contexts       []namedContext `yaml:"contexts"`
	Clusters       []namedCluster `yaml:"clusters"`
	Users          []namedUser    `yaml:"users"`
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

	file string // where the entry stands
}

type clusterEntry struct {
	Server             string `yaml:"server"`
	TLSServerName      string `yaml:"tls-server-name"`
	Insecure           bool   `yaml:"insecure-skip-tls-verify"`
	CAFile             string `yaml:"certificate-authority"`
	CAData             string `yaml:"certificate-authority-data"`
	ProxyURL           string `yaml:"proxy-url"`
	DisableCompression bool   `yaml:"disable-compression"`

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
	Command string `yaml:"command"`
}

type providerEntry struct {
	Name string `yaml:"name"`
}

// readFile returns the file at path, which errors name; fs.ErrNotExist if
// there is none.
func readFile(path string) (*kubeconfig, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("%s: larger than %d MiB, so hardly a kubeconfig", path, maxFile>>20)
	}
	k, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// parse reads b, tolerating fields it does not know. Its errors quote nothing
// of b but the kind and the names of entries.
func parse(b []byte) (*kubeconfig, error) {
	k := new(kubeconfig)
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return nil, scrub(err)
	}
	if doc.IsZero() {
		return k, nil
	}
	if err := checkKeys(&doc); err != nil {
		return nil, err
	}
	if err := doc.Decode(k); err != nil {
		return nil, scrub(err)
	}
	if k.Kind != "" && k.Kind != "Config" || k.APIVersion != "" && k.APIVersion != "v1" {
		return nil, fmt.Errorf("not a kubeconfig: want apiVersion v1, kind Config; found %s %s", quote(k.APIVersion), quote(k.Kind))
	}
	return k, nil
}

// maxKeys bounds the keys of one mapping.
const maxKeys = 1000

// checkKeys refuses mappings that are huge or hold a key twice. The YAML
// decoder compares each key with each other and reports every pair, so that
// a file of some KB could take minutes and all memory.
func checkKeys(n *yaml.Node) error {
	if n.Kind == yaml.MappingNode {
		if len(n.Content)/2 > maxKeys {
			return fmt.Errorf("line %d: a mapping with more than %d keys", n.Line, maxKeys)
		}
		seen := make(map[string]bool, len(n.Content)/2)
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode {
				continue
			}
			if seen[key.Value] {
				return fmt.Errorf("line %d: a key stands twice in one mapping", key.Line)
			}
			seen[key.Value] = true
		}
	}
	for _, c := range n.Content { // not n.Alias: its target stands elsewhere
		if err := checkKeys(c); err != nil {
			return err
		}
	}
	return nil
}

// absolute resolves the paths in k against the directory of its file, path, as
// kubectl does, and notes the file in each entry.
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
	}
	return nil
}

// decode64 reads base64 in which lines may be broken.
func decode64(s string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		return nil, errors.New("not valid base64") // the cause tells where, which is no help
	}
	return b, nil
}

// readable reports in one sentence why the file at path cannot be opened.
func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err // it names path
	}
	return f.Close()
}
