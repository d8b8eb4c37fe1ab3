package plugin

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
)

const from = `user "dev" in /f`

// acting returns Options that run this test binary.
func acting(t testing.TB, as, text string) Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	return Options{
		APIVersion: v1, Command: self, Interactive: ifAvailable, From: from,
		Env: []string{role + "=" + as, say + "=" + text, "GORACE=atexit_sleep_ms=0"}, Stdin: null, Stderr: new(bytes.Buffer),
	}
}

func ask(t testing.TB, o Options) (*client.Credential, error) {
	t.Helper()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p.Credential(t.Context(), nil)
}

// look runs o in the role look and returns what the plugin saw.
func look(t testing.TB, o Options) seen {
	t.Helper()
	c, err := ask(t, o)
	if err != nil {
		t.Fatal(err)
	}
	b, err := base64.StdEncoding.DecodeString(c.Token)
	if err != nil {
		t.Fatal(err)
	}
	var s seen
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCommandGetsArgumentsAndEnvironment(t *testing.T) {
	t.Setenv("PLUGIN_TEST_OWN", "own")
	t.Setenv("PLUGIN_TEST_BOTH", "own")
	t.Setenv(execInfo, "of a plugin that runs us")
	o := acting(t, "look", v1)
	o.Args = []string{"get-token", "--cluster", "a b"}
	o.Env = append(o.Env, "PLUGIN_TEST_BOTH=added", "PLUGIN_TEST_ADDED=a=b", execInfo+"=forged")
	want := seen{
		Info: `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"interactive":false}}`,
		Args: o.Args,
		Env:  map[string]string{"PLUGIN_TEST_OWN": "own", "PLUGIN_TEST_BOTH": "added", "PLUGIN_TEST_ADDED": "a=b"},
	}
	if diff := cmp.Diff(want, look(t, o)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCommandIsToldOfTheCluster(t *testing.T) {
	for want, c := range map[string]*Cluster{
		``:                                  nil,
		`"cluster":{"server":"https://h"},`: {Server: "https://h"},
		`"cluster":{"server":"https://h","tls-server-name":"n","insecure-skip-tls-verify":true,"certificate-authority-data":"Q0E=",` +
			`"proxy-url":"http://p?a&b","disable-compression":true,"config":{"a":[1]}},`: {
			Server: "https://h", TLSServerName: "n", Insecure: true, CAData: []byte("CA"),
			ProxyURL: "http://p?a&b", DisableCompression: true, Config: json.RawMessage(` {"a": [1]} `),
		},
	} {
		o := acting(t, "look", v1beta1)
		o.APIVersion, o.Cluster, o.Interactive = v1beta1, c, ""
		want = `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","spec":{` + want + `"interactive":false}}`
		if got := look(t, o).Info; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestCommandDoesNotReadWhatIsForTheProgram leaves stdin that is no terminal alone:
// it may be what the program is to read.
func TestCommandDoesNotReadWhatIsForTheProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stdin")
	if err := os.WriteFile(path, []byte("objects"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, mode := range []string{never, ifAvailable} {
		o := acting(t, "look", v1)
		o.Stdin, o.Interactive = file, mode
		if s := look(t, o); s.Stdin != "" || s.Terminal {
			t.Errorf("%s: it read %q, terminal %t", mode, s.Stdin, s.Terminal)
		}
	}
	o := acting(t, "look", v1)
	o.Stdin, o.Interactive = file, always
	const want = "it has something to ask (interactiveMode is Always), and stdin is not a terminal: run this in one"
	if _, err := ask(t, o); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("Always: %v", err)
	}
}

func TestStderrIsShownAndNotKept(t *testing.T) {
	const secret = "hunter2"
	var stderr bytes.Buffer
	o := acting(t, "fail", secret)
	o.Stderr = &stderr
	_, err := ask(t, o)
	want := from + ": credential plugin \"" + o.Command + `": it failed with exit code 7; see what it wrote to stderr`
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant %s", err, want)
	}
	if got := stderr.String(); got != "log in first\n" {
		t.Errorf("stderr: %q", got)
	}
}

func TestCredentialOfARealCommand(t *testing.T) {
	c, err := ask(t, acting(t, "print", credentialOf(t, "token", "T", "expirationTimestamp", "2999-01-01T00:00:00Z")))
	if err != nil || c.Token != "T" {
		t.Errorf("Credential: %v, %v", c, err)
	}
}

func TestOutputIsLimited(t *testing.T) {
	_, err := ask(t, acting(t, "print on", ""))
	if want := ": it printed more than 1048576 bytes, which is no ExecCredential"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestCommandThatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for name, tt := range map[string]struct{ command, hint, want string }{
		"in PATH": {"aws-iam", "", "there is no such command in PATH: install it, or correct its name"},
		"with a hint": {
			"aws-iam", " Install it:\n\n\tgo install \x1b[31mit\n",
			"there is no such command in PATH: install it, or correct its name. Install it: go install [31mit",
		},
		"file":      {dir + "/aws", "See X.", "there is no such file: install it, or correct its path. See X."},
		"directory": {dir, "See X.", "it cannot be started: is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			o := acting(t, "print", "")
			o.Command, o.InstallHint = tt.command, tt.hint
			want := from + ": credential plugin \"" + tt.command + `": ` + tt.want
			if _, err := ask(t, o); err == nil || err.Error() != want {
				t.Errorf("error %v\nwant %s", err, want)
			}
		})
	}
}
