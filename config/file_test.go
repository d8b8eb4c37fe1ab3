package config

import (
	"encoding/binary"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
)

// odd are files that kubectl reads, each with the server https://h.
func odd() map[string]string {
	plain := one("server: https://h", "token: t")
	wide := make([]byte, 2, 2*len(plain)+2)
	wide[0], wide[1] = 0xff, 0xfe
	for _, u := range utf16.Encode([]rune(plain)) {
		wide = binary.LittleEndian.AppendUint16(wide, u)
	}
	return map[string]string{
		"BOM":              "\ufeff" + plain,
		"UTF-16":           string(wide),
		"CRLF":             strings.ReplaceAll(plain, "\n", "\r\n"),
		"JSON with tabs":   "{\n\t\"current-context\":\t\"c\",\n\t\"contexts\": [{\"name\": \"c\", \"context\": {\"cluster\": \"k\"}}],\n\t\"clusters\": [{\"name\": \"k\", \"cluster\": {\"server\": \"https://h\"}}]\n}",
		"documents":        plain + "---\ncurrent-context: other\n",
		"broken document":  plain + "---\n{{{\n",
		"marker":           "---\n" + plain + "...\n",
		"comments":         "# mine\n\n" + plain,
		"null entries":     "current-context: c\ncontexts: [null, {name: c, context: {cluster: k, user: u}}, null]\nclusters: [null, {name: k, cluster: {server: https://h}}]\nusers: [null, {name: u, user: null}]\n",
		"null lists":       "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\nclusters: [{name: k, cluster: {server: https://h}}]\nusers: null\npreferences: null\n",
		"nameless":         "clusters: [{cluster: {server: https://h}}]\nusers: [{user: {token: t}}]\n",
		"nameless beside":  "contexts: [{context: {}}]\nclusters: [{cluster: {server: https://h}}, {name: x}]\n",
		"keys twice":       strings.Replace(plain, "server: https://h", "server: https://first, server: https://h", 1),
		"unknown fields":   "weird: [{}]\npreferences: 5\nextensions: x\n" + strings.Replace(plain, "server:", "weird: {}, extensions: [{name: x}], server:", 1),
		"null extensions":  strings.Replace(plain, "server:", "extensions: null, server:", 1),
		"null credentials": strings.Replace(plain, "token: t", "exec: null, auth-provider: null, token: null, as-groups: null, as-user-extra: null", 1),
		"number as token":  strings.Replace(plain, "token: t", "token: 2026-01-02", 1),
		"anchors":          "x: &s https://h\n" + strings.Replace(plain, "https://h", "*s", 1),
		"CA of spaces":     strings.Replace(plain, "server:", "certificate-authority-data: '  ', server:", 1),
		"query":            strings.Replace(plain, "https://h", "'https://h?a=b#c'", 1),
	}
}

func TestLoadReadsOddFiles(t *testing.T) {
	for name, text := range odd() {
		t.Run(name, func(t *testing.T) {
			got, err := Load(Options{Path: write(t, map[string]string{"config": text}) + "/config"})
			if err != nil {
				t.Fatal(err)
			}
			if got.Client.Server != "https://h" {
				t.Errorf("server %q", got.Client.Server)
			}
			wantToken := strings.Contains(text, "token: t")
			switch name {
			case "UTF-16":
				wantToken = true
			case "number as token":
				wantToken = got.Client.Token == "2026-01-02"
			}
			if (got.Client.Token != "") != wantToken {
				t.Errorf("token %q", got.Client.Token)
			}
			want := map[string]string{
				"documents":       "holds several YAML documents; only the first is used, as by kubectl",
				"broken document": "holds several YAML documents; only the first is used, as by kubectl",
				"keys twice":      "line 3: a key stands twice in one mapping; the last one is used",
			}[name]
			if w := strings.Join(got.Warnings, "\n"); !strings.HasSuffix(w, want) || (w == "") != (want == "") {
				t.Errorf("warnings %q, want %q", w, want)
			}
		})
	}
}

func TestLoadNamelessTwice(t *testing.T) {
	file := write(t, map[string]string{"config": "clusters: [{cluster: {}}, {cluster: {}}]"}) + "/config"
	want := "load config: kubeconfig " + file + `: clusters holds "" twice: remove one`
	if _, err := Load(Options{Path: file}); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	file = write(t, map[string]string{"config": "contexts: [{context: {}}, {name: a}]"}) + "/config"
	contexts, _, _, err := Names(Options{Path: file})
	if err != nil || strings.Join(contexts, ",") != "a" {
		t.Errorf("names %q, %v: the nameless one cannot be asked for", contexts, err)
	}
}

