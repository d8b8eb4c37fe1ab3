package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/config/plugin"
)

// full is an exec entry with all that one can have.
const full = `exec: {apiVersion: client.authentication.k8s.io/v1, command: ./bin/login, args: [-x, "", 7, "a b"],
  env: [{name: A, value: 1}, {name: B, value: "x=y"}, {name: C}], installHint: "get\e[31m it\n\there", provideClusterInfo: true,
  interactiveMode: Always, unknown: 1}`

const extensions = `extensions: [{name: other, extension: {a: 1}}, {name: client.authentication.k8s.io/exec,
  extension: {apiVersion: v1, audience: me, n: [1, 1.5, true, null, 2026-01-02], 8: x, deep: {on: {9: y}}}}]`

func TestLoadExecHandsAllToThePlugin(t *testing.T) {
	dir := write(t, map[string]string{"config": one(`server: "https://h:1", tls-server-name: n, proxy-url: "http://u:p@proxy:1",
  certificate-authority: ca.pem, disable-compression: true, `+extensions, full), "ca.pem": "the CA"})
	var stderr bytes.Buffer
	cfg, got, err := loadWithPlugin(Options{Path: dir + "/config", PluginTimeout: time.Second, Stdin: os.Stdin, Stderr: &stderr})
	if err != nil {
		t.Fatal(err)
	}
	want := &plugin.Options{
		APIVersion: "client.authentication.k8s.io/v1", Command: dir + "/bin/login", Args: []string{"-x", "", "7", "a b"},
		Env: []string{"A=1", "B=x=y", "C="}, InstallHint: "get[31m it\n\there", Interactive: "Always",
		Cluster: &plugin.Cluster{
			Server: "https://h:1", TLSServerName: "n", CAData: []byte("the CA"), ProxyURL: "http://u:p@proxy:1", DisableCompression: true,
			Config: json.RawMessage(`{"8":"x","apiVersion":"v1","audience":"me","deep":{"on":{"9":"y"}},"n":[1,1.5,true,null,"2026-01-02"]}`),
		},
		From: `user "u" in ` + dir + `/config`, Timeout: time.Second,
	}
	if got.Stdin != os.Stdin || got.Stderr != &stderr {
		t.Error("stdin and stderr are not those of the options")
	}
	got.Stdin, got.Stderr = nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, ok := cfg.Client.Credentials.(*plugin.Plugin); !ok {
		t.Errorf("credentials are a %T", cfg.Client.Credentials)
	}
}

