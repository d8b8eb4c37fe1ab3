package main

import (
	"cmp"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// The secrets that are planted. Each differs in plain, base64 and URL-escaped form.
const (
	plantedToken    = "planted+token/in/a=kubeconfig"
	plantedFile     = "planted+token/in/a=file"
	plantedFlag     = "planted+token/as/a=flag"
	plantedPassword = "planted+pass/word=of basic"
	plantedProxy    = "planted+pass/word=of-a-proxy"
	plantedEnv      = "planted+environment/of=a plugin"
	plantedArg      = "planted+argument/of=a plugin"
	plantedPlugin   = "planted+token/of/a=plugin"
	plantedGarbage  = "planted+output/of/a=plugin"
	plantedData     = "planted+data/of=a Secret"
	plantedString   = "planted+string/of=a Secret"
	plantedAzure    = "planted+token/of=azure"
)

// TestNothingOfASessionTellsASecret: whatever the program is asked to do, and
// whatever goes wrong with it, no credential and nothing of a Secret is in what it
// writes.
func TestNothingOfASessionTellsASecret(t *testing.T) {
	s := newSecrecy(t)
	for _, user := range []string{"token", "file", "certificate", "plugin", "plugin-failing", "plugin-garbage", "basic", "nobody", "azure"} {
		t.Run(user, func(t *testing.T) {
			config := s.config(t, user, "")
			s.srv.SetToken(cmp.Or(map[string]string{"file": plantedFile, "plugin": plantedPlugin}[user], plantedToken))
			out := t.TempDir()
			for _, args := range [][]string{
				{"list", "secrets"}, {"list", "secrets", "-o", "json"}, {"list", "secret/a", "-o", "yaml"}, {"list", "secrets", "-o", "ndjson"}, {"list", "secrets", "-o", "wide"},
				{"watch", "secrets", "--once", "-o", "json"}, {"watch", "secrets", "--once", "-o", "yaml"}, {"watch", "secrets", "--once", "-o", "kyaml"}, {"watch", "secrets,pods", "--once", "-o", "ndjson", "-v", "9"},
				{"watch", "secrets", "--max-events", "1", "-v", "9", "--log-format", "json"},
				{"watch", "nosuch", "-v", "9"}, {"list", "secrets", "-n", "nowhere", "-l", "a=b", "-v", "9"},
				{"record", "secrets", "--file", filepath.Join(out, "a.lwrec.ndjson"), "--max-events", "1", "-v", "9"},
				{"record", "secrets", "--file", filepath.Join(out, "b.lwrec.ndjson"), "--max-events", "1", "--initial-list", "paged"},
				{"auth", "check", "-v", "9"}, {"auth", "check", "secrets", "-o", "json"}, {"auth", "check", "secrets", "-v", "9", "--log-format", "json"},
				{"list", "secrets", "--token", plantedFlag, "-v", "9"}, {"auth", "check", "--token", plantedFlag},
				{"list", "secrets", "--username", "eve", "--password", plantedPassword, "-v", "9"}, {"auth", "check", "--username", "eve", "--password", plantedPassword},
				{"list", "secrets", "-s", "http://127.0.0.1:1"}, {"list", "secrets", "-s", "https://eve:" + url.QueryEscape(plantedPassword) + "@127.0.0.1:1"},
				{"list", "secrets", "-s", "https://127.0.0.1:1?token=" + url.QueryEscape(plantedToken)},
				{"auth", "check", "-s", "https://127.0.0.1:1"}, {"list", "secrets", "--client-key", s.keyFile}, {"list", "secrets", "--client-certificate", s.keyFile, "--client-key", s.keyFile},
				{"list", "secrets", "--certificate-authority", s.keyFile}, {"list", "secrets", "--kubeconfig", s.keyFile},
			} {
				s.run(t, append(args, "--kubeconfig", config)...)
			}
			s.search(t, out)
		})
	}
	t.Run("proxy", func(t *testing.T) {
		for _, proxy := range []string{s.proxy, "http://127.0.0.1:1", "socks5://127.0.0.1:1", "https://127.0.0.1:1", "ftp://127.0.0.1:1"} {
			scheme, host, _ := strings.Cut(proxy, "://")
			config := s.config(t, "token", scheme+"://eve:"+url.QueryEscape(plantedProxy)+"@"+host)
			for _, args := range [][]string{{"list", "secrets", "-v", "9"}, {"auth", "check", "secrets"}, {"auth", "check", "secrets", "-o", "json"}} {
				s.run(t, append(args, "--kubeconfig", config)...)
			}
		}
	})
	t.Run("broken kubeconfig", func(t *testing.T) {
		good, err := os.ReadFile(s.config(t, "token", ""))
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(good); i += 7 {
			path := filepath.Join(t.TempDir(), "cut")
			if err := os.WriteFile(path, good[:i], 0o600); err != nil {
				t.Fatal(err)
			}
			s.run(t, "auth", "check", "-q", "--kubeconfig", path, "-s", "http://127.0.0.1:1")
		}
	})
	if t.Logf("%d runs ended well, %d did not", s.listed, s.failed); s.listed < 40 || s.failed < 40 {
		t.Error("it tests nothing")
	}
}

// secrecy is a server with secrets, and what knows them.
type secrecy struct {
	srv     *apitest.Server
	keyFile string
	proxy   string
	planted map[string][]string // by what it is, in each form
	users   map[string]string

	listed, failed int // runs that ended well, and others
}

func newSecrecy(t *testing.T) *secrecy {
	t.Helper()
	s := &secrecy{srv: apitest.NewWith(t, apitest.Options{ClientCerts: true, Token: plantedToken})}
	s.srv.Put(kube.Secrets, fmt.Sprintf(`{"metadata":{"namespace":"default","name":"a","annotations":{"kubectl.kubernetes.io/last-applied-configuration":%q}},"data":{"key":%q},"stringData":{"word":%q}}`,
		`{"stringData":{"word":"`+plantedString+`"}}`, base64.StdEncoding.EncodeToString([]byte(plantedData)), plantedString))
	s.srv.On(apitest.Match{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Warning", `299 - "this is deprecated"`)
		apitest.Continue(w, r)
	})
	dir := t.TempDir()
	write := func(name, text string, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cert, key := s.srv.ClientCertPEM()
	certFile, tokenFile := write("cert", string(cert), 0o600), write("token", plantedFile+"\n", 0o600)
	s.keyFile = write("key", string(key), 0o600)
	const answer = `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"` + plantedPlugin + `"}}`
	plugin := func(name, script string) string {
		return fmt.Sprintf("exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: %q, args: [%q], env: [{name: SECRET, value: %q}]}",
			write(name, "#!/bin/sh\n"+script+"\n", 0o700), plantedArg, plantedEnv)
	}
	s.users = map[string]string{
		"token": fmt.Sprintf("token: %q", plantedToken), "file": fmt.Sprintf("tokenFile: %q", tokenFile), "nobody": "",
		"certificate":    fmt.Sprintf("client-certificate: %q, client-key: %q", certFile, s.keyFile),
		"basic":          fmt.Sprintf("username: eve, password: %q", plantedPassword),
		"plugin":         plugin("plugin", "echo '"+answer+"'"),
		"plugin-failing": plugin("plugin-failing", "echo '"+plantedGarbage+"'\nexit 1"),
		"plugin-garbage": plugin("plugin-garbage", "echo '{\"kind\":\""+plantedGarbage+"\"'"),
		"azure":          fmt.Sprintf("auth-provider: {name: azure, config: {access-token: %q}}", plantedAzure),
	}
	block, _ := pem.Decode(key)
	s.planted = map[string][]string{}
	for name, secret := range map[string]string{
		"token": plantedToken, "token file": plantedFile, "--token": plantedFlag, "password": plantedPassword, "proxy's password": plantedProxy,
		"plugin's environment": plantedEnv, "plugin's argument": plantedArg, "plugin's token": plantedPlugin, "plugin's output": plantedGarbage,
		"data of a Secret": plantedData, "stringData of a Secret": plantedString, "token of a provider": plantedAzure,
		"client key": string(block.Bytes), "line of the client key": strings.Split(string(key), "\n")[1],
	} {
		s.planted[name] = []string{secret, base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
			url.QueryEscape(secret), url.PathEscape(secret), strings.ReplaceAll(secret, "/", `\/`)}
	}
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusProxyAuthRequired)
		io.WriteString(w, r.Header.Get("Proxy-Authorization"))
	}))
	t.Cleanup(refusing.Close)
	s.proxy = refusing.URL
	return s
}

