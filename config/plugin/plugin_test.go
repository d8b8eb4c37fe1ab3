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
		"no version":    {func(o *Options) { o.APIVersion = "" }, "exec.apiVersion is missing: want client.authentication.k8s.io/v1 or v1beta1, whichever the command supports"},
		"v1alpha1":      {func(o *Options) { o.APIVersion = "client.authentication.k8s.io/v1alpha1" }, `exec.apiVersion "client.authentication.k8s.io/v1alpha1" is not supported: want client.authentication.k8s.io/v1 or v1beta1; update the tool that wrote the entry, and let it write the entry again`},
		"other version": {func(o *Options) { o.APIVersion = "v1" }, `exec.apiVersion "v1" is not supported: want client.authentication.k8s.io/v1 or v1beta1; update the tool that wrote the entry, and let it write the entry again`},
		"no command":    {func(o *Options) { o.Command = "" }, "exec.command is missing"},
		"no mode in v1": {func(o *Options) { o.Interactive = "" }, "exec.interactiveMode is missing, which v1 wants: Never, IfAvailable or Always"},
		"other mode":    {func(o *Options) { o.Interactive = "never" }, `exec.interactiveMode "never" is none of Never, IfAvailable and Always`},
		"env":           {func(o *Options) { o.Env = []string{"A=", "hunter2"} }, "exec.env[1] has no name"},
		"env, no name":  {func(o *Options) { o.Env = []string{"=hunter2"} }, "exec.env[0] has no name"},
		"env, NUL":      {func(o *Options) { o.Env = []string{"A=hunter2\x00"} }, "exec.env[0] holds a NUL"},
		"extension":     {func(o *Options) { o.Cluster = &Cluster{Config: json.RawMessage("hunter2")} }, "the cluster's extension client.authentication.k8s.io/exec is not JSON"},
		"time limit":    {func(o *Options) { o.Timeout = -time.Second }, "the time limit -1s is negative"},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{APIVersion: v1, Command: "aws", Interactive: never, From: `user "dev" in /home/me/.kube/config`}
			if _, err := New(o); err != nil {
				t.Fatal(err)
			}
			tt.change(&o)
			want := `user "dev" in /home/me/.kube/config: ` + tt.want
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
