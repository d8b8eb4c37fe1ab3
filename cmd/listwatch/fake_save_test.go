package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/internal/exit"
)

// savedLife is one process of fake --save.
type savedLife struct {
	t   *testing.T
	cmd *exec.Cmd
	url string
}

func startSaved(t *testing.T, file string) *savedLife {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := &savedLife{t: t, cmd: exec.CommandContext(t.Context(), exe, "fake", "serve", "-q", "--seed", "7", "--save", file)}
	l.cmd.Env = []string{"LISTWATCH_TEST_MAIN=1", "HOME=" + t.TempDir()}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	l.url = strings.TrimSpace(line)
	return l
}

// end ends the process by a signal and waits for it.
func (l *savedLife) end(s syscall.Signal) {
	l.t.Helper()
	if err := l.cmd.Process.Signal(s); err != nil {
		l.t.Fatal(err)
	}
	_ = l.cmd.Wait() // it was killed
}

// savedObject is what the test compares of an object.
type savedObject struct {
	Metadata struct{ Name, UID, ResourceVersion string }
}

// do sends a request; it reports false if the process has died.
func (l *savedLife) do(method, path, body string, into any) bool {
	l.t.Helper()
	r, err := http.NewRequestWithContext(l.t.Context(), method, l.url+path, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return false
	}
	if resp.StatusCode > 299 {
		l.t.Fatalf("%s %s: %s", method, path, b)
	}
	if err := json.Unmarshal(b, into); err != nil {
		l.t.Fatalf("%s %s: %v: %s", method, path, err, b)
	}
	return true
}

// objects returns the ConfigMaps, and the revision of the list.
func (l *savedLife) objects() (map[string]savedObject, uint64) {
	l.t.Helper()
	var list struct {
		savedObject
		Items []savedObject
	}
	if !l.do(http.MethodGet, "/api/v1/configmaps", "", &list) {
		l.t.Fatal("the process has died")
	}
	objects := map[string]savedObject{}
	for _, o := range list.Items {
		objects[o.Metadata.Name] = o
	}
	return objects, savedRevision(l.t, list.Metadata.ResourceVersion)
}

func savedRevision(t *testing.T, rv string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(rv, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestFakeSaveOverLives stops and kills fake --save again and again while clients
// write. No UID and no revision is given out twice, the revision only grows, and
// after an orderly stop everything is there that clients were answered.
func TestFakeSaveOverLives(t *testing.T) {
	file := filepath.Join(t.TempDir(), "save.json")
	random := rand.New(rand.NewPCG(1, 2))
	uids, revisions := map[string]string{}, map[uint64]string{}
	var newest uint64
	want := map[string]savedObject{}
	for life := range 8 {
		l := startSaved(t, file)
		there, rev := l.objects()
		if rev < newest {
			t.Errorf("life %d begins at revision %d, behind %d", life, rev, newest)
		}
		killed := life%2 == 1
		if diff := cmp.Diff(want, there); want != nil && diff != "" {
			t.Errorf("life %d (-want +got):\n%s", life, diff)
		}
		want = there
		if killed {
			time.AfterFunc(time.Duration(random.IntN(300))*time.Millisecond, func() { _ = l.cmd.Process.Kill() })
		}
		for i := 0; killed || i < 40; i++ {
			var o savedObject
			name := fmt.Sprintf("life-%d-%d", life, i)
			if !l.do(http.MethodPost, "/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"`+name+`"}}`, &o) {
				break
			}
			if before, twice := uids[o.Metadata.UID]; twice {
				t.Fatalf("%s has the UID of %s", name, before)
			}
			newest = savedRevision(t, o.Metadata.ResourceVersion)
			if before, twice := revisions[newest]; twice {
				t.Fatalf("%s has the revision of %s", name, before)
			}
			uids[o.Metadata.UID], revisions[newest], want[name] = name, name, o
			if random.IntN(3) == 0 {
				var gone struct{}
				if !l.do(http.MethodDelete, "/api/v1/namespaces/default/configmaps/"+name, "", &gone) {
					break
				}
				delete(want, name)
				newest++ // that of the deletion
				revisions[newest] = "the deletion of " + name
			}
		}
		if !killed {
			l.end(syscall.SIGTERM)
			continue
		}
		_ = l.cmd.Wait()
		want = nil // what the last seconds brought may be lost
	}
}

// TestASavedFileBelongsToOneServer: of two the last to end would undo what the other
// has saved. One that was killed leaves the file to the next.
func TestASavedFileBelongsToOneServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "save.json")
	first := startSaved(t, file)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	second := exec.CommandContext(t.Context(), exe, "fake", "serve", "--save", file)
	second.Env = first.cmd.Env
	pipe, err := second.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(pipe).ReadString('\n')
	if want := "--save: another server keeps " + file; !strings.Contains(line, want) {
		t.Errorf("it says %q, want %q", line, want)
		_ = second.Process.Kill()
	}
	_ = second.Wait()
	if code := second.ProcessState.ExitCode(); code != exit.CodeUsage {
		t.Errorf("it ended with %d", code)
	}
	first.end(syscall.SIGKILL)
	startSaved(t, file).end(syscall.SIGTERM)
}
