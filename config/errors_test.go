package config

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoadErrors(t *testing.T) {
	contexts := "contexts: [{name: b, context: {cluster: k}}, {name: a, context: {cluster: k}}]\n"
	for name, test := range map[string]struct {
		file string
		o    Options
		want string
	}{
		"unknown context": {
			contexts, Options{Context: "foo"},
			`context "foo" is not in FILE; it has: a, b`,
		},
		"unknown current-context": {
			"current-context: foo\n" + contexts, Options{},
			`current-context "foo" is not in FILE; it has: a, b`,
		},
		"no current-context": {
			contexts, Options{},
			`no cluster configured: FILE sets no current-context; give --context, one of: a, b`,
		},
		"no contexts": {
			"clusters: [{name: k}]", Options{},
			`no cluster configured: FILE has no contexts; give --cluster, one of: k`,
		},
		"unknown cluster": {
			contexts, Options{Context: "a"},
			`cluster "k", which context "a" of FILE names, is not in FILE; it has: none`,
		},
		"unknown cluster flag": {
			one("server: https://h", ""), Options{Cluster: "x"},
			`cluster "x" is not in FILE; it has: k`,
		},
		"unknown user flag": {
			one("server: https://h", ""), Options{User: "x"},
			`user "x" is not in FILE; it has: u`,
		},
		"context without cluster": {
			"current-context: c\ncontexts: [{name: c}]", Options{},
			`no cluster configured: context "c" in FILE names no cluster; give --cluster, one of: none`,
		},
		"no server": {
			one("", ""), Options{},
			`cluster "k" in FILE has no server: add one such as https://host:6443, or give --server`,
		},
		"server without scheme": {
			one("server: 'host:8080/path'", ""), Options{},
			`cluster "k" in FILE: server "host:8080/path" is not a URL such as https://host:6443`,
		},
		"server without host": {
			one("server: 'https://:6443'", ""), Options{},
			`cluster "k" in FILE: server "https://:6443" is not a URL such as https://host:6443`,
		},
		"server with a secret query": {
			one("server: 'ftp://h?token=SECRET'", ""), Options{},
			`cluster "k" in FILE: server is not a URL such as https://host:6443`,
		},
		"server not a URL": {
			one("server: https://h", ""), Options{Server: "https://u:SECRET@h:x"},
			`--server is not a URL such as https://host:6443`,
		},
		"proxy flag": {
			one("server: https://h", ""), Options{ProxyURL: "ftp://u:SECRET@p"},
			`--proxy-url has a scheme other than http, https and socks5`,
		},
		"CA not PEM": {
			one("server: https://h, certificate-authority-data: U0VDUkVU", ""), Options{},
			`cluster "k" in FILE: certificate-authority-data holds no certificate: want PEM, in base64`,
		},
		"key not of the certificate": {
			one("server: https://h", "client-certificate-data: $CERT, client-key-data: U0VDUkVU"), Options{},
			`user "u" in FILE: client-certificate-data and client-key-data are not a certificate and its key: want PEM, in base64`,
		},
		"CA with ~": {
			one("server: https://h, certificate-authority: ~/ca", ""), Options{},
			`cluster "k" in FILE: certificate-authority: DIR/~/ca: no such file or directory (only shells expand ~, and not everywhere: write the whole path)`,
		},
		"token and password flags":    {"", Options{Token: "SECRET", Username: "u"}, `a token and --username or --password are given: give one`},
		"password flag alone":         {"", Options{Password: "SECRET"}, `--password needs --username`},
		"negative time of the plugin": {"", Options{PluginTimeout: -1}, `the time limit -1ns of a plugin is negative`},
		"server with password": {
			one("server: 'https://me:SECRET@h'", ""), Options{},
			`cluster "k" in FILE: server holds a user name: put it into the user's entry`,
		},
		"server flag": {
			one("server: https://h", ""), Options{Server: "ftp://h"},
			`--server "ftp://h" is not a URL such as https://host:6443`,
		},
		"proxy": {
			one("server: https://h, proxy-url: 'ftp://u:SECRET@p'", ""), Options{},
			`cluster "k" in FILE: proxy-url has a scheme other than http, https and socks5`,
		},
		"proxy not a URL": {
			one("server: https://h, proxy-url: 'http://u:SECRET/@p:x'", ""), Options{},
			`cluster "k" in FILE: proxy-url is not a URL such as http://proxy:3128`,
		},
		"CA and insecure": {
			one("server: https://h, insecure-skip-tls-verify: true, certificate-authority: x", ""), Options{},
			`cluster "k" in FILE: insecure-skip-tls-verify and certificate-authority contradict each other: remove one`,
		},
		"CA missing": {
			one("server: https://h, certificate-authority: x", ""), Options{},
			`cluster "k" in FILE: certificate-authority: DIR/x: no such file or directory`,
		},
		"CA not base64": {
			one("server: https://h, certificate-authority-data: SECRET!", ""), Options{},
			`cluster "k" in FILE: certificate-authority-data is not valid base64`,
		},
		"key not base64": {
			one("server: https://h", "client-certificate-data: YQ==, client-key-data: SECRET!"), Options{},
			`user "u" in FILE: client-key-data is not valid base64`,
		},
		"certificate without key": {
			one("server: https://h", "client-certificate-data: YQ=="), Options{},
			`user "u" in FILE has a client-certificate without a client-key`,
		},
		"key flag without certificate": {
			one("server: https://h", ""), Options{KeyFile: "x"},
			`user "u" in FILE has no client-certificate: --client-key needs --client-certificate`,
		},
		"certificate flag without key": {
			one("server: https://h", ""), Options{CertFile: "x"},
			`--client-certificate needs --client-key: user "u" in FILE has none`,
		},
		"token and password": {
			one("server: https://h", "token: SECRET, username: a, password: SECRET"), Options{},
			`user "u" in FILE has both a token and a username or password: remove one`,
		},
		"token file missing": {
			one("server: https://h", "tokenFile: x"), Options{},
			`user "u" in FILE: tokenFile: DIR/x: no such file or directory`,
		},
		"groups without as": {
			one("server: https://h", "as-groups: [g]"), Options{},
			`user "u" in FILE: as is missing, which as-uid, as-groups and as-user-extra need`,
		},
		"as-group flag without as": {
			one("server: https://h", ""), Options{AsGroups: []string{"g"}},
			`--as-group, --as-uid and --as-user-extra need --as`,
		},
		"insecure and CA flags": {
			"", Options{Insecure: true, CAFile: "x"},
			`--insecure-skip-tls-verify and --certificate-authority contradict each other: give one`,
		},
		"token and token file flags": {
			"", Options{Token: "SECRET", TokenFile: "x"},
			`a token and a token file are given: give one`,
		},
		"negative timeout": {"", Options{RequestTimeout: -1}, `--request-timeout -1ns is negative`},
		"duplicate name": {
			"users: [{name: u}, {name: u, user: {token: SECRET}}]", Options{},
			`kubeconfig FILE: users holds "u" twice: remove one`,
		},
		"other kind": {
			"apiVersion: v1\nkind: Secret\ndata: {a: SECRET}", Options{},
			`kubeconfig FILE: not a kubeconfig: want apiVersion v1, kind Config; found "v1" "Secret"`,
		},
		"text": {"SECRET", Options{}, `kubeconfig FILE: line 1: want a mapping, found a string`},
		"list": {"users: SECRET", Options{}, `kubeconfig FILE: line 1: want a list, found a string`},
		"bool": {
			one("server: https://h,\n insecure-skip-tls-verify: SECRET", ""), Options{},
			`kubeconfig FILE: line 4: want true or false, found a string`,
		},
		"token a list": {one("", "token: [SECRET]"), Options{}, `kubeconfig FILE: line 4: want a string, found a list`},
		"alias":        {one("", "token: *SECRET"), Options{}, `kubeconfig FILE: an alias (*name) without its anchor; quote a value that begins with *`},
		"syntax":       {"users:\n- name: u\n  user: {token: 'SECRET", Options{}, `kubeconfig FILE: line 3: not valid YAML: found unexpected end of stream`},
		"indentation":  {"users:\n- name: u\n token: SECRET", Options{}, `kubeconfig FILE: line 2: not valid YAML: did not find expected key`},
		"binary":       {"users: !!binary SECRET!", Options{}, `kubeconfig FILE: not valid YAML`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, map[string]string{"config": test.file})
			test.o.Path, test.o.Env = dir+"/config", env()
			_, err := Load(test.o)
			if err == nil {
				t.Fatal("no error")
			}
			if strings.Contains(err.Error(), "SECRET") {
				t.Errorf("the error holds a secret: %v", err)
			}
			got := strings.ReplaceAll(strings.ReplaceAll(err.Error(), dir+"/config", "FILE"), dir, "DIR")
			if diff := cmp.Diff("load config: "+test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadNothingConfigured(t *testing.T) {
	home := t.TempDir()
	_, err := Load(Options{Env: env(), Home: home})
	if !errors.Is(err, ErrNoCluster) {
		t.Fatalf("error %v, want ErrNoCluster", err)
	}
	want := "load config: no cluster configured: KUBECONFIG is not set, this is not a pod, and " + home +
		"/.kube/config does not exist; give --kubeconfig, set KUBECONFIG, or give --server"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadRefusesHugeFile(t *testing.T) {
	path := t.TempDir() + "/config"
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(maxFile+1), f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(Options{Path: path}); err == nil || !strings.Contains(err.Error(), "larger than 16 MiB") {
		t.Errorf("error %v", err)
	}
}

func TestParseHostileFileIsQuick(t *testing.T) {
	for name, test := range map[string]struct{ file, want string }{
		"one key often": {"{" + strings.Repeat("users: x,", 1000) + "}", "line 1: want a list, found a string"},
		"many keys":     {"{" + strings.Repeat("a,", 20_000) + "}", "line 1: a mapping with more than 1000 keys"},
		"deep":          {strings.Repeat("- ", 20_000), "not valid YAML: exceeded max depth of 10000"},
		"bomb": {
			"a: &a [{},{},{},{},{},{},{},{},{}]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\ncontexts: *c",
			"line 2: want a mapping, found a list",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse([]byte(test.file))
			if err == nil || err.Error() != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}
