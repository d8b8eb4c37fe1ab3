// Package cli is one run of the program: where it reads and writes, and which build it is.
package cli

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

	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/config"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
)

// Program is one run: where it reads and writes.
type Program struct {
	Env    func(string) string
	Stdout io.Writer
	Stderr io.Writer
	Args   []string

	Cfg     *config.Config      // what was loaded last, for explanations
	Conceal []func(error) error // hide the credentials of the clients, for the last message

	// dial opens connections; nil = the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Put writes text to stdout, escaped if that is a terminal.
func (p *Program) Put(text string) error {
	if IsTerminal(p.Stdout) {
		text = string(printable.Escape(nil, []byte(text)))
	}
	if _, err := io.WriteString(p.Stdout, text); err != nil {
		return Unwritten(err, false, nil)
	}
	return nil
}

// Fallback returns the voice that the arguments ask for.
func (p *Program) Fallback() *messages.Writer {
	t := messages.New(p.Stderr, messages.LogFormat(p.Args), false)
	for _, f := range p.Conceal {
		t.Conceal(f)
	}
	return t
}

// Colored: by the flag, else as https://no-color.org and
// https://bixense.com/clicolors say, else on a terminal.
func (p *Program) Colored(flag string) bool {
	forced := func(key string) bool { v := p.Env(key); return v != "" && v != "0" }
	switch {
	case flag == "always", flag == "never":
		return flag == "always"
	case p.Env("NO_COLOR") != "":
		return false
	case forced("CLICOLOR_FORCE"), forced("FORCE_COLOR"):
		return true
	}
	return p.Env("TERM") != "dumb" && IsTerminal(p.Stdout)
}

// PluginStderr is where commands that give credentials may talk: to people as it
// comes, to programs as lines of the log.
func (p *Program) PluginStderr() io.Writer {
	if messages.LogFormat(p.Args) != "json" {
		return p.Stderr
	}
	return messages.New(p.Stderr, "json", false).LineLog()
}

// Messages returns the voice that the flags ask for.
func (p *Program) Messages(format string, quiet bool) *messages.Writer {
	t := p.Talk(format, quiet)
	// On one terminal with the rows, a line that is drawn over itself would
	// be torn; the rows are progress enough.
	t.Live = t.Live && !IsTerminal(p.Stdout)
	return t
}

// Talk is Messages of a command that prints no rows.
func (p *Program) Talk(format string, quiet bool) *messages.Writer {
	t := messages.New(p.Stderr, format, quiet)
	t.Live = IsTerminal(p.Stderr) && p.Env("TERM") != "dumb"
	return t
}

// IsTerminal reports whether a stream is one.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

type Build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// ThisBuild reads what the linker has left in the program.
func ThisBuild() Build {
	b := Build{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
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

// Unwritten is how the program ends that cannot write to stdout. kept is that there is
// a checkpoint, and unnoted why it does not have what stdout took of the last write.
func Unwritten(err error, kept bool, unnoted error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return exit.ErrPipe
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err // its name says no more
	}
	todo := RoomFor(err, "the output")
	switch {
	case todo == "" || !kept:
	case unnoted != nil:
		todo += fmt.Sprintf("; the next run may print some lines again: %v", unnoted)
	default:
		todo += "; the next run prints again what is not there in whole"
	}
	return exit.Failed(fmt.Errorf("write to stdout: %w%s", err, todo))
}

// RoomFor says what to do where err is that something had no room; else nothing.
func RoomFor(err error, what string) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ": make room where " + what + " goes"
	case errors.Is(err, syscall.EFBIG):
		return ": allow a larger file by ulimit -f"
	}
	return ""
}
