package manifest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/manifest"
)

// TestURLs: what is downloaded has a limit, comes by TLS or from this machine, also after
// a redirect, and errors do not quote what may be secret in an address.
func TestURLs(t *testing.T) {
	const object = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ok":
			_, _ = w.Write([]byte(object))
		case "/away":
			http.Redirect(w, r, "http://192.0.2.1/ok?token=hunter2", http.StatusFound)
		case "/file":
			http.Redirect(w, r, "file:///etc/hostname", http.StatusFound)
		case "/again":
			http.Redirect(w, r, "/again?token=hunter2", http.StatusFound)
		case "/large":
			for range manifest.MaxBytes/(1<<20) + 1 {
				if _, err := w.Write([]byte(strings.Repeat(" ", 1<<20))); err != nil {
					return
				}
			}
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	at := strings.Replace(srv.URL, "http://", "http://user:hunter2@", 1)
	for _, tt := range []struct{ address, want string }{
		{at + "/ok?token=hunter2", ""},
		{at + "/nope?token=hunter2", "GET " + srv.URL + "/nope: status 404"},
		{at + "/away", "GET " + srv.URL + "/away: without TLS anybody in between can change it: use https, or download it and give the file"},
		{at + "/file", "GET " + srv.URL + "/file: it redirects to a URL of file, which is not followed"},
		{at + "/again", "GET " + srv.URL + "/again: there are more than 10 redirects"},
		{at + "/large", "GET " + srv.URL + "/large: the response is larger than 67108864 bytes"},
		{"http://user:hunter2@192.0.2.1/x?token=hunter2", "http://192.0.2.1/x: without TLS anybody in between can change it: use https, or download it and give the file"},
		{"https://hunter2\x7f", "the URL cannot be read"},
	} {
		all, err := (&manifest.Reader{}).Read(t.Context(), tt.address)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || err == nil && (len(all) != 1 || all[0].Where != srv.URL+"/ok, document 1") {
			t.Errorf("%s: %+v\n(-want +got):\n%s", tt.address, all, diff)
		}
	}
}

// TestRedirectsTellNothing of the address that leads to them.
func TestRedirectsTellNothing(t *testing.T) {
	var got http.Header
	second := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
	}))
	defer second.Close()
	first := httptest.NewServer(http.RedirectHandler(strings.Replace(second.URL, "127.0.0.1", "localhost", 1)+"/b", http.StatusFound))
	defer first.Close()
	address := strings.Replace(first.URL, "http://", "http://user:hunter2@", 1) + "/a?token=hunter2"
	if _, err := (&manifest.Reader{}).Read(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	if got.Get("Referer") != "" || got.Get("Authorization") != "" {
		t.Errorf("the other host gets %v", got)
	}
}

func TestFoldersInFolders(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.json", "a/c.json", "a/d/e.json", "empty/x.txt"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+strings.TrimSuffix(filepath.Base(name), ".json")+`"}}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for recursive, want := range map[bool]string{false: "b", true: "ceb"} {
		all, err := (&manifest.Reader{Recursive: recursive}).Read(t.Context(), dir)
		got := ""
		for _, o := range all {
			got += o.Head.Metadata.Name
		}
		if err != nil || got != want {
			t.Errorf("recursive %t: %v %q, want %q", recursive, err, got, want)
		}
	}
}

// TestLinksToFoldersAreNoFiles: what a folder links to is not read as a folder of it, under
// whatever name, as by kubectl; a link to a file is.
func TestLinksToFoldersAreNoFiles(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "a.json"), []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(filepath.Join(other, "a.json"), "file.json")
	link(other, "folder")
	for _, recursive := range []bool{false, true} {
		all, err := (&manifest.Reader{Recursive: recursive}).Read(t.Context(), dir)
		if err != nil || len(all) != 1 {
			t.Errorf("recursive %t: %v %v", recursive, all, err)
		}
	}
	link(other, "folder.json")
	for _, recursive := range []bool{false, true} {
		all, err := (&manifest.Reader{Recursive: recursive}).Read(t.Context(), dir)
		if err == nil || !strings.Contains(err.Error(), "folder.json: is a directory") {
			t.Errorf("recursive %t: %v %v", recursive, all, err)
		}
	}
}

// TestKustomizeIsLimited: what a build prints has a limit, and it is ended there; of its
// diagnosis only the beginning is kept.
func TestKustomizeIsLimited(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	long := strings.Repeat("command failed ", 20) // before the reason, as kubectl may
	for script, want := range map[string]string{
		"exec yes 'a: b'": fmt.Sprintf("%s/kustomize build x: it printed more than %d bytes", dir, manifest.MaxBytes),
		"echo first >&2\nyes | head -c 100000 >&2\nexit 3": dir + "/kustomize build x: exit status 3: first",
		"echo " + long + "the reason >&2\nexit 1":          dir + "/kustomize build x: exit status 1: " + long + "the reason",
	} {
		if err := os.WriteFile(dir+"/kustomize", []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := (&manifest.Reader{}).Kustomize(t.Context(), "x"); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestKustomize: a kustomization is built by what $PATH has, and its failure is reported.
func TestKustomize(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if _, err := (&manifest.Reader{}).Kustomize(t.Context(), "x"); err == nil || err.Error() != "neither kustomize nor kubectl is in $PATH, which build it" {
		t.Error(err)
	}
	script := "#!/bin/sh\ntest \"$*\" = 'kustomize -- -x' || { echo error: no such folder >&2; exit 3; }\necho '{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}'\n"
	if err := os.WriteFile(dir+"/kubectl", []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if all, err := (&manifest.Reader{}).Kustomize(t.Context(), "-x"); err != nil || len(all) != 1 || all[0].Head.Metadata.Name != "a" {
		t.Errorf("%v %v", all, err)
	}
	want := dir + "/kubectl kustomize y: exit status 3: error: no such folder"
	if _, err := (&manifest.Reader{}).Kustomize(t.Context(), "y"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
