package config

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/listwatch/listwatch/client"
)

// planted is a secret, a different one at each call with another key.
func planted(key string) string { return "PLANTED-" + key + "-0123456789" }

// laden is a kubeconfig with something secret under every key that may hold such
// a thing. Which of the users is used is for the test to say.
func laden() string {
	b64 := base64.StdEncoding.EncodeToString
	return `apiVersion: v1
kind: Config
current-context: c
preferences: {x: ` + planted("preferences") + `}
contexts:
- name: c
  context: {cluster: k, user: u, namespace: shop, extensions: [{name: e, extension: ` + planted("extension") + `}]}
clusters:
- name: k
  cluster:
    server: https://h:6443/path
    tls-server-name: s
    certificate-authority-data: $CA
    proxy-url: http://user:` + planted("proxy") + `@proxy:3128
    disable-compression: true
    extensions: [{name: client.authentication.k8s.io/exec, extension: {a: ` + planted("config") + `}}]
users:
- name: u
  user:
    token: ` + planted("token") + `
    as: root
    as-uid: "1"
    as-groups: [g]
    as-user-extra: {k: [v]}
- name: basic
  user: {username: ann, password: ` + planted("password") + `}
- name: cert
  user: {client-certificate-data: $CERT, client-key-data: ` + b64(append(made().key, planted("key")...)) + `}
- name: file
  user: {tokenFile: token}
- name: exec
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: login
      args: [--client-secret, ` + planted("arg") + `]
      env: [{name: A_SECRET, value: ` + planted("env") + `}]
      installHint: install it
      provideClusterInfo: true
      interactiveMode: Never
- name: provider
  user:
    auth-provider: {name: oidc, config: {id-token: ` + planted("id-token") + `, client-secret: ` + planted("client-secret") + `}}
- name: both
  user: {token: ` + planted("token2") + `, username: x, password: ` + planted("password2") + `}
`
}

// leaks returns the forms in which something planted stands in s.
func leaks(s string) []string {
	var found []string
	for form, mark := range map[string]string{
		"plain": "PLANTED", "base64": "UExBTlRFR", "hex": hex.EncodeToString([]byte("PLANTED")),
		"key": "PRIVATE KEY", "key in base64": base64.StdEncoding.EncodeToString(made().key)[40:80],
	} {
		if strings.Contains(s, mark) {
			found = append(found, form)
		}
	}
	return found
}

// shown is all that Load and its result tell to whoever prints them.
func shown(o Options) string {
	cfg, po, err := loadWithPlugin(o)
	out := []any{o, &o, err}
	if e, ok := errors.AsType[*ProviderError](err); ok {
		out = append(out, *e)
	}
	if cfg != nil {
		c := cfg.Client
		out = append(out, cfg, *cfg, c, c.TLS, c.Credentials, cfg.Warnings, cfg.Sources, struct{ C Config }{*cfg}, []*Config{cfg}, map[string]any{"o": o})
		if _, err := client.New(c); err != nil {
			out = append(out, err)
		}
	}
	if po != nil {
		out = append(out, *po, po.Cluster)
	}
	var b strings.Builder
	for _, v := range out {
		fmt.Fprintf(&b, "%v\n%+v\n%#v\n%s\n%q\n", v, v, v, v, v)
	}
	return b.String()
}

// users of laden, in their order.
var users = []string{"u", "basic", "cert", "file", "exec", "provider", "both"}

func TestNothingShowsSecrets(t *testing.T) {
	dir := write(t, map[string]string{"config": laden(), "token": planted("file")})
	if err := os.Chmod(dir+"/config", 0o644); err != nil {
		t.Fatal(err)
	}
	for _, user := range users {
		if found := leaks(shown(Options{Path: dir + "/config", User: user})); found != nil {
			t.Errorf("user %s: a secret is shown: %s", user, found)
		}
	}
	for name, o := range map[string]Options{
		"token":    {Token: planted("flag")},
		"password": {Username: "u", Password: planted("flag")},
		"proxy":    {ProxyURL: "ftp://u:" + planted("flag") + "@h"},
		"server":   {Server: "https://u:" + planted("flag") + "@h"},
		"http":     {Server: "http://h/?" + planted("flag"), Token: planted("flag")},
		"broken":   {Server: "h/?" + planted("flag")},
	} {
		o.Path = dir + "/config"
		if found := leaks(shown(o)); found != nil {
			t.Errorf("option %s: a secret is shown: %s", name, found)
		}
	}
}

