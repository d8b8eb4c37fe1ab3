package config

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/client"
)

func FuzzLoad(f *testing.F) {
	for _, text := range []string{
		sample,
		one("server: https://h, proxy-url: 'socks5://p'", "token: t"),
		one("server: https://h, certificate-authority-data: $CA, "+extensions, full),
		one("server: https://h", "auth-provider: {name: gcp}"),
		"users: &a [{name: u, user: {<<: *a, token: !!binary aGk=, as-user-extra: {x: [*a]}}}]",
		"a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\ncontexts: *c\n",
		laden(),
	} {
		f.Add([]byte(expand(text)))
	}
	for _, text := range odd() {
		f.Add([]byte(text))
	}
	files, err := filepath.Glob("testdata/kubeconfigs/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatalf("no kubeconfigs: %v", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(expand(string(b))))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := parse(b)
		if err != nil {
			// Nothing of the file but names may be in an error.
			for word := range bytes.FieldsSeq(b) {
				if len(word) >= 16 && !bytes.ContainsAny(word, `"\`) && strings.Contains(err.Error(), string(word)) && !strings.Contains(err.Error(), "not a kubeconfig") {
					t.Errorf("%q of the file is in the error %v", word, err)
				}
			}
			return
		}
		m, err := readAll(nil, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := k.absolute("/nonexistent/config"); err != nil {
			t.Fatal(err)
		}
		secrets := plant(k)
		if err := m.add(k, "/nonexistent/config"); err != nil {
			return
		}
		for name := range m.contexts {
			if name == "" {
				continue // cannot be selected: "" selects the current context
			}
			out := bytes.NewBuffer(nil)
			cfg, err := Options{Context: name}.resolve(m)
			if err != nil {
				out.WriteString(err.Error())
			} else {
				if cfg.Client.Server == "" || cfg.Namespace == "" || cfg.Context != name {
					t.Errorf("context %q: server %q, namespace %q, context %q", name, cfg.Client.Server, cfg.Namespace, cfg.Context)
				}
				if c := cfg.Client; c.Credentials != nil && (c.Token+c.TokenFile+c.Username+c.Password != "" || c.TLS.CertFile != "" || c.TLS.CertData != nil) {
					t.Errorf("context %q: credentials beside the plugin", name)
				}
				out.WriteString(cfg.String() + strings.Join(cfg.Warnings, "\n"))
				if _, err := client.New(cfg.Client); err != nil {
					out.WriteString(err.Error())
				}
			}
			for _, s := range secrets {
				if strings.Contains(out.String(), s) {
					t.Errorf("context %q: the secret %s is told", name, s)
				}
			}
		}
	})
}

// plant puts a secret wherever k holds one, and returns them.
func plant(k *kubeconfig) []string {
	const mark = "PLANTED-0123456789"
	for i := range k.Users {
		u := &k.Users[i].User
		for _, s := range []*string{&u.Token, &u.Password, &u.KeyData} {
			if *s != "" {
				*s = mark
			}
		}
		if u.Exec == nil {
			continue
		}
		for j := range u.Exec.Args {
			u.Exec.Args[j] = mark
		}
		for j := range u.Exec.Env {
			u.Exec.Env[j].Value = mark
		}
	}
	for i := range k.Clusters {
		if c := &k.Clusters[i].Cluster; c.ProxyURL != "" {
			c.ProxyURL = strings.Replace(c.ProxyURL, "://", "://u:"+mark+"@", 1)
		}
	}
	return []string{mark}
}
