package kubectl_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/listwatch/listwatch/e2e/binaries"
)

// TestGuideRuns runs the commands of docs/first-operator.md as they stand there, but for the
// folder of the files that they write.
func TestGuideRuns(t *testing.T) {
	page, err := os.ReadFile("../../docs/first-operator.md")
	if err != nil {
		t.Fatal(err)
	}
	kubectl, err := binaries.Ensure(t.Context(), binaries.Kubectl, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	g := &guide{T: t, dir: t.TempDir(), kubectl: kubectl}
	var last string
	for line := range strings.Lines(string(page)) {
		command, ok := strings.CutPrefix(line, "    ")
		switch command = strings.TrimSpace(command); {
		case !ok:
		case strings.Contains(command, " fake serve "):
			g.start(command)
			g.until("kubectl --kubeconfig fake.yaml get greetings", "No resources found")
		case strings.HasSuffix(command, " -kubeconfig fake.yaml"):
			g.start(command)
		default:
			g.run(command)
		}
		if ok {
			last = command
			g.commands++
		}
	}
	if g.commands != 5 {
		t.Fatalf("%d commands, want 5: does this test still know the guide?", g.commands)
	}
	g.until(last, "greeting.example.com/x")
	g.until(last, "configmap/x")
}

// guide is a shell in the root of the repository.
type guide struct {
	*testing.T
	dir, kubectl string
	commands     int
}

func (g *guide) command(text string) *exec.Cmd {
	for _, file := range []string{"greetings.yaml", "fake.yaml"} {
		text = strings.ReplaceAll(text, file, filepath.Join(g.dir, file))
	}
	cmd := exec.CommandContext(g.Context(), "bash", "-c", text)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(g.kubectl)+":"+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // go run has a child
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

func (g *guide) run(text string) {
	g.Helper()
	out, err := g.command(text).CombinedOutput()
	if err != nil {
		g.Fatalf("%s: %v\n%s", text, err, out)
	}
}

// start starts what runs until the end of the test.
func (g *guide) start(text string) {
	g.Helper()
	var out bytes.Buffer
	cmd := g.command(text)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() { // after the context has ended
		_ = cmd.Wait()
		if g.Failed() {
			g.Logf("%s:\n%s", text, out.String())
		}
	})
}

// until runs a command until it prints want.
func (g *guide) until(text, want string) {
	g.Helper()
	var out []byte
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if out, _ = g.command(text).CombinedOutput(); strings.Contains(string(out), want) {
			return
		}
	}
	g.Fatalf("%s prints no %q:\n%s", text, want, out)
}
