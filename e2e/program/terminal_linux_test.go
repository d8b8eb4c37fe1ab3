package program_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"

	"github.com/listwatch/listwatch/e2e/internal/setup"
)

// TestTerminalOfAnyKind runs --live where a terminal is unusual, or is taken away.
func TestTerminalOfAnyKind(t *testing.T) {
	program := setup.BuildProgram(t)
	srv := apitest.New(t)
	for _, name := range []string{"web-0", "web-1"} {
		srv.Put(kube.Pods, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":%q,"labels":{"name":"世界-\u202e\u001b[7m-אב"}},"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Running"}}`, name))
	}
	watch := fmt.Sprintf("%s watch pods -n shop -s %s --live -L name", program.Path, srv.URL)

	t.Run("twenty columns", func(t *testing.T) {
		w := openTerminal(t, 20, 12, watch+`; echo "code=$?"`)
		w.until(`^  web-1 +0/1 +R…$`)
		for line := range strings.Lines(w.screen()) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 20 {
				t.Errorf("a line of %d columns: %q", n, line)
			}
		}
		for range 8 {
			w.tmux("send-keys", "Right")
		}
		if s := w.until(`世界-.*-אב$`); strings.ContainsAny(s, "\u202e\x1b") {
			t.Errorf("what a terminal obeys is shown: %q", s)
		}
		w.tmux("resize-window", "-x", "100", "-y", "20")
		w.tmux("send-keys", "Left", "Left", "Left", "Left", "Left", "Left", "Left", "Left")
		w.until(`^  web-1 +0/1 +Running .*世界-`)
		w.tmux("send-keys", "q")
		w.until(`^code=0$`)
	})
	t.Run("without colours", func(t *testing.T) {
		w := openTerminal(t, 80, 12, "NO_COLOR=1 "+watch+`; echo "code=$?"`)
		w.until(`^  web-1 +0/1 +Running`)
		w.tmux("send-keys", "j")
		w.until(`^ >web-0 `)
		if s := w.screen("-e"); strings.Contains(s, "\x1b[") {
			t.Errorf("there are colours: %q", s)
		}
		w.tmux("send-keys", "q")
		w.until(`^code=0$`)
	})
	t.Run("stdin is closed", func(t *testing.T) {
		w := openTerminal(t, 80, 12, watch+` <&-; echo "code=$?"`)
		w.until(`^listwatch: --live needs a terminal on stdin and stdout\ncode=2$`)
	})
	t.Run("it is stopped and continued", func(t *testing.T) {
		pid := filepath.Join(t.TempDir(), "pid")
		w := openTerminal(t, 80, 12, "exec env PS1='prompt$ ' ENV= sh -i")
		w.until(`prompt\$`)
		w.tmux("send-keys", "-l", fmt.Sprintf("sh -c 'echo $$ > %s; exec %s'", pid, watch))
		w.tmux("send-keys", "Enter")
		w.until(`^  web-1 +0/1 +Running`)
		stopped := func() {
			t.Helper()
			w.until(`(?i)(stopped|suspended)(.*\n)*prompt\$ *$`)
			w.tmux("send-keys", "-l", "echo typed-$((1+1))")
			w.until(`prompt\$ echo typed-`) // it is echoed
			w.tmux("send-keys", "Enter")
			w.until(`^typed-2$`)
			w.tmux("send-keys", "fg", "Enter")
			w.until(`^  web-1 +0/1 +Running`)
			w.tmux("send-keys", "j")
			w.until(`^ >web-\d `)
			w.tmux("send-keys", "Escape")
			w.until(`^  web-0 (.*\n)*^  web-1 `)
		}
		w.tmux("send-keys", "C-z")
		stopped()
		b, err := os.ReadFile(pid)
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(n, syscall.SIGTSTP); err != nil {
			t.Fatal(err)
		}
		stopped()
		w.tmux("send-keys", "C-z")
		stopped()
		w.tmux("send-keys", "q")
		w.until(`prompt\$ *$`)
	})
}
