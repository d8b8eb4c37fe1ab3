package main

import (
	"bytes"
	"io"
	"strings"

	"github.com/listwatch/listwatch/internal/printable"
)

// logFormat is what --log-format asks for in args, wrong or not: who reads JSON
// wants it even of what is said about the arguments. The last one counts.
func logFormat(args []string) string {
	format := ""
	for i, a := range args {
		if a == "--" {
			break
		}
		if v, ok := strings.CutPrefix(a, "--log-format="); ok {
			format = v
		} else if a == "--log-format" && i+1 < len(args) {
			format = args[i+1]
		}
	}
	return format
}

// pluginStderr is where commands that give credentials may talk: to people as it
// comes, to programs as lines of the log.
func (p *program) pluginStderr() io.Writer {
	if logFormat(p.args) != "json" {
		return p.stderr
	}
	return lineLog{newTalk(p.stderr, "json", false)}
}

// lineLog logs what is written to it, line by line. A line that comes in pieces is
// not waited for: it may be a question.
type lineLog struct{ *talk }

func (l lineLog) Write(b []byte) (int, error) {
	for line := range bytes.Lines(b) {
		if text := printable.Line(string(line)); text != "" {
			l.log.Info("plugin", "text", text)
		}
	}
	return len(b), nil
}