// Each value of the file in turn is replaced by each of several that are wrong
// somewhere, and no message may quote a secret of the others.
func TestNoErrorShowsSecrets(t *testing.T) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(expand(laden())), &doc); err != nil {
		t.Fatal(err)
	}
	broken := []string{"", "null", "text", "[]", "[x, [y]]", "{a: {b: 1}}", "!!binary '!'", "*gone", "https://%zz", "'%"}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/token", []byte(planted("file")), 0o600); err != nil {
		t.Fatal(err)
	}
	const hole = "HOLEHOLE"
	files := 0
	var failed int
	holes(&doc, func(path string) {
		text, err := yaml.Marshal(&doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range broken {
			if err := os.WriteFile(dir+"/config", []byte(strings.ReplaceAll(string(text), hole, value)), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, user := range concerned(path) {
				files++
				out := shown(Options{Path: dir + "/config", User: user})
				if strings.Contains(out, "load config: ") {
					failed++
				}
				if found := leaks(out); found != nil {
					t.Errorf("%s = %s, user %s: a secret is shown: %s", path, value, user, found)
				}
			}
		}
	}, hole)
	if files < 700 || failed < files/10 {
		t.Errorf("%d of %d files were refused: the test tests little", failed, files)
	}
}

// concerned are the users whose configuration what stands at path is part of.
func concerned(path string) []string {
	var i int
	if _, below, ok := strings.Cut(path, ".users["); !ok {
		return []string{"", "exec"}
	} else if _, err := fmt.Sscanf(below, "%d]", &i); err != nil {
		return users
	}
	return users[i : i+1]
}

// holes puts hole in place of each scalar, list and mapping below n in turn.
func holes(n *yaml.Node, f func(path string), hole string) {
	var walk func(n *yaml.Node, path string)
	walk = func(n *yaml.Node, path string) {
		for i, c := range n.Content {
			below := fmt.Sprintf("%s[%d]", path, i)
			if n.Kind == yaml.MappingNode {
				if i%2 == 0 {
					continue
				}
				below = path + "." + n.Content[i-1].Value
			}
			n.Content[i] = &yaml.Node{Kind: yaml.ScalarNode, Value: hole}
			f(below)
			n.Content[i] = c
			walk(c, below)
		}
	}
	walk(n, "")
}

func TestLeaksFindsWhatIsPlanted(t *testing.T) {
	b, err := json.Marshal([]byte(planted("x")))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"a" + planted("x"), string(b), fmt.Sprintf("%x", planted("x")), string(made().key), expand("$KEY")} {
		if leaks(s) == nil {
			t.Errorf("%.40s: not found", s)
		}
	}
	if found := leaks("load config: nothing"); found != nil {
		t.Errorf("found %s in nothing", slices.Sorted(slices.Values(found)))
	}
}

func TestStringsOfOptionsAndConfig(t *testing.T) {
	o := Options{Path: "p", Context: "c", Server: "https://u:s@h", Token: "s", Password: "s"}
	cfg := Config{Client: client.Config{Server: "https://h", Token: "s"}, Namespace: "n", Context: "c"}
	for want, v := range map[string]any{
		`config.Options(path "p", context "c", client.Config("https://h"))`:     o,
		`config.Config(client.Config("https://h"), namespace "n", context "c")`: &cfg,
	} {
		for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
			if got := fmt.Sprintf(format, v); got != want {
				t.Errorf("%s: %s, want %s", format, got, want)
			}
		}
	}
}
