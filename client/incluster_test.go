package client_test

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
)

func TestInCluster(t *testing.T) {
	dir := t.TempDir() + "/"
	for name, content := range map[string]string{"token": "t\n", "ca.crt": "c", "namespace": "team-a\n"} {
		if err := os.WriteFile(dir+name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ host, port, want string }{
		{"10.0.0.1", "443", "https://10.0.0.1:443"},
		{"fd00::1", "6443", "https://[fd00::1]:6443"},
	} {
		env := map[string]string{"KUBERNETES_SERVICE_HOST": tt.host, "KUBERNETES_SERVICE_PORT": tt.port}
		cfg, ns, err := client.InClusterAt(func(k string) string { return env[k] }, dir)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{cfg.Server, cfg.TokenFile, cfg.TLS.CAFile, ns}
		if diff := cmp.Diff([]string{tt.want, dir + "token", dir + "ca.crt", "team-a"}, got); diff != "" {
			t.Errorf("InCluster (-want +got):\n%s", diff)
		}
	}
}

func TestNotInCluster(t *testing.T) {
	env := map[string]string{"KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "1"}
	if _, _, err := client.InClusterAt(func(string) string { return "" }, t.TempDir()+"/"); !errors.Is(err, client.ErrNotInCluster) {
		t.Errorf("without an environment: %v", err)
	}
	if _, _, err := client.InClusterAt(func(k string) string { return env[k] }, t.TempDir()+"/"); !errors.Is(err, client.ErrNotInCluster) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a token: %v", err)
	}
}

func TestInClusterWithoutNamespace(t *testing.T) {
	dir := t.TempDir() + "/"
	if err := os.WriteFile(dir+"token", []byte("t"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := client.InClusterAt(func(string) string { return "1" }, dir)
	if err == nil || errors.Is(err, client.ErrNotInCluster) {
		t.Errorf("error: %v", err)
	}
}
