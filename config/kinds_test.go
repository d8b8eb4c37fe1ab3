package config

import (
	stdcmp "cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/config/plugin"
)

var update = flag.Bool("update", false, "write the golden files")

// loadWithPlugin is Load, and what its plugin is made of; nil = there is none.
func loadWithPlugin(o Options) (*Config, *plugin.Options, error) {
	var made *plugin.Options
	o.newPlugin = func(po plugin.Options) (client.Source, error) {
		made = &po
		return plugin.New(po)
	}
	cfg, err := Load(o)
	return cfg, made, err
}

func TestLoadKindsOfKubeconfigs(t *testing.T) {
	files, err := filepath.Glob("testdata/kubeconfigs/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no kubeconfigs: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			path := filepath.Join(write(t, map[string]string{"config": strings.ReplaceAll(string(text), "$DIR", dir)}), "config")
			minikube(t, dir)
			contexts, _, _, err := Names(Options{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			current, err := Load(Options{Path: path})
			if err != nil {
				t.Fatalf("the current context: %v", err)
			}
			got := "current " + current.Context + "\n"
			for _, name := range contexts {
				got += "\ncontext " + name + "\n" + describe(t, Options{Path: path, Context: name})
			}
			got = strings.NewReplacer(path, "FILE", dir, "DIR").Replace(got)
			golden := strings.TrimSuffix(file, "yaml") + "golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// minikube writes the files that minikube has beside its kubeconfig.
func minikube(t *testing.T, dir string) {
	t.Helper()
	profile := filepath.Join(dir, ".minikube/profiles/minikube")
	if err := os.MkdirAll(profile, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, data := range map[string][]byte{
		filepath.Join(dir, ".minikube/ca.crt"): made().cert,
		filepath.Join(profile, "client.crt"):   made().cert,
		filepath.Join(profile, "client.key"):   made().key,
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// describe says what Load makes of o, and checks that a client can be made of it.
func describe(t *testing.T, o Options) string {
	t.Helper()
	cfg, po, err := loadWithPlugin(o)
	if err != nil {
		return fmt.Sprintf("  error      %v\n", err)
	}
	if _, err := client.New(cfg.Client); err != nil {
		t.Errorf("context %s: client.New: %v", o.Context, err)
	}
	var b strings.Builder
	line := func(key string, format string, args ...any) {
		fmt.Fprintf(&b, "  %-10s "+format+"\n", append([]any{key}, args...)...)
	}
	c := cfg.Client
	line("namespace", "%s", cfg.Namespace)
	line("server", "%s", c.Server)
	switch {
	case c.TLS.Insecure:
		line("ca", "any")
	case c.TLS.CAData != nil:
		line("ca", "data, as in the file: %t", slices.Equal(c.TLS.CAData, made().cert))
	case c.TLS.CAFile != "":
		line("ca", "%s", c.TLS.CAFile)
	default:
		line("ca", "the system's")
	}
	if c.TLS.ServerName != "" {
		line("tls name", "%s", c.TLS.ServerName)
	}
	if c.Proxy != nil {
		u, err := c.Proxy(nil)
		line("proxy", "%v, %v", u, err)
	}
	if c.Token != "" {
		line("token", "%s", c.Token) // made up, as the file says
	}
	if c.Username != "" || c.Password != "" {
		line("basic", "%s:%s", c.Username, c.Password)
	}
	switch {
	case c.TLS.CertData != nil:
		line("certificate", "data, as in the file: %t", slices.Equal(c.TLS.CertData, made().cert) && slices.Equal(c.TLS.KeyData, made().key))
	case c.TLS.CertFile != "":
		line("certificate", "%s, key %s", c.TLS.CertFile, c.TLS.KeyFile)
	}
	if (po != nil) != (c.Credentials != nil) {
		t.Errorf("context %s: plugin %v, credentials %v", o.Context, po, c.Credentials)
	}
	if po != nil {
		line("plugin", "%s, %s, %s", po.Command, po.APIVersion, stdcmp.Or(po.Interactive, "no interactiveMode"))
		line("from", "%s", po.From)
		line("args", "%q", po.Args)
		line("env", "%q", po.Env)
		line("hint", "%q", po.InstallHint)
		if po.Cluster != nil {
			line("told", "%s, ca %t", po.Cluster.Server, slices.Equal(po.Cluster.CAData, c.TLS.CAData))
		}
	}
	for _, w := range cfg.Warnings {
		line("warning", "%s", w)
	}
	return b.String()
}
