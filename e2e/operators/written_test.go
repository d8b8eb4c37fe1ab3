package operators_test

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/e2e/binaries"
	"github.com/listwatch/listwatch/e2e/cluster"
	"github.com/listwatch/listwatch/e2e/internal/setup"
	"github.com/listwatch/listwatch/kube"
)

var greetings = kube.Resource{Group: "example.com", Version: "v1", Plural: "greetings", Kind: "Greeting", Namespaced: true}

// TestWrittenOperator deploys what listwatch init operator --webhook writes, and runs two
// replicas of it, with the rights of its service account.
func TestWrittenOperator(t *testing.T) {
	c := cluster.ForTest(t, cluster.Options{})
	admin, err := client.New(client.Config{Server: c.URL(), TLS: client.TLS{CAData: c.CAPEM()}, Token: c.Token()})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.CloseIdleConnections()
	s := &stage{T: t, cluster: c, config: setup.Kubeconfig(t, c, c.URL()), admin: admin}
	if s.kubectl, err = binaries.Ensure(t.Context(), binaries.Kubectl, os.Stderr); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "greeting")
	program := setup.BuildProgram(t)
	program.Output(t, program.Path, "init", "operator", "--group", "example.com", "--kind", "Greeting", "--webhook", "--dir", dir)
	module(t, dir)
	path := setup.BuildAsTest(t, dir, "greeting-operator")

	port, hosts := balance(t, "127.0.0.2", "127.0.0.3")
	url := "https://127.0.0.1:" + port
	printed := program.Output(t, path, "-kubeconfig", s.config, "-print", "-system-namespace", "greeting-operator", "-webhook-url", url)
	file := filepath.Join(t.TempDir(), "crd.yaml")
	if err := os.WriteFile(file, []byte(printed), 0o600); err != nil {
		t.Fatal(err)
	}
	s.kube("apply", "--server-side", "--validate=strict", "-f", filepath.Join(dir, "manifests", "operator.yaml"), "-f", file)
	s.kube("wait", "--for=condition=Established", "--timeout=60s", "crd", "greetings.example.com")
	config, _ := s.accountKubeconfig("greeting-operator", "greeting-operator")
	for _, host := range hosts {
		startReplica(t, path, config, "-webhook-url", url, "-webhook-listen", net.JoinHostPort(host, port))
	}
	sample := filepath.Join(dir, "manifests", "sample.yaml")
	s.retry("the webhook accepts the sample", func() error {
		p := &setup.Program{Home: t.TempDir()}
		if r := p.RunPath(t, s.kubectl, "--kubeconfig", s.config, "apply", "-f", sample); r.Code != 0 {
			return errText(r.Stderr)
		}
		return nil
	})
	text := func(want string) func() error {
		return func() error {
			b, err := setup.Send(t.Context(), c, http.MethodGet, kube.ConfigMaps.ObjectPath(kube.Key{Namespace: "default", Name: "hello"}), "", "")
			if err != nil {
				return err
			}
			var m struct{ Data map[string]string }
			if err := json.Unmarshal(b, &m); err != nil || m.Data["text"] != want {
				return errText("the ConfigMap has " + m.Data["text"])
			}
			return nil
		}
	}
	s.retry("the ConfigMap is written", text("Hello"))
	s.kube("wait", "--for=condition=Ready", "--timeout=60s", "greeting", "hello")
	s.patch(kube.ConfigMaps, "default", "hello", `{"data":{"text":"evil"}}`)
	s.retry("drift is repaired", text("Hello"))
	s.patch(greetings, "default", "hello", `{"spec":{"text":"Bye"}}`)
	s.retry("a change is followed", text("Bye"))
	_, err = client.Of[thing](admin, greetings).Patch(t.Context(), kube.Key{Namespace: "default", Name: "hello"}, client.MergePatch, `{"spec":{"text":" "}}`)
	if err == nil || !strings.Contains(err.Error(), "must not be blank") {
		t.Errorf("a blank text: %v", err)
	}
}

// retry asks the server until it shows something.
func (s *stage) retry(what string, is func() error) {
	s.Helper()
	deadline := time.Now().Add(setup.Patience)
	for err := is(); err != nil; err = is() {
		if time.Now().After(deadline) {
			s.Fatalf("wait until %s: %v", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

type errText string

func (e errText) Error() string { return string(e) }

// module makes the written program use this module, in the versions of its own.
func module(t *testing.T, dir string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	read := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	text := read(filepath.Join(dir, "go.mod"))
	for _, requires := range regexp.MustCompile(`(?s)\nrequire \(.*?\n\)`).FindAllString(read(filepath.Join(root, "go.mod")), -1) {
		text += requires + "\n"
	}
	text += "\nreplace github.com/listwatch/listwatch => " + root + "\n"
	for name, content := range map[string]string{"go.mod": text, "go.sum": read(filepath.Join(root, "go.sum"))} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tidy := exec.CommandContext(t.Context(), "go", "list", "-mod=mod", ".") // what an import makes direct
	tidy.Dir = dir
	if out, err := tidy.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", tidy, err, out)
	}
}
