package plugin

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func TestNewErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"no version":    {func(o *Options) { o.APIVersion = "" }, "no apiVersion: write client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1"},
		"v1alpha1":      {func(o *Options) { o.APIVersion = "client.authentication.k8s.io/v1alpha1" }, "apiVersion v1alpha1 is no longer supported: update the plugin, and write client.authentication.k8s.io/v1beta1 or client.authentication.k8s.io/v1"},
		"other version": {func(o *Options) { o.APIVersion = "v1" }, `apiVersion "v1": want client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1`},
		"no command":    {func(o *Options) { o.Command = "" }, "no command is named"},
		"no mode in v1": {func(o *Options) { o.Interactive = "" }, "no interactiveMode, which v1 demands: write IfAvailable, Never or Always"},
		"other mode":    {func(o *Options) { o.Interactive = "never" }, `interactiveMode "never": want IfAvailable, Never or Always`},
		"env":           {func(o *Options) { o.Env = []string{"A=", "hunter2"} }, "entry 2 of env is not NAME=value"},
		"env, no name":  {func(o *Options) { o.Env = []string{"=hunter2"} }, "entry 1 of env is not NAME=value"},
		"env, NUL":      {func(o *Options) { o.Env = []string{"A=hunter2\x00"} }, "entry 1 of env is not NAME=value"},
		"extension":     {func(o *Options) { o.Cluster = &Cluster{Config: json.RawMessage("hunter2")} }, "the cluster's extension client.authentication.k8s.io/exec is not JSON"},
		"time limit":    {func(o *Options) { o.Timeout = -time.Second }, "the time limit -1s is negative"},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{APIVersion: v1, Command: "aws", Interactive: never, From: `user "dev" in /home/me/.kube/config`}
			if _, err := New(o); err != nil {
				t.Fatal(err)
			}
			tt.change(&o)
			want := `user "dev" in /home/me/.kube/config: credential plugin: ` + tt.want
			if p, err := New(o); p != nil || err == nil || err.Error() != want {
				t.Errorf("New: %v\nwant %s", err, want)
			}
		})
	}
}

func TestStringsShowNoSecrets(t *testing.T) {
	const secret = "hunter2"
	o := Options{
		APIVersion: v1, Command: "aws", Args: []string{"--secret", secret}, Env: []string{"A=" + secret}, Interactive: never,
		From:    `user "dev" in /f`,
		Cluster: &Cluster{Server: "https://h", ProxyURL: "http://u:" + secret + "@p", Config: json.RawMessage(`"` + secret + `"`)},
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	p.held = token(secret, 0)
	for _, v := range []any{o, &o, p, *o.Cluster, o.Cluster, struct{ P *Plugin }{p}, struct{ O Options }{o}} {
		for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
			if s := fmt.Sprintf(format, v); strings.Contains(s, secret) {
				t.Errorf("%s of %T: %s", format, v, s)
			}
		}
	}
	for got, want := range map[string]string{
		o.String():         `plugin.Options(user "dev" in /f: "aws")`,
		p.String():         `plugin.Plugin(user "dev" in /f: "aws")`,
		o.Cluster.String(): `plugin.Cluster("https://h")`,
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestOnlyATerminalIsATerminal(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{file, null, r, w} {
		if isTerminal(f) {
			t.Errorf("%s counts as a terminal", f.Name())
		}
		f.Close()
		if isTerminal(f) {
			t.Errorf("%s, which is closed, counts as a terminal", f.Name())
		}
	}
}
