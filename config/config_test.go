package config

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/listwatch/listwatch/client"
)

// write puts files, named by path below a new directory, and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(expand(text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// one is a file with one context and whatever cluster and user hold.
func one(cluster, user string) string {
	return "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n" +
		"clusters: [{name: k, cluster: {" + cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n"
}

func env(pairs ...string) func(string) string {
	return func(key string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == key {
				return pairs[i+1]
			}
		}
		return ""
	}
}

var ignoreFuncs = cmpopts.IgnoreFields(client.Config{}, "Proxy", "Dial")

const sample = `
apiVersion: v1
kind: Config
preferences: {colors: true}
current-context: dev
contexts:
- name: dev
  context: {cluster: near, user: alice, namespace: shop, extensions: [{name: x, extension: {a: [1]}}]}
- name: prod
  context: {cluster: far, user: bob}
clusters:
- name: near
  cluster:
    server: https://10.0.0.1:6443/k8s/clusters/c-1
    certificate-authority: pki/ca.crt
    tls-server-name: near.example
- name: far
  cluster:
    server: https://far.example
    certificate-authority-data: $CA
    disable-compression: true
users:
- name: alice
  user: {client-certificate: pki/a.crt, client-key: pki/a.key}
- name: bob
  user: {tokenFile: pki/token, as: root, as-uid: "7", as-groups: [g1, g2], as-user-extra: {why: [x]}}
`

func samples(t *testing.T) string {
	return write(t, map[string]string{"config": sample, "pki/ca.crt": "", "pki/a.crt": "", "pki/a.key": "", "pki/token": "", "other": ""})
}

