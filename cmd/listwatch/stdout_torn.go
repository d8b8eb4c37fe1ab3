package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// lines returns w for a run that goes on, in the same file, where another one was cut
// in the middle of a line, by a full disk or by kill -9: its first line is not to
// become part of that one, whose event is printed again.
func (s *session) lines(w io.Writer) io.Writer {
	f, ok := w.(*os.File)
	if s.kept == nil || !ok || !endsLines(s.output.format.Name) || !torn(f) {
		return w
	}
	return &lineEnder{w: w}
}

// endsLines reports whether what -o makes of an object ends with the end of a line,
// which is for the user to say in the languages of templates.
func endsLines(format string) bool {
	name, _, _ := strings.Cut(format, "=")
	switch strings.TrimSuffix(name, "-file") {
	case "jsonpath", "go-template", "template", "templatefile":
		return false
	}
	return true
}

// torn reports whether f is a file that does not end with the end of a line. Where the
// system does not let us look it is taken for whole.
func torn(f *os.File) bool {
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() || fi.Size() == 0 {
		return false
	}
	in, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd())) // f itself can perhaps not be read
	if err != nil {
		return false
	}
	defer in.Close()
	last := []byte{'\n'}
	now, err := in.Stat()
	if err != nil || !os.SameFile(fi, now) {
		return false
	}
	_, err = in.ReadAt(last, fi.Size()-1)
	return err == nil && last[0] != '\n'
}

// lineEnder ends a line that is torn before anything else is written.
type lineEnder struct {
	w    io.Writer
	done bool
}

func (l *lineEnder) Write(b []byte) (int, error) {
	if !l.done {
		if _, err := l.w.Write([]byte{'\n'}); err != nil {
			return 0, err
		}
		l.done = true
	}
	return l.w.Write(b)
}
