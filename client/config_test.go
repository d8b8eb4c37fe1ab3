package client_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

func TestServerURL(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"https://h", "https://h"},
		{"https://h/", "https://h"},
		{"http://127.0.0.1:8080", "http://127.0.0.1:8080"},
		{"https://[::1]:6443", "https://[::1]:6443"},
		{"https://h/k8s/clusters/c-1/", "https://h/k8s/clusters/c-1"},
		{"https://h/a%2Fb/", "https://h/a%2Fb"},
	} {
		c, err := client.New(client.Config{Server: tt.in})
		if err != nil {
			t.Errorf("New(%q): %v", tt.in, err)
			continue
		}
		if got := c.Server(); got != tt.want {
			t.Errorf("New(%q).Server() = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestServerURLRefused(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", "is empty"},
		{"h", "want http:// or https://"},
		{"h:6443", "want http:// or https://"},
		{"127.0.0.1:6443", "not a URL"},
		{"ftp://h", "want http:// or https://"},
		{"https:h", "has no host"},
		{"https://", "has no host"},
		{"https:///path", "has no host"},
		{"https://:6443", "has no host"},
		{"https://h:port", "not a URL"},
		{"https://[::1", "not a URL"},
		{"https://h\n", "not a URL"},
		{"https://u:sesame@h", "contains a user or password"},
		{"https://u:ses?ame@h", ""},
		{"https://u:ses#ame@h", ""},
		{"https://u:ses/ame@h", ""},
		{"https://u:%zzsesame@h", "not a URL"},
		{"https://h?token=sesame", "contains a query"},
		{"https://h?", "contains a query"},
		{"https://h#sesame", "contains a query or fragment"},
	} {
		_, err := client.New(client.Config{Server: tt.in})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("New(%q): %v; want an error with %q", tt.in, err, tt.want)
			continue
		}
		if strings.Contains(err.Error(), "ses") || strings.Contains(err.Error(), "ame@") {
			t.Errorf("New(%q) shows the secret: %v", tt.in, err)
		}
	}
}

func TestConfigRefused(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca := newAuthority(t)
	cert, key := ca.issue(t, "me")
	_, otherKey := ca.issue(t, "other")
	for _, tt := range []struct {
		name string
		cfg  client.Config
		want string
	}{
		{"token of two lines", client.Config{Token: "a\nb"}, "line break"},
		{"token with a control character", client.Config{Token: "a\x7f"}, "printable ASCII"},
		{"token with another character", client.Config{Token: "tok\u00e9n"}, "printable ASCII"},
		{"token file missing", client.Config{TokenFile: filepath.Join(dir, "none")}, "read token file"},
		{"token file empty", client.Config{TokenFile: file("empty", " \n")}, "is empty"},
		{"token file of two lines", client.Config{TokenFile: file("two", "a\nb\n")}, "more than one line"},
		{"token file that is padded", client.Config{TokenFile: file("padded", "a\x00\x00")}, "printable ASCII"},
		{"CA file missing", client.Config{TLS: client.TLS{CAFile: filepath.Join(dir, "none")}}, "read certificate authority"},
		{"CA not PEM", client.Config{TLS: client.TLS{CAData: []byte("x")}}, "no PEM certificate"},
		{"CA file not PEM", client.Config{TLS: client.TLS{CAFile: file("ca", "")}}, "no PEM certificate"},
		{"certificate without key", client.Config{TLS: client.TLS{CertData: cert}}, "must both be given"},
		{"key without certificate", client.Config{TLS: client.TLS{KeyData: key}}, "must both be given"},
		{"key of another", client.Config{TLS: client.TLS{CertData: cert, KeyData: otherKey}}, "does not match"},
		{"certificate file missing", client.Config{TLS: client.TLS{CertFile: filepath.Join(dir, "none"), KeyData: key}}, "read client certificate"},
		{"key file missing", client.Config{TLS: client.TLS{CertData: cert, KeyFile: filepath.Join(dir, "none")}}, "read client key"},
		{"an encoding of nobody", client.Config{Encoding: "cbor"}, "Config.Encoding is"},
		{"groups without user", client.Config{Impersonate: client.Impersonate{Groups: []string{"g"}}}, "no User"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Server = "https://h"
			if _, err := client.New(tt.cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New: %v; want an error with %q", err, tt.want)
			}
		})
	}
}

func TestErrorNamesTheRequestWithoutItsQuery(t *testing.T) {
	url := newServer(t, http.NotFound)
	req := &client.Request{Path: kube.Pods.Path("a"), Query: map[string][]string{"continue": {"very-long"}}}
	_, err := newClient(t, client.Config{Server: url}).Do(t.Context(), req)
	if err == nil || !strings.Contains(err.Error(), "GET "+url+"/api/v1/namespaces/a/pods: ") || strings.Contains(err.Error(), "very-long") {
		t.Errorf("error: %v", err)
	}
}