func TestLoadContexts(t *testing.T) {
	dir := samples(t)
	path, pki := filepath.Join(dir, "config"), filepath.Join(dir, "pki")
	for name, want := range map[string]*Config{
		"": {
			Client: client.Config{
				Server: "https://10.0.0.1:6443/k8s/clusters/c-1",
				TLS: client.TLS{
					CAFile: pki + "/ca.crt", CertFile: pki + "/a.crt", KeyFile: pki + "/a.key", ServerName: "near.example",
				},
			},
			Namespace: "shop", Context: "dev", Cluster: "near", User: "alice", Sources: []string{path},
		},
		"prod": {
			Client: client.Config{
				Server: "https://far.example", TLS: client.TLS{CAData: made().cert}, TokenFile: pki + "/token", Compression: "none",
				Impersonate: client.Impersonate{User: "root", UID: "7", Groups: []string{"g1", "g2"}, Extra: map[string][]string{"why": {"x"}}},
			},
			Namespace: "default", Context: "prod", Cluster: "far", User: "bob", Sources: []string{path},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Load(Options{Path: path, Context: name})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, ignoreFuncs, cmpopts.IgnoreUnexported(Config{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadReadsJSON(t *testing.T) {
	dir := write(t, map[string]string{"config": `{"apiVersion":"v1","kind":"Config","current-context":"c",
		"contexts":[{"name":"c","context":{"cluster":"k"}}],"clusters":[{"name":"k","cluster":{"server":"https://h"}}]}`})
	got, err := Load(Options{Path: dir + "/config"})
	if err != nil {
		t.Fatal(err)
	}
	if got.Client.Server != "https://h" {
		t.Errorf("server %q", got.Client.Server)
	}
}

func TestLoadOverrides(t *testing.T) {
	dir := samples(t)
	path, pki, other := filepath.Join(dir, "config"), filepath.Join(dir, "pki"), filepath.Join(dir, "other")
	near := client.TLS{CAFile: pki + "/ca.crt", CertFile: pki + "/a.crt", KeyFile: pki + "/a.key", ServerName: "near.example"}
	trusting := near
	trusting.CAFile, trusting.Insecure = "", true
	swapped := near
	swapped.CAFile, swapped.CertFile, swapped.KeyFile, swapped.ServerName = other, other, other, "other.example"
	nameless := near
	nameless.ServerName = "" // of another server, as kubectl has it
	const server = "https://10.0.0.1:6443/k8s/clusters/c-1"
	extra := map[string][]string{"why": {"x"}}
	for name, test := range map[string]struct {
		o    Options
		want client.Config
	}{
		"cluster and user": {
			Options{Cluster: "far", User: "alice"},
			client.Config{
				Server: "https://far.example", Compression: "none",
				TLS: client.TLS{CAData: made().cert, CertFile: near.CertFile, KeyFile: near.KeyFile},
			},
		},
		"server and timeout": {
			Options{Server: "https://tunnel:1", RequestTimeout: time.Second},
			client.Config{Server: "https://tunnel:1", TLS: nameless, Timeout: time.Second},
		},
		"server with its name": {
			Options{Server: "https://tunnel:1", TLSServerName: "near.example"},
			client.Config{Server: "https://tunnel:1", TLS: near},
		},
		"TLS files": {
			Options{CAFile: other, CertFile: other, KeyFile: other, TLSServerName: "other.example"},
			client.Config{Server: server, TLS: swapped},
		},
		"insecure drops the CA": {
			Options{Insecure: true},
			client.Config{Server: server, TLS: trusting},
		},
		"token drops the certificate": {
			Options{Token: "t"},
			client.Config{Server: server, TLS: client.TLS{CAFile: near.CAFile, ServerName: "near.example"}, Token: "t"},
		},
		"token file drops the token file": {
			Options{Context: "prod", TokenFile: other, As: "eve"},
			client.Config{
				Server: "https://far.example", TLS: client.TLS{CAData: made().cert}, Compression: "none",
				TokenFile: other, Impersonate: client.Impersonate{User: "eve"},
			},
		},
		"as-group on top of the file's as": {
			Options{Context: "prod", AsGroups: []string{"g"}, AsUID: "8"},
			client.Config{
				Server: "https://far.example", TLS: client.TLS{CAData: made().cert}, Compression: "none", TokenFile: pki + "/token",
				Impersonate: client.Impersonate{User: "root", UID: "8", Groups: []string{"g"}, Extra: extra},
			},
		},
		"username and password drop the certificate": {
			Options{Username: "ann", Password: "p"},
			client.Config{Server: server, TLS: client.TLS{CAFile: near.CAFile, ServerName: "near.example"}, Username: "ann", Password: "p"},
		},
		"username drops the token file": {
			Options{Context: "prod", Username: "ann", As: "eve"},
			client.Config{
				Server: "https://far.example", TLS: client.TLS{CAData: made().cert}, Compression: "none",
				Username: "ann", Impersonate: client.Impersonate{User: "eve"},
			},
		},
		"no compression": {
			Options{DisableCompression: true},
			client.Config{Server: server, TLS: near, Compression: "none"},
		},
		"all of as": {
			Options{Context: "prod", As: "eve", AsUID: "8", AsGroups: []string{"g"}, AsExtra: map[string][]string{"k": {"v", "w"}}},
			client.Config{
				Server: "https://far.example", TLS: client.TLS{CAData: made().cert}, Compression: "none", TokenFile: pki + "/token",
				Impersonate: client.Impersonate{User: "eve", UID: "8", Groups: []string{"g"}, Extra: map[string][]string{"k": {"v", "w"}}},
			},
		},
		"as-user-extra on top of the file's": {
			Options{Context: "prod", AsExtra: map[string][]string{"k": {"v"}}},
			client.Config{
				Server: "https://far.example", TLS: client.TLS{CAData: made().cert}, Compression: "none", TokenFile: pki + "/token",
				Impersonate: client.Impersonate{
					User: "root", UID: "7", Groups: []string{"g1", "g2"}, Extra: map[string][]string{"why": {"x"}, "k": {"v"}},
				},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.o.Path, test.o.Namespace = path, "n"
			got, err := Load(test.o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Client, ignoreFuncs); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Namespace != "n" {
				t.Errorf("namespace %q", got.Namespace)
			}
		})
	}
}

func TestLoadServerWithoutAnyFile(t *testing.T) {
	got, err := Load(Options{Server: "https://h:6443", Token: "t", Env: env(), Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{Client: client.Config{Server: "https://h:6443", Token: "t"}, Namespace: "default"}
	if diff := cmp.Diff(want, got, ignoreFuncs, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadMergesFirstWins(t *testing.T) {
	dir := write(t, map[string]string{
		"a/config": "current-context: x\nclusters: [{name: k, cluster: {server: https://first, certificate-authority: ca}}]\n",
		"b/config": "current-context: y\nclusters: [{name: k, cluster: {server: https://second, tls-server-name: s}}]\n" +
			"contexts: [{name: x, context: {cluster: k, user: u}}]\nusers: [{name: u, user: {tokenFile: token}}]\n",
		"a/ca": "", "b/token": "",
	})
	a, missing, b := dir+"/a/config", dir+"/missing", dir+"/b/config"
	list := strings.Join([]string{a, "", missing, a, b}, string(os.PathListSeparator))
	got, err := Load(Options{Env: env("KUBECONFIG", list)})
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Client:    client.Config{Server: "https://first", TLS: client.TLS{CAFile: dir + "/a/ca"}, TokenFile: dir + "/b/token"},
		Namespace: "default", Context: "x", Cluster: "k", User: "u", Sources: []string{a, b},
		Warnings: []string{"kubeconfig " + missing + " does not exist: skipped"},
	}
	if diff := cmp.Diff(want, got, ignoreFuncs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadOrder(t *testing.T) {
	dir := write(t, map[string]string{
		"flag":              one("server: https://flag", ""),
		"env":               one("server: https://env", ""),
		"home/.kube/config": one("server: https://home", ""),
		"empty":             "",
	})
	const host, sep = "KUBERNETES_SERVICE_HOST", string(os.PathListSeparator)
	for name, test := range map[string]struct {
		o    Options
		env  []string
		want string // server, or the beginning of the error
	}{
		"flag first":               {Options{Path: dir + "/flag"}, []string{"KUBECONFIG", dir + "/env", host, "h"}, "https://flag"},
		"KUBECONFIG before pod":    {Options{}, []string{"KUBECONFIG", dir + "/env", host, "h"}, "https://env"},
		"pod before home":          {Options{}, []string{host, "h"}, "https://pod"},
		"home last":                {Options{}, nil, "https://home"},
		"missing KUBECONFIG, pod":  {Options{}, []string{"KUBECONFIG", dir + "/no", host, "h"}, "https://pod"},
		"empty KUBECONFIG, pod":    {Options{}, []string{"KUBECONFIG", dir + "/empty", host, "h"}, "https://pod"},
		"KUBECONFIG hides home":    {Options{}, []string{"KUBECONFIG", dir + "/no"}, "load config: no cluster configured: no file of KUBECONFIG exists (" + dir + "/no)"},
		"separators hide home":     {Options{}, []string{"KUBECONFIG", sep + sep}, "load config: no cluster configured: KUBECONFIG holds separators and no file, and this is not a pod"},
		"flag hides all":           {Options{Path: dir + "/empty"}, []string{host, "h"}, "load config: no cluster configured: " + dir + "/empty names none"},
		"context rules out pod":    {Options{Context: "c"}, []string{host, "h"}, "https://home"},
		"server gets no pod token": {Options{Server: "https://s"}, []string{host, "h"}, "https://s"},
		"flag must exist":          {Options{Path: dir + "/no"}, nil, "load config: kubeconfig " + dir + "/no: "},
	} {
		t.Run(name, func(t *testing.T) {
			test.o.Env, test.o.Home = env(test.env...), dir+"/home"
			test.o.inCluster = func() (client.Config, string, error) {
				return client.Config{Server: "https://pod", TokenFile: "pod-token"}, "ns", nil
			}
			got, err := Load(test.o)
			if err != nil {
				if !strings.HasPrefix(err.Error(), test.want) {
					t.Errorf("error %q, want %q", err, test.want)
				}
				return
			}
			if got.Client.Server != test.want {
				t.Errorf("server %q, want %q", got.Client.Server, test.want)
			}
			if pod := test.want == "https://pod"; (got.Client.TokenFile != "") != pod || (got.Namespace == "ns") != pod {
				t.Errorf("token file %q, namespace %q", got.Client.TokenFile, got.Namespace)
			}
		})
	}
}

func TestLoadInClusterOverrides(t *testing.T) {
	o := Options{Env: env("KUBERNETES_SERVICE_HOST", "h"), Home: t.TempDir(), Namespace: "n", Token: "t", As: "a", Insecure: true}
	o.inCluster = func() (client.Config, string, error) {
		return client.Config{Server: "https://pod", TokenFile: "f", TLS: client.TLS{CAFile: "ca"}}, "ns", nil
	}
	got, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Client: client.Config{
			Server: "https://pod", Token: "t", TLS: client.TLS{Insecure: true}, Impersonate: client.Impersonate{User: "a"},
		},
		Namespace: "n", Sources: []string{"in-cluster"},
		Warnings: []string{"the certificate of pod is not verified (--insecure-skip-tls-verify): anybody in between can read and change everything"},
	}
	if diff := cmp.Diff(want, got, ignoreFuncs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	o.inCluster = func() (client.Config, string, error) { return client.Config{}, "", errors.New("no CA") }
	if _, err := Load(o); err == nil || err.Error() != "load config: in-cluster: no CA" {
		t.Errorf("error %v", err)
	}
	o.inCluster = func() (client.Config, string, error) { return client.Config{}, "", client.ErrNotInCluster }
	if _, err := Load(o); !errors.Is(err, ErrNoCluster) {
		t.Errorf("error %v, want ErrNoCluster", err)
	}
}

func TestLoadProxy(t *testing.T) {
	for _, proxy := range []string{"http://p:3128", "https://u:pw@p", "socks5://p:1080", "socks5h://p", "--proxy-url http://p"} {
		o, inFile := Options{}, proxy
		if s, ok := strings.CutPrefix(proxy, "--proxy-url "); ok {
			o.ProxyURL, inFile, proxy = s, "ftp://broken", s
		}
		dir := write(t, map[string]string{"config": one("server: https://h, proxy-url: '"+inFile+"'", "")})
		o.Path = dir + "/config"
		got, err := Load(o)
		if err != nil {
			t.Fatal(err)
		}
		want, err := url.Parse(proxy)
		if err != nil {
			t.Fatal(err)
		}
		u, err := got.Client.Proxy(nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), u.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestLoadWarnings(t *testing.T) {
	for name, test := range map[string]struct {
		cluster, user, want string
	}{
		"insecure": {
			"server: https://h, insecure-skip-tls-verify: true", "",
			`the certificate of h is not verified (cluster "k" in FILE): anybody in between can read and change everything`,
		},
		"data and file": {
			"server: https://h, certificate-authority: none, certificate-authority-data: $CA", "",
			`cluster "k" in FILE: certificate-authority-data and certificate-authority are both set; the data is used`,
		},
		"plain HTTP": {"server: http://h", "token: t", `the server's URL is http, not https: no credentials are sent`},
		"no scheme": {
			"server: 'localhost:8001'", "",
			`cluster "k" in FILE: the server "localhost:8001" has no scheme: http is used, as in kubectl; write https:// in front if it uses TLS`,
		},
		"token and token file": {
			"server: https://h", "token: t, tokenFile: gone",
			`user "u" in FILE: tokenFile: DIR/gone: no such file or directory; the token is used`,
		},
		"token and empty token file": {
			"server: https://h", "token: t, tokenFile: empty",
			`user "u" in FILE: tokenFile: DIR/empty: it is empty; the token is used`,
		},
		"key without certificate": {
			"server: https://h", "token: t, client-key-data: $KEY",
			`user "u" in FILE has a client-key without a client-certificate; it is not used`,
		},
		"expired certificate": {
			"server: https://h", "client-certificate-data: $OLD, client-key-data: $KEY",
			`the client certificate expired on 2020-01-02: get a new one`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := write(t, map[string]string{"config": one(test.cluster, test.user), "empty": "\n"}) + "/config"
			got, err := Load(Options{Path: file})
			if err != nil {
				t.Fatal(err)
			}
			want := strings.NewReplacer("FILE", file, "DIR", filepath.Dir(file)).Replace(test.want)
			if diff := cmp.Diff([]string{want}, got.Warnings); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if strings.HasPrefix(got.Client.Server, "http:") && got.Client.Token != "" {
				t.Error("the token crosses the network in the clear")
			}
			if _, err := client.New(got.Client); err != nil {
				t.Errorf("client.New: %v", err)
			}
		})
	}
}

func TestNames(t *testing.T) {
	dir := samples(t)
	for name, o := range map[string]Options{
		"flag": {Path: dir + "/config"},
		"env":  {Env: env("KUBECONFIG", dir+"/config")},
	} {
		t.Run(name, func(t *testing.T) {
			contexts, clusters, users, err := Names(o)
			if err != nil {
				t.Fatal(err)
			}
			want := [][]string{{"dev", "prod"}, {"far", "near"}, {"alice", "bob"}}
			if diff := cmp.Diff(want, [][]string{contexts, clusters, users}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, _, _, err := Names(Options{Path: dir + "/no"}); err == nil {
		t.Error("no error for a missing --kubeconfig")
	}
	if contexts, _, _, err := Names(Options{Env: env(), Home: t.TempDir()}); err != nil || len(contexts) > 0 {
		t.Errorf("without a file: %v, %v", contexts, err)
	}
}
