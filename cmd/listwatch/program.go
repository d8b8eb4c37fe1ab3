package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"

	"golang.org/x/term"

	"github.com/listwatch/listwatch/config"
	"github.com/listwatch/listwatch/internal/printable"
)

// program is one run: where it reads and writes.
type program struct {
	env    func(string) string
	stdout io.Writer
	stderr io.Writer
	args   []string

	cfg *config.Config // what was loaded last, for explanations

	// dial opens connections; nil = the network.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// put writes text to stdout, escaped if that is a terminal.
func (p *program) put(text string) error {
	if isTerminal(p.stdout) {
		text = string(printable.Escape(nil, []byte(text)))
	}
	if _, err := io.WriteString(p.stdout, text); err != nil {
		return unwritten(err, false, nil)
	}
	return nil
}

// talk returns the voice that the arguments ask for.
func (p *program) talk() *talk {
	return newTalk(p.stderr, logFormat(p.args), false)
}

// colored: by the flag, else as https://no-color.org and
// https://bixense.com/clicolors say, else on a terminal.
func (p *program) colored(flag string) bool {
	forced := func(key string) bool { v := p.env(key); return v != "" && v != "0" }
	switch {
	case flag == "always", flag == "never":
		return flag == "always"
	case p.env("NO_COLOR") != "":
		return false
	case forced("CLICOLOR_FORCE"), forced("FORCE_COLOR"):
		return true
	}
	return p.env("TERM") != "dumb" && isTerminal(p.stdout)
}

// pluginStderr is where commands that give credentials may talk: to people as it
// comes, to programs as lines of the log.
func (p *program) pluginStderr() io.Writer {
	if logFormat(p.args) != "json" {
		return p.stderr
	}
	return lineLog{newTalk(p.stderr, "json", false)}
}

// newTalk returns the voice that the flags ask for.
func (p *program) newTalk(format string, quiet bool) *talk {
	t := newTalk(p.stderr, format, quiet)
	// On one terminal with the rows, a line that is drawn over itself would
	// be torn; the rows are progress enough.
	t.live = isTerminal(p.stderr) && !isTerminal(p.stdout)
	return t
}

// isTerminal reports whether a stream is one.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// thisBuild reads what the linker has left in the program.
func thisBuild() build {
	b := build{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// unwritten is how the program ends that cannot write to stdout. kept is that there is
// a checkpoint, and unnoted why it does not have what stdout took of the last write.
func unwritten(err error, kept bool, unnoted error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return errPipe
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err // its name says no more
	}
	todo := roomFor(err, "the output")
	switch {
	case todo == "" || !kept:
	case unnoted != nil:
		todo += fmt.Sprintf("; the next run may print some lines again: %v", unnoted)
	default:
		todo += "; the next run prints again what is not there in whole"
	}
	return failed(fmt.Errorf("write to stdout: %w%s", err, todo))
}

// roomFor says what to do where err is that something had no room; else nothing.
func roomFor(err error, what string) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ": make room where " + what + " goes"
	case errors.Is(err, syscall.EFBIG):
		return ": allow a larger file by ulimit -f"
	}
	return ""
}
