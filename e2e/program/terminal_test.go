package program_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"

	"github.com/listwatch/listwatch/e2e/internal/setup"
)

// terminal is a window of tmux, a real terminal whose screen can be read.
type terminal struct {
	*testing.T
	socket string
	home   string
}

// openTerminal runs a shell script in a new terminal.
func openTerminal(t *testing.T, width, height int, script string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal("tmux is not installed, and this test wants a real terminal: apt-get install tmux")
	}
	w := &terminal{T: t, socket: filepath.Join(t.TempDir(), "tmux"), home: t.TempDir()}
	w.tmux("new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height), "sh", "-c", script+"\nexec sleep 60")
	t.Cleanup(func() { w.tmux("kill-server") })
	return w
}

func (w *terminal) tmux(args ...string) string {
	w.Helper()
	cmd := exec.Command("tmux", append([]string{"-f", os.DevNull, "-S", w.socket}, args...)...)
	cmd.Env = []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TERM=xterm-256color"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("tmux %s: %v\n%s", args[0], err, out)
	}
	return string(out)
}

// screen returns what is seen, with colours if asked for.
func (w *terminal) screen(flags ...string) string {
	w.Helper()
	return w.tmux(append([]string{"capture-pane", "-p"}, flags...)...)
}

// until waits for a screen that matches.
func (w *terminal) until(pattern string) string {
	w.Helper()
	re := regexp.MustCompile("(?m)" + pattern)
	end := time.After(time.Minute)
	for {
		s := w.screen()
		if re.MatchString(s) {
			return s
		}
		select {
		case <-end:
			w.Fatalf("the screen never matched %s:\n%s", pattern, s)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// TestTerminal plays --live where people look at it.
func TestTerminal(t *testing.T) {
	program := setup.BuildProgram(t)
	pod := func(name, phase string) map[string]any {
		return map[string]any{"metadata": map[string]any{"namespace": "shop", "name": name},
			"spec": map[string]any{"containers": []any{map[string]any{"name": "c"}}}, "status": map[string]any{"phase": phase}}
	}
	begin := func(t *testing.T, width, height int) (*terminal, *apitest.Server, string) {
		srv := apitest.New(t)
		for i := range 5 {
			srv.Put(kube.Pods, pod(fmt.Sprint("pod-", i), "Pending"))
		}
		pid := filepath.Join(t.TempDir(), "pid")
		w := openTerminal(t, width, height, fmt.Sprintf(`echo before
			sh -c 'echo $$ > %s; exec %s watch pods -n shop -s %s --live'
			echo "code=$?"
			stty -a | tr ' ;' '\n\n' | grep -x -e echo -e -echo`, pid, program.Path, srv.URL))
		w.until(`^  pod-4 +0/1 +Pending`)
		return w, srv, pid
	}
	// restored checks that the terminal is as it was: its screen, and its echo.
	restored := func(w *terminal, code int) {
		w.Helper()
		s := w.until(fmt.Sprintf(`^code=%d$`, code))
		w.until(`^echo$`)
		if !strings.HasPrefix(s, "before\n") {
			w.Errorf("the screen was not given back:\n%s", s)
		}
	}

	t.Run("rows are updated where they stand", func(t *testing.T) {
		w, srv, _ := begin(t, 80, 24)
		first := strings.Split(w.until(`^server 127\.0\.0\.1:\d+, namespace shop$`), "\n")
		srv.Put(kube.Pods, pod("pod-2", "Running"))
		second := strings.Split(w.until(`^~ pod-2 +0/1 +Running`), "\n")
		for i := range first {
			if i > 1 && i < 22 && len(first[i]) > 8 && first[i][:8] != second[i][:8] && !strings.Contains(first[i], "pod-2") {
				t.Errorf("line %d was %q and is %q", i, first[i], second[i])
			}
		}
		if s := w.screen("-e"); !strings.Contains(s, "\x1b[33m") {
			t.Errorf("what has changed is not marked by a colour:\n%q", s)
		}
		w.until(`^  pod-2 +0/1 +Running`) // the mark fades
		srv.Delete(kube.Pods, kube.Key{Namespace: "shop", Name: "pod-1"})
		w.until(`^- pod-1 `)
		w.until(`4 objects, 2 events`)
		gone := time.Now()
		for strings.Contains(w.screen(), "pod-1") {
			if time.Since(gone) > 20*time.Second {
				t.Fatal("a row of a deleted object stays")
			}
			<-time.After(100 * time.Millisecond)
		}
		if d := time.Since(gone); d < 8*time.Second {
			t.Errorf("a row of a deleted object is gone after %v", d)
		}
		w.tmux("send-keys", "q")
		restored(w, 0)
	})
	t.Run("keys", func(t *testing.T) {
		w, srv, _ := begin(t, 80, 24)
		srv.Put(kube.Pods, pod("other", "Running"))
		w.until(`other`)
		w.tmux("send-keys", "/")
		w.tmux("send-keys", "-l", `.status.phase == "Runn`)
		w.until(`^/\.status\.phase == "Runn_\njq: unterminated string literal$`)
		w.tmux("send-keys", "-l", `ing"`)
		w.tmux("send-keys", "Enter")
		w.until(`6 objects, 1 event, 1 with \.status\.phase == "Running"`)
		if s := w.screen(); strings.Contains(s, "pod-1") {
			t.Errorf("what does not match is shown:\n%s", s)
		}
		w.tmux("send-keys", "Escape")
		w.until(`pod-1`)
		w.tmux("send-keys", "/", "pod-3", "Enter")
		w.until(`1 with \.metadata\.name \| contains\("pod-3"\)`)
		w.tmux("send-keys", "?")
		w.until(`^  KEY +WHAT IT DOES`)
		w.tmux("send-keys", "?")
		w.tmux("send-keys", "Escape")
		w.until(`pod-1`)
		w.tmux("send-keys", "s")
		w.until(`NAME\^`)
		w.tmux("send-keys", "r")
		if s := w.until(`NAMEv`); strings.Index(s, "pod-4") > strings.Index(s, "pod-0") {
			t.Errorf("not in reverse order:\n%s", s)
		}
		w.tmux("send-keys", "C-c")
		restored(w, 130)
	})
	t.Run("an object with its Events and changes", func(t *testing.T) {
		w, srv, _ := begin(t, 80, 40)
		about := func(name, message string) string {
			return fmt.Sprintf(`{"metadata":{"namespace":"shop","name":%q},"involvedObject":{"kind":"Pod","namespace":"shop","name":"pod-1"},"type":"Warning","reason":"BackOff","message":%q}`, name, message)
		}
		srv.Put(kube.Events, about("one", "restarting"))
		srv.Put(kube.Pods, pod("pod-1", "Running"))
		w.until(`^~ pod-1 +0/1 +Running`)
		w.tmux("send-keys", "j", "j")
		w.until(`^.>pod-1 `)
		w.tmux("send-keys", "Enter")
		w.until(`^pod/pod-1 in namespace shop, 1 Event, 1 change`)
		w.until(`Warning +BackOff: restarting$`)
		w.until(`^  -  phase: Pending\n  \+  phase: Running$`)
		srv.Put(kube.Events, about("two", "again"))
		w.until(`Warning +BackOff: again$`)
		srv.Put(kube.Pods, pod("pod-1", "Failed"))
		w.until(`^  -  phase: Running\n  \+  phase: Failed$`)
		w.tmux("send-keys", "Escape")
		w.until(`^.>pod-1 +0/1 +(Failed|Error)`)
		w.tmux("send-keys", "q")
		restored(w, 0)
	})
	t.Run("a small screen scrolls", func(t *testing.T) {
		w, _, _ := begin(t, 80, 24)
		w.tmux("resize-window", "-x", "40", "-y", "5")
		w.until(`lines 1 to 2 of 6`)
		w.tmux("send-keys", "End")
		w.until(`pod-4.*\n\? help`)
		for line := range strings.Lines(w.screen()) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 40 {
				t.Errorf("a line of %d columns: %q", n, line)
			}
		}
		w.tmux("send-keys", "q")
		restored(w, 0)
	})
	t.Run("what happens is said on the last line", func(t *testing.T) {
		w, srv, _ := begin(t, 80, 24)
		if err := srv.SetDoor(apitest.Refusing); err != nil {
			t.Fatal(err)
		}
		srv.DropWatches()
		w.until(`^listwatch: pods: (watch broken|cannot watch)`)
		w.until(`^server \S+, as of \d+s ago: (connection lost|no connection), namespace shop$`)
		w.until(`5 objects`)
		if err := srv.SetDoor(apitest.Open); err != nil {
			t.Fatal(err)
		}
		w.until(`watching again`)
		w.until(`^server \S+, namespace shop$`)
		w.tmux("send-keys", "q")
		restored(w, 0)
	})
	t.Run("several clusters", func(t *testing.T) {
		east, west := apitest.New(t), apitest.New(t)
		east.Put(kube.Pods, pod("a", "Running"))
		west.Put(kube.Pods, pod("a", "Pending"))
		kubeconfig := filepath.Join(t.TempDir(), "config")
		text := fmt.Sprintf(`{"clusters": [{"name": "one", "cluster": {"server": %q}}, {"name": "two", "cluster": {"server": %q}}], "users": [{"name": "me", "user": {}}],
			"contexts": [{"name": "east", "context": {"cluster": "one", "user": "me", "namespace": "shop"}}, {"name": "west", "context": {"cluster": "two", "user": "me", "namespace": "shop"}}]}`, east.URL, west.URL)
		if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		w := openTerminal(t, 80, 24, fmt.Sprintf(`%s watch pods --kubeconfig %s --context east,west --live; echo "code=$?"`, program.Path, kubeconfig))
		w.until(`^  west +a +0/1 +Pending`)
		w.until(`^  east +a +0/1 +Running`)
		w.until(`^context east, cluster one, namespace shop\ncontext west, cluster two, namespace shop$`)
		if err := west.SetDoor(apitest.Refusing); err != nil {
			t.Fatal(err)
		}
		west.DropWatches()
		w.until(`^context east, cluster one, namespace shop\ncontext west, as of \d+s ago: (connection lost|no connection), cluster two, namespace shop$`)
		east.Put(kube.Pods, pod("b", "Running"))
		w.until(`east +b +0/1 +Running`)
		w.tmux("send-keys", "q")
		w.until(`^code=0$`)
	})
	t.Run("a signal gives the terminal back", func(t *testing.T) {
		w, _, pid := begin(t, 80, 24)
		b, err := os.ReadFile(pid)
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		p, err := os.FindProcess(n)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		restored(w, 130)
	})
}
