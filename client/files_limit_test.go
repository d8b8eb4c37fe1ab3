package client_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/client"
)

// TestFilesOfCredentialsAreLimited: a kubeconfig of another's may name a device that has
// no end, which a file of 1 TB stands for.
func TestFilesOfCredentialsAreLimited(t *testing.T) {
	endless := filepath.Join(t.TempDir(), "endless")
	f, err := os.Create(endless)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(1 << 40); err != nil {
		t.Fatal(err)
	}
	f.Close()
	for name, cfg := range map[string]client.Config{
		"a token":                 {TokenFile: endless},
		"a certificate authority": {TLS: client.TLS{CAFile: endless}},
		"a certificate":           {TLS: client.TLS{CertFile: endless, KeyFile: endless}},
	} {
		cfg.Server = "https://127.0.0.1:1"
		if _, err := client.New(cfg); err == nil || !strings.Contains(err.Error(), "larger than") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
