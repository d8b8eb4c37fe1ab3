package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/config/plugin"
	"github.com/listwatch/listwatch/internal/yamljson"
)

// execExtension is the extension of a cluster entry that the plugin receives. See
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins.
const execExtension = "client.authentication.k8s.io/exec"

// execution is the exec entry to use, and the file and name of its user.
type execution struct {
	entry *execEntry
	from  string
}

// credentials makes the plugin, if the user has one, for the cluster after all overrides.
func (r *resolver) credentials() error {
	if r.exec == nil {
		return nil
	}
	e, from := r.exec.entry, r.exec.from
	po := plugin.Options{
		APIVersion: e.APIVersion, Command: e.Command, Args: e.Args, InstallHint: printable(e.InstallHint), Interactive: e.Interactive,
		From: from, Timeout: r.o.PluginTimeout, Stdin: r.o.Stdin, Stderr: r.o.Stderr,
	}
	for i, v := range e.Env {
		if strings.Contains(v.Name, "=") { // cannot be passed as NAME=value
			return fmt.Errorf("%s: exec.env[%d] has a = in its name", from, i)
		}
		po.Env = append(po.Env, v.Name+"="+v.Value)
	}
	if e.ClusterInfo {
		var err error
		if po.Cluster, err = r.clusterInfo(); err != nil {
			return err
		}
	}
	source, err := r.o.plugin(po)
	if err != nil {
		return err // names from
	}
	c := &r.cfg.Client
	c.Credentials, c.Password = source, "" // a password without a user name is unused
	return nil
}

func (o Options) plugin(po plugin.Options) (client.Source, error) {
	if o.newPlugin != nil {
		return o.newPlugin(po)
	}
	p, err := plugin.New(po)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// clusterInfo returns the cluster that the plugin receives if provideClusterInfo is set.
func (r *resolver) clusterInfo() (*plugin.Cluster, error) {
	c := &r.cfg.Client
	info := &plugin.Cluster{
		Server: c.Server, TLSServerName: c.TLS.ServerName, Insecure: c.TLS.Insecure, CAData: c.TLS.CAData,
		ProxyURL: r.proxy, DisableCompression: c.Compression == "none",
	}
	if c.TLS.CAFile != "" && len(info.CAData) == 0 {
		b, _, err := readLimited(c.TLS.CAFile)
		if err != nil {
			return nil, fmt.Errorf("%s: certificate-authority: %w", r.from, err)
		}
		info.CAData = b
	}
	var err error
	if info.Config, err = extension(&r.extensions); err != nil {
		return nil, fmt.Errorf("%s: extensions: %s %w", r.from, execExtension, err)
	}
	return info, nil
}

// extension returns the plugin's extension as JSON; nil = none.
func extension(list *yaml.Node) (json.RawMessage, error) {
	var all []struct {
		Name      string    `yaml:"name"`
		Extension yaml.Node `yaml:"extension"`
	}
	if list.Kind == 0 || list.Decode(&all) != nil {
		return nil, nil // not a list of named extensions
	}
	for _, e := range all {
		if e.Name != execExtension || e.Extension.Kind == 0 {
			continue
		}
		v, err := yamljson.Value(&e.Extension)
		if err != nil {
			return nil, fmt.Errorf("holds what JSON cannot express: %w", err)
		}
		return json.Marshal(v)
	}
	return nil, nil
}

// printable removes characters that could garble a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}
