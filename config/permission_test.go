package config

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
)

func TestLoadWarnsOfOpenKubeconfigs(t *testing.T) {
	const exec = "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: x, "
	const secret = "kubeconfig FILE holds credentials, and others than its owner get at it (mode MODE): chmod 600 FILE"
	const command = "kubeconfig FILE names a command to run, and others than its owner may change it (mode MODE): chmod 600 FILE"
	for name, test := range map[string]struct {
		cluster, user string
		mode          os.FileMode
		want          string
	}{
		"token":            {"", "token: t", 0o644, secret},
		"token, group":     {"", "token: t", 0o640, secret},
		"token, others":    {"", "token: t", 0o604, secret},
		"token, own":       {"", "token: t", 0o600, ""},
		"token, read-only": {"", "token: t", 0o400, ""},
		"password":         {"", "username: a, password: b", 0o644, secret},
		"key":              {"", "client-certificate-data: $CERT, client-key-data: $KEY", 0o644, secret},
		"proxy password":   {", proxy-url: 'http://u:p@h'", "", 0o644, secret},
		"proxy":            {", proxy-url: 'http://h'", "", 0o644, ""},
		"nothing":          {"", "username: a", 0o666, ""},
		"plugin":           {"", exec + "args: [eks, get-token], env: [{name: AWS_PROFILE, value: x}]}", 0o644, ""},
		"plugin, writable": {"", exec + "args: [eks, get-token]}", 0o664, command},
		"plugin's env":     {"", exec + "env: [{name: GITLAB_TOKEN, value: x}]}", 0o644, secret},
		"plugin's args":    {"", exec + "args: [--oidc-client-secret=x]}", 0o644, secret},
	} {
		t.Run(name, func(t *testing.T) {
			file := write(t, map[string]string{"config": one("server: https://h"+test.cluster, test.user)}) + "/config"
			if err := os.Chmod(file, test.mode); err != nil {
				t.Fatal(err)
			}
			cfg, err := Load(Options{Path: file})
			if err != nil {
				t.Fatal(err)
			}
			want := strings.NewReplacer("FILE", file, "MODE", fmt.Sprintf("%04o", test.mode)).Replace(test.want)
			if got := strings.Join(cfg.Warnings, "\n"); got != want {
				t.Errorf("warnings %q, want %q", got, want)
			}
		})
	}
}

// A provider's tokens count, though nothing else of it does.
func TestLoadWarnsOfOpenProviders(t *testing.T) {
	file := write(t, map[string]string{"config": one("server: https://h", "token: '', auth-provider: {name: oidc, config: {refresh-token: x}}")}) + "/config"
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, err := Load(Options{Path: file, Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Warnings) != 1 || !strings.Contains(cfg.Warnings[0], "(mode 0644)") {
		t.Errorf("warnings %q", cfg.Warnings)
	}
}

func TestLoadWarnsOfOpenFilesOnce(t *testing.T) {
	dir := write(t, map[string]string{
		"config": one("server: https://h", "client-certificate: c, client-key: real, tokenFile: t"),
		"other":  "users: [{name: v, user: {token: t}}, {name: w, user: {token: t}}]",
		"c":      "", "mounted": "", "t": "",
	})
	for _, f := range []string{"config", "other", "c", "mounted", "t"} {
		if err := os.Chmod(dir+"/"+f, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// As in a mounted Secret: the mode of the link says nothing.
	if err := os.Symlink("mounted", dir+"/real"); err != nil {
		t.Fatal(err)
	}
	const open = ", and others than its owner get at it (mode 0644): chmod 600 "
	cfg, err := Load(Options{Env: env("KUBECONFIG", dir+"/config:"+dir+"/other")})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"kubeconfig " + dir + "/other holds credentials" + open + dir + "/other",
		"client key " + dir + "/real holds credentials" + open + dir + "/real",
		"token file " + dir + "/t holds credentials" + open + dir + "/t",
	}
	if diff := cmp.Diff(want, cfg.Warnings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	cfg, err = Load(Options{Path: dir + "/config", CertFile: dir + "/c", KeyFile: dir + "/mounted", Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	want = []string{"client key " + dir + "/mounted holds credentials" + open + dir + "/mounted"}
	if diff := cmp.Diff(want, cfg.Warnings); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
}

func TestLoadWarnsOfTheHomeFile(t *testing.T) {
	home := write(t, map[string]string{".kube/config": one("server: https://h", "token: t")})
	if err := os.Chmod(home+"/.kube/config", 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, err := Load(Options{Env: env(), Home: home})
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Warnings) != 1 || !strings.Contains(cfg.Warnings[0], "chmod 600 "+home) {
		t.Errorf("warnings %q", cfg.Warnings)
	}
}

func TestPipesHaveNoPermissionsToWarnOf(t *testing.T) {
	for mode, want := range map[os.FileMode]bool{0o644: true, os.ModeNamedPipe | 0o644: false, os.ModeDevice | 0o666: false} {
		if got := (openness{mode: mode, secrets: true}).warning("kubeconfig", "f") != ""; got != want {
			t.Errorf("%v: %t", mode, got)
		}
	}
}

func TestServiceAccountsAreNotWarnedOf(t *testing.T) {
	for path, want := range map[string]bool{
		"/var/run/secrets/kubernetes.io/serviceaccount/token":         true,
		"/run/secrets/kubernetes.io/serviceaccount/token":             true,
		"/var/run/secrets/kubernetes.io/serviceaccount/../../x/token": false,
		"/var/run/secrets/token":                                      false,
		"/home/me/run/secrets/kubernetes.io/serviceaccount/token":     false,
	} {
		if warning := (openness{mode: 0o644, secrets: true}).warning("token file", path); (warning == "") != want {
			t.Errorf("%s: %q", path, warning)
		}
	}
}

func TestLoadInPodDoesNotWarn(t *testing.T) {
	o := Options{Env: env("KUBERNETES_SERVICE_HOST", "h", "POD_NAMESPACE", "from-env"), Home: t.TempDir()}
	o.inCluster = func() (client.Config, string, error) {
		return client.Config{Server: "https://pod", TokenFile: "/var/run/secrets/kubernetes.io/serviceaccount/token"}, "ns", nil
	}
	cfg, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Warnings) > 0 || cfg.Namespace != "from-env" {
		t.Errorf("warnings %q, namespace %s", cfg.Warnings, cfg.Namespace)
	}
}
