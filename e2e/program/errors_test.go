package program_test

import (
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
)

// testErrors: what can't work ends with a documented exit code and one line that
// says why.
func testErrors(t *testing.T, c *cluster.Cluster, p *setup.Program) {
	config := setup.Kubeconfig(t, c, c.URL())
	noYAML := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(noYAML, []byte("clusters: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const failed, usage, timeout = 1, 2, 4
	for _, test := range []struct {
		name string
		args string
		code int
		want string // on stderr
	}{
		{"WrongToken", "pods --token wrong", failed, "Unauthorized"},
		{"Forbidden", "pods --token " + c.UserToken(), failed, `User "jane" cannot`},
		{"ForbiddenEverywhere", "pods -A --as nobody", failed, `User "nobody" cannot`},
		{"UnknownType", "nosuch", failed, `"nosuch"`},
		{"NotWatchable", "bindings", failed, "bindings"},
		{"UnknownCA", "pods --certificate-authority " + otherCA(t), failed, "certificate"},
		{"WrongName", "pods --tls-server-name elsewhere.example", failed, "elsewhere.example"},
		{"RefusedPort", "pods --server " + setup.Refusing(t, c), failed, "connection refused"},
		{"UnknownField", "pods --field-selector spec.nope=x", failed, "spec.nope"},
		{"WrongContext", "pods --context nope", usage, `"nope"`},
		{"WrongCluster", "pods --cluster nope", usage, `"nope"`},
		{"WrongUser", "pods --user nope", usage, `"nope"`},
		{"NoKubeconfig", "pods --kubeconfig " + noYAML + "-not", usage, "no such file"},
		{"BrokenKubeconfig", "pods --kubeconfig " + noYAML, usage, noYAML},
		{"NoCAFile", "pods --certificate-authority " + noYAML + "-not", usage, "no such file"},
		{"NoType", "", usage, "say which type"},
		{"UnknownOutput", "pods -o nope", usage, `"nope"`},
		{"UnknownFlag", "pods --nope", usage, "--nope"},
		{"BadSelector", "pods -l a==(", usage, "--selector"},
		{"BadTimeout", "pods --request-timeout soon", usage, `"soon"`},
	} {
		for _, command := range []string{"list", "watch"} {
			t.Run(command+test.name, func(t *testing.T) {
				args := append([]string{command, "--kubeconfig", config}, strings.Fields(test.args)...)
				checkFailure(t, p.Run(t, args...), test.code, test.want, c)
			})
		}
	}
	t.Run("Timeout", func(t *testing.T) {
		r := p.Run(t, "watch", "leases", "-q", "-n", "nowhere", "--timeout", "1s", "--kubeconfig", config)
		checkFailure(t, r, timeout, "--timeout", c)
	})
	t.Run("GivesUp", func(t *testing.T) {
		const tooMany = "99999999999999999999999" // a number, but not the server's: it answers 500
		r := p.Run(t, "watch", "pods", "-q", "--since-rv", tooMany, "--max-failures", "1", "--kubeconfig", config)
		checkFailure(t, r, failed, tooMany, c)
	})
}

func checkFailure(t *testing.T, r setup.Result, code int, want string, c *cluster.Cluster) {
	t.Helper()
	if r.Code != code || r.Stdout != "" {
		t.Errorf("exit code %d, want %d; stdout %q", r.Code, code, r.Stdout)
	}
	if !strings.Contains(r.Stderr, want) || strings.Count(r.Stderr, "\n") != 1 || !strings.HasPrefix(r.Stderr, "listwatch: ") {
		t.Errorf("stderr, want one line with %q:\n%s", want, r.Stderr)
	}
	for _, never := range []string{c.Token(), c.UserToken(), "goroutine ", "panic"} {
		if strings.Contains(r.Stderr, never) {
			t.Errorf("stderr says too much:\n%s", r.Stderr)
		}
	}
}

// otherCA returns the file of a CA that signed nothing of this cluster.
func otherCA(t *testing.T) string {
	t.Helper()
	other := httptest.NewTLSServer(nil)
	defer other.Close()
	path := filepath.Join(t.TempDir(), "other.crt")
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: other.Certificate().Raw})
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