// config writes a kubeconfig.
func (s *secrecy) config(t *testing.T, user, proxy string) string {
	t.Helper()
	cluster := fmt.Sprintf("server: %q, certificate-authority-data: %s", s.srv.URL, inline(s.srv.CAPEM()))
	if proxy != "" {
		cluster += fmt.Sprintf(", proxy-url: %q", proxy)
	}
	return kubeconfigOf(t, cluster, s.users[user])
}

// run runs the program and searches what it writes.
func (s *secrecy) run(t *testing.T, args ...string) {
	t.Helper()
	code, stdout, stderr := runAtHome(t, args...)
	if code == 0 {
		s.listed++
	} else {
		s.failed++
	}
	s.hold(t, strings.Join(args[:2], " ")+"'s stdout", stdout)
	s.hold(t, strings.Join(args[:2], " ")+"'s stderr", stderr)
}

// hold fails the test if text holds a secret.
func (s *secrecy) hold(t *testing.T, what, text string) {
	t.Helper()
	for name, forms := range s.planted {
		for _, form := range forms {
			if strings.Contains(text, form) {
				t.Errorf("%s tells the %s:\n%s", what, name, text)
			}
		}
	}
}

// search looks through the files that were written to dir.
func (s *secrecy) search(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		s.hold(t, filepath.Base(path), string(b))
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestSecretsAreFoundWhereTheyAre: the search finds what is asked for.
func TestSecretsAreFoundWhereTheyAre(t *testing.T) {
	s := newSecrecy(t)
	code, stdout, stderr := runAtHome(t, "list", "secrets", "-o", "json", "--redact", "none", "--kubeconfig", s.config(t, "token", ""))
	for _, secret := range []string{base64.StdEncoding.EncodeToString([]byte(plantedData)), plantedString} {
		if code != 0 || !strings.Contains(stdout, secret) {
			t.Errorf("exit code %d, and %q is not in it:\n%s%s", code, secret, stdout, stderr)
		}
	}
}