func TestLoadExecPassesOverridesToThePlugin(t *testing.T) {
	dir := write(t, map[string]string{"config": one(`server: "https://h", tls-server-name: n, certificate-authority-data: $CA`, full)})
	o := Options{Path: dir + "/config", Server: "https://other:2/?q#f", Insecure: true, ProxyURL: "socks5://p", DisableCompression: true}
	_, got, err := loadWithPlugin(o)
	if err != nil {
		t.Fatal(err)
	}
	want := &plugin.Cluster{Server: "https://other:2/", Insecure: true, ProxyURL: "socks5://p", DisableCompression: true}
	if diff := cmp.Diff(want, got.Cluster); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadExecCommand(t *testing.T) {
	for command, want := range map[string]string{
		"aws": "aws", "/usr/bin/aws": "/usr/bin/aws", "bin/aws": "DIR/bin/aws", "../aws": "UP/aws", "aws.exe": "aws.exe",
	} {
		dir := write(t, map[string]string{"sub/config": one("server: https://h", "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: "+command+"}")})
		_, got, err := loadWithPlugin(Options{Path: dir + "/sub/config"})
		if err != nil {
			t.Fatal(err)
		}
		want = strings.NewReplacer("DIR", dir+"/sub", "UP", dir).Replace(want)
		if got.Command != want || got.Interactive != "" || got.Cluster != nil {
			t.Errorf("%s: %s, %s, %v; want %s", command, got.Command, got.Interactive, got.Cluster, want)
		}
	}
}

func TestLoadExecErrors(t *testing.T) {
	const v1, v1beta1 = "apiVersion: client.authentication.k8s.io/v1, ", "apiVersion: client.authentication.k8s.io/v1beta1, "
	for name, test := range map[string]struct{ exec, want string }{
		"no apiVersion": {"command: x", `exec.apiVersion is missing: want client.authentication.k8s.io/v1 or v1beta1, whichever the command supports`},
		"v1alpha1": {
			"command: x, apiVersion: client.authentication.k8s.io/v1alpha1",
			`exec.apiVersion "client.authentication.k8s.io/v1alpha1" is not supported: want client.authentication.k8s.io/v1 or v1beta1; update the tool that wrote the entry, and let it write the entry again`,
		},
		"no command":      {v1beta1, `exec.command is missing`},
		"no mode":         {v1 + "command: x", `exec.interactiveMode is missing, which v1 wants: Never, IfAvailable or Always`},
		"unknown mode":    {v1 + "command: x, interactiveMode: never", `exec.interactiveMode "never" is none of Never, IfAvailable and Always`},
		"nameless env":    {v1beta1 + "command: x, env: [{name: A, value: SECRET}, {value: SECRET}]", `exec.env[1] has no name`},
		"env name with =": {v1beta1 + "command: x, env: [{name: A=SECRET}]", `exec.env[0] has a = in its name`},
		"env with NUL":    {v1beta1 + `command: x, env: [{name: A, value: "SECRET\0"}]`, `exec.env[0] holds a NUL`},
	} {
		t.Run(name, func(t *testing.T) {
			file := write(t, map[string]string{"config": one("server: https://h", "exec: {"+test.exec+"}")}) + "/config"
			_, err := Load(Options{Path: file})
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(`load config: user "u" in `+file+": "+test.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			// What is not used needs not be right.
			if _, err := Load(Options{Path: file, Token: "t"}); err != nil {
				t.Errorf("with a token: %v", err)
			}
		})
	}
	for name, test := range map[string]struct{ cluster, want string }{
		"extension without JSON": {
			"server: https://h, extensions: [{name: client.authentication.k8s.io/exec, extension: {a: .inf}}]",
			`cluster "k" in FILE: extensions: client.authentication.k8s.io/exec holds what JSON cannot express: line 3: a number or word that JSON has not`,
		},
		"CA gone": {
			"server: https://h, certificate-authority: gone",
			`cluster "k" in FILE: certificate-authority: DIR/gone: no such file or directory`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, map[string]string{"config": one(test.cluster, full)})
			_, err := Load(Options{Path: dir + "/config"})
			if err == nil {
				t.Fatal("no error")
			}
			want := strings.NewReplacer("FILE", dir+"/config", "DIR", dir).Replace("load config: " + test.want)
			if diff := cmp.Diff(want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadExecToleratesForeignExtensions(t *testing.T) {
	for _, foreign := range []string{"null", "{a: b}", "[]", "7", "[{name: x}]", "[{name: client.authentication.k8s.io/exec}]", "[7]"} {
		dir := write(t, map[string]string{"config": one("server: https://h, extensions: "+foreign, full)})
		_, got, err := loadWithPlugin(Options{Path: dir + "/config"})
		if err != nil {
			t.Errorf("%s: %v", foreign, err)
		} else if got.Cluster.Config != nil {
			t.Errorf("%s: %s", foreign, got.Cluster.Config)
		}
	}
}

// Whatever else says who the user is outweighs a plugin, as for kubectl, which
// looks for a token, a user name and a certificate before it runs one.
func TestLoadExecAndOtherCredentials(t *testing.T) {
	const exec = "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: x}"
	const provider = "auth-provider: {name: gcp}"
	for name, test := range map[string]struct {
		user string
		o    Options
		want string // the warning; none with the plugin
	}{
		"alone":             {exec, Options{}, "plugin"},
		"token":             {"token: t, " + exec, Options{}, "has both token and exec; the token is used, as by kubectl"},
		"tokenFile":         {"tokenFile: f, " + exec, Options{}, "has both tokenFile and exec; the tokenFile is used, as by kubectl"},
		"basic":             {"username: a, password: b, " + exec, Options{}, "has both username and exec; the username is used, as by kubectl"},
		"password only":     {"password: b, " + exec, Options{}, "plugin"},
		"certificate":       {"client-certificate-data: $CERT, client-key-data: $KEY, " + exec, Options{}, "has both client-certificate and exec; the client-certificate is used, as by kubectl"},
		"provider":          {"token: t, " + provider, Options{}, "has both token and auth-provider; the token is used"},
		"flag token":        {exec, Options{Token: "t"}, ""},
		"flag token file":   {exec, Options{TokenFile: "DIR/f"}, ""},
		"flag username":     {exec, Options{Username: "a"}, ""},
		"flag certificate":  {exec, Options{CertFile: "DIR/f", KeyFile: "DIR/f"}, ""},
		"provider and flag": {provider, Options{Token: "t"}, ""},
		"plain http":        {exec, Options{Server: "http://h"}, "the server's URL is http, not https: no credentials are sent"},
		"provider, http":    {provider, Options{Server: "http://h"}, "the server's URL is http, not https: no credentials are sent"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, map[string]string{"config": one("server: https://h", test.user), "f": ""})
			o := test.o
			o.Path = dir + "/config"
			for _, p := range []*string{&o.TokenFile, &o.CertFile, &o.KeyFile} {
				*p = strings.Replace(*p, "DIR", dir, 1)
			}
			cfg, po, err := loadWithPlugin(o)
			if err != nil {
				t.Fatal(err)
			}
			if got := po != nil && cfg.Client.Credentials != nil; got != (test.want == "plugin") {
				t.Errorf("plugin: %t", got)
			}
			got := strings.TrimPrefix(strings.Join(cfg.Warnings, "\n"), `user "u" in `+o.Path+" ")
			if want := strings.TrimPrefix(test.want, "plugin"); got != want {
				t.Errorf("warnings %q, want %q", got, want)
			}
			if c := cfg.Client; c.Credentials != nil && c.Token+c.TokenFile+c.Username != "" {
				t.Error("credentials beside the plugin, which the client refuses")
			}
		})
	}
}

func TestLoadExecAndProviderContradict(t *testing.T) {
	file := write(t, map[string]string{"config": one("server: https://h", full+", auth-provider: {name: gcp}")}) + "/config"
	_, err := Load(Options{Path: file})
	want := `load config: user "u" in ` + file + ` has both an exec entry and an auth-provider: remove one`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestLoadPasswordAloneGoesWithAPlugin(t *testing.T) {
	file := write(t, map[string]string{"config": one("server: https://h", "password: b, "+full)}) + "/config"
	cfg, err := Load(Options{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Client.Password != "" {
		t.Error("the password stands beside the plugin, which the client refuses")
	}
	if _, err := client.New(cfg.Client); err != nil {
		t.Error(err)
	}
}

func TestProviderErrorNamesThePluginInstead(t *testing.T) {
	for provider, want := range map[string]string{
		"gcp":       "gke-gcloud-auth-plugin",
		"azure":     "kubelogin convert-kubeconfig",
		"oidc":      "oidc-login",
		"openstack": "credential plugin of your provider",
	} {
		file := write(t, map[string]string{"config": one("server: https://h", "auth-provider: {name: "+provider+", config: {id-token: SECRET}}")}) + "/config"
		_, err := Load(Options{Path: file})
		e, ok := errors.AsType[*ProviderError](err)
		if !ok {
			t.Fatalf("error %v, want a ProviderError", err)
		}
		if diff := cmp.Diff(&ProviderError{User: "u", File: file, Provider: provider}, e); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if s := err.Error(); !strings.Contains(s, want) || !strings.Contains(s, file) || strings.Contains(s, "SECRET") {
			t.Errorf("%s: %s", provider, s)
		}
	}
}
