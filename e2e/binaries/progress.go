package binaries

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"
)

// compiled reads what go build -v writes: it counts the packages of which it writes that
// they are compiled, draws that count, and keeps the rest.
type compiled struct {
	terminal io.Writer // nil = nothing is drawn
	program  string
	packages map[string]bool // that the program consists of
	began    time.Time
	drawn    time.Time
	done     int
	rest     bytes.Buffer // errors
	line     []byte       // that has not ended
}

// Write implements io.Writer.
func (c *compiled) Write(b []byte) (int, error) {
	c.line = append(c.line, b...)
	for {
		line, after, ended := bytes.Cut(c.line, []byte("\n"))
		if !ended {
			return len(b), nil
		}
		if c.packages[string(line)] {
			c.done++
			c.draw(time.Now())
		} else {
			fmt.Fprintf(&c.rest, "%s\n", line)
		}
		c.line = after
	}
}

// draw replaces the line on the terminal. Packages in go's cache are not compiled, so that
// no more remains than it says.
func (c *compiled) draw(now time.Time) {
	if c.terminal == nil || now.Sub(c.drawn) < 200*time.Millisecond {
		return
	}
	c.drawn = now
	since := now.Sub(c.began)
	left := time.Duration(float64(since) / float64(c.done) * float64(len(c.packages)-c.done))
	fmt.Fprintf(c.terminal, "\r\x1b[K%s: %d of %d packages, %.1f/s, at most %s left", c.program, c.done, len(c.packages), float64(c.done)/since.Seconds(), left.Round(time.Second))
}

// end erases the line and returns what else was written.
func (c *compiled) end() string {
	if !c.drawn.IsZero() {
		io.WriteString(c.terminal, "\r\x1b[K")
	}
	return c.rest.String() + string(c.line)
}

// terminalOf returns w if lines can be drawn on it, else nil.
func terminalOf(w io.Writer) io.Writer {
	f, ok := w.(*os.File)
	if term := os.Getenv("TERM"); !ok || f.Name() == os.DevNull || term == "" || term == "dumb" {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return w
}