func TestLoadUnreadableFiles(t *testing.T) {
	dir := write(t, map[string]string{"ok": one("server: https://h", ""), "sub/x": ""})
	if err := os.Symlink("loop", dir+"/loop"); err != nil {
		t.Fatal(err)
	}
	const tilde = " (only shells expand ~, and not everywhere: write the whole path)"
	for name, test := range map[string]struct{ path, list, want string }{
		"directory":       {path: "DIR/sub", want: "kubeconfig DIR/sub is a directory: want a file"},
		"directory, list": {list: "DIR/sub:DIR/ok", want: "kubeconfig DIR/sub is a directory: want a file"},
		"loop":            {path: "DIR/loop", want: "kubeconfig DIR/loop: too many levels of symbolic links"},
		"loop, list":      {list: "DIR/loop:DIR/ok", want: "kubeconfig DIR/loop: too many levels of symbolic links"},
		"below a file":    {list: "DIR/ok/x:DIR/ok", want: "kubeconfig DIR/ok/x: not a directory"},
		"tilde":           {path: "~/.kube/config", want: "kubeconfig ~/.kube/config: no such file or directory" + tilde},
		"tilde, list":     {list: "~/.kube/config:DIR/ok", want: "warning: kubeconfig ~/.kube/config does not exist: skipped" + tilde},
	} {
		t.Run(name, func(t *testing.T) {
			in := strings.NewReplacer("DIR", dir)
			cfg, err := Load(Options{Path: in.Replace(test.path), Env: env("KUBECONFIG", in.Replace(test.list))})
			got := ""
			if err != nil {
				got = strings.TrimPrefix(err.Error(), "load config: ")
			} else {
				got = "warning: " + strings.Join(cfg.Warnings, "\n")
			}
			if want := in.Replace(test.want); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestLoadReadsPipes(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString(one("server: https://h", "token: t")); err != nil {
		t.Fatal(err)
	}
	w.Close()
	got, err := Load(Options{Path: "/dev/fd/" + strconv.Itoa(int(r.Fd()))})
	if err != nil {
		t.Fatal(err)
	}
	if got.Client.Token != "t" || len(got.Warnings) > 0 {
		t.Errorf("warnings %q", got.Warnings)
	}
}

// A server given by a flag needs no cluster, as for kubectl; but a cluster given
// by a flag must be there.
// TestLoadFlagsInPlaceOfAMissingUser: where they say who we are, it does not matter that
// the context names a user who stands nowhere. It does where a flag names the user.
func TestLoadFlagsInPlaceOfAMissingUser(t *testing.T) {
	dir := write(t, map[string]string{"f": "", "config": strings.Replace(one("server: https://h", ""), "user: u}", "user: v}", 1)})
	for name, tt := range map[string]struct {
		o    Options
		want string // the error
	}{
		"none":              {Options{}, `user "v", which context "c" of FILE names, is not in FILE; it has: u`},
		"token":             {Options{Token: "t"}, ""},
		"token file":        {Options{TokenFile: dir + "/f"}, ""},
		"username":          {Options{Username: "a"}, ""},
		"certificate":       {Options{CertFile: dir + "/f", KeyFile: dir + "/f"}, ""},
		"certificate alone": {Options{CertFile: dir + "/f"}, `user "v", which context "c" of FILE names, is not in FILE; it has: u`},
		"token and user":    {Options{Token: "t", User: "w"}, `user "w" is not in FILE; it has: u`},
	} {
		t.Run(name, func(t *testing.T) {
			tt.o.Path = dir + "/config"
			cfg, err := Load(tt.o)
			got := ""
			if err != nil {
				got = strings.TrimPrefix(strings.ReplaceAll(err.Error(), tt.o.Path, "FILE"), "load config: ")
			}
			if got != tt.want {
				t.Errorf("error %q, want %q", got, tt.want)
			}
			if err == nil && (cfg.User != "" || cfg.Client.Server != "https://h") {
				t.Errorf("user %q, server %q", cfg.User, cfg.Client.Server)
			}
		})
	}
}

func TestLoadServerWithoutItsCluster(t *testing.T) {
	file := write(t, map[string]string{
		"config": "current-context: c\ncontexts: [{name: c, context: {cluster: gone, user: u}}]\nusers: [{name: u, user: {token: t}}]\n",
	}) + "/config"
	got, err := Load(Options{Path: file, Server: "https://h"})
	if err != nil {
		t.Fatal(err)
	}
	if got.Client.Server != "https://h" || got.Client.Token != "t" {
		t.Errorf("server %q", got.Client.Server)
	}
	if _, err := Load(Options{Path: file, Server: "https://h", Cluster: "gone"}); err == nil {
		t.Error("--cluster names what is not there: no error")
	}
}
