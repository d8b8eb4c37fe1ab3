//go:build unix

package plugin

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// script returns Options that run a shell script, in which DIR stands for a
// directory with a named pipe, life: what the script starts holds it open.
func script(t *testing.T, text string) (o Options, dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mkfifo(dir+"/life", 0o600); err != nil {
		t.Fatal(err)
	}
	o = acting(t, "", "")
	o.Command, o.Env = filepath.Join(dir, "script"), nil
	if err := os.WriteFile(o.Command, []byte("#!/bin/sh\n"+strings.ReplaceAll(text, "DIR", dir)), 0o700); err != nil {
		t.Fatal(err)
	}
	return o, dir
}

// born waits until the script has life open and says so.
func born(t *testing.T, dir string) (life *os.File) {
	t.Helper()
	life, err := os.Open(dir + "/life")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { life.Close() })
	heard(t, life)
	return life
}

// heard waits for somebody to write into life.
func heard(t *testing.T, life *os.File) {
	t.Helper()
	b := make([]byte, 3)
	if _, err := io.ReadFull(life, b); string(b) != "up\n" {
		t.Fatalf("life: %q, %v", b, err)
	}
}

// dead waits until nobody has life open.
func dead(t *testing.T, life *os.File) {
	t.Helper()
	if err := life.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, life); err != nil {
		t.Errorf("something that the command started still runs: %v", err)
	}
}

// childless checks that we have neither a child nor a zombie.
func childless(t *testing.T) {
	t.Helper()
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		t.Errorf("a child is left: %d, %v", pid, err)
	}
}

func TestRunIsKilledWithAllThatItStarted(t *testing.T) {
	for name, text := range map[string]string{
		"waits for a child":          "exec 3>DIR/life; echo up >&3; sleep 1000",
		"children in the background": "exec 3>DIR/life; (sleep 1000; true) & (sleep 1000; true) & echo up >&3; wait",
		"deaf":                       "trap '' TERM; exec 3>DIR/life; echo up >&3; sleep 1000; sleep 1000",
	} {
		t.Run(name, func(t *testing.T) {
			o, dir := script(t, text)
			p, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			enough := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			left := make(chan error)
			go func() { _, err := p.Credential(ctx, nil); left <- err }()
			life := born(t, dir)
			cancel(enough)
			if err := <-left; !errors.Is(err, enough) {
				t.Errorf("error %v, want the cause", err)
			}
			childless(t)
			dead(t, life)
		})
	}
}

func TestRunThatTakesTooLongIsKilled(t *testing.T) {
	o, _ := script(t, "sleep 1000")
	o.Timeout = 200 * time.Millisecond
	_, err := ask(t, o)
	if want := ": it was killed because it took more than 200ms"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
	childless(t)
}

// TestChildThatHoldsTheOutputDoesNotHoldUs starts what stays, as plugins do that
// keep credentials in a process of their own.
func TestChildThatHoldsTheOutputDoesNotHoldUs(t *testing.T) {
	o, dir := script(t, "exec 3>DIR/life; echo up >&3; (read line <DIR/go; echo up >&3) & echo '"+credentialOf(t, "token", "T")+"'")
	if err := syscall.Mkfifo(dir+"/go", 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if c, err := ask(t, o); err != nil || c.Token != "T" {
			t.Errorf("Credential: %v, %v", c, err)
		}
	}()
	life := born(t, dir)
	<-done
	childless(t)
	leave, err := os.OpenFile(dir+"/go", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer leave.Close()
	if _, err := leave.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	heard(t, life) // it was not killed
	dead(t, life)
}

func TestHowARunEnds(t *testing.T) {
	for text, want := range map[string]string{
		"exit 1":       ": it failed with exit code 1; see what it wrote to stderr",
		"exit 255":     ": it failed with exit code 255; see what it wrote to stderr",
		"kill -9 $$":   ": it was ended by a signal: killed",
		"exit 0":       ": it printed nothing, where an ExecCredential is wanted",
		"echo hunter2": ": what it printed is not an ExecCredential: invalid JSON at byte 0: value expected",
		"exec >&-":     ": it printed nothing, where an ExecCredential is wanted",
	} {
		o, _ := script(t, text)
		want = from + ": credential plugin \"" + o.Command + `"` + want
		if c, err := ask(t, o); c != nil || err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
}

func TestFileThatDoesNotRun(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"not executable": {"#!/bin/sh\n", 0o600, "it is not executable: chmod +x makes it so"},
		"no interpreter": {"#!/no/such/shell\n", 0o700, "it cannot be started: what its first line names, or a library of it, does not exist"},
		"no program":     {"hunter2\n", 0o700, "it cannot be started: exec format error"},
	} {
		t.Run(name, func(t *testing.T) {
			o := acting(t, "", "")
			o.Command, o.InstallHint = filepath.Join(t.TempDir(), "aws"), "See X."
			if err := os.WriteFile(o.Command, []byte(tt.text), tt.mode); err != nil {
				t.Fatal(err)
			}
			want := from + ": credential plugin \"" + o.Command + `": ` + tt.want
			if _, err := ask(t, o); err == nil || err.Error() != want {
				t.Errorf("error %v\nwant %s", err, want)
			}
		})
	}
}

// openTerminal returns a terminal of our own.
func openTerminal(t *testing.T) *os.File {
	t.Helper()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	return terminal
}

func TestTerminalIsPassedOnWhereTheModeAllows(t *testing.T) {
	for mode, want := range map[string]bool{never: false, ifAvailable: true, always: true} {
		o := acting(t, "look", v1)
		o.Stdin, o.Interactive = openTerminal(t), mode
		s := look(t, o)
		if s.Terminal != want || strings.Contains(s.Info, `"interactive":true`) != want {
			t.Errorf("%s: terminal %t, told %s; want %t", mode, s.Terminal, s.Info, want)
		}
	}
}

// TestCommandThatAsksStaysInOurGroup: the terminal stops whoever reads it from a
// group in the background.
func TestCommandThatAsksStaysInOurGroup(t *testing.T) {
	for mode, want := range map[string]string{never: "own", ifAvailable: "ours"} {
		o, _ := script(t, "if kill -0 -$$ 2>/dev/null; then group=own; else group=ours; fi\n"+
			strings.Replace("echo '"+credentialOf(t, "token", "GROUP")+"'", "GROUP", `'$group'`, 1))
		o.Stdin, o.Interactive = openTerminal(t), mode
		if c, err := ask(t, o); err != nil || c.Token != want {
			t.Errorf("%s: %+v, %v; want the group to be %s", mode, c, err, want)
		}
	}
}

func TestRunAtATerminalIsKilled(t *testing.T) {
	o, _ := script(t, "exec sleep 1000")
	o.Stdin, o.Timeout = openTerminal(t), 100*time.Millisecond
	if _, err := ask(t, o); err == nil || !strings.HasSuffix(err.Error(), "more than 100ms") {
		t.Errorf("error %v", err)
	}
	childless(t)
}
