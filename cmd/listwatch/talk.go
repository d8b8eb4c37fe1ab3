package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/listwatch/listwatch/internal/printable"
)

// talk is what the program says on stderr, one line at a time. It is safe for
// concurrent use.
type talk struct {
	quiet bool
	log   *slog.Logger // nil = plain text

	mu   sync.Mutex
	w    io.Writer
	bar  bool // a progress line stands at the cursor
	live bool // progress may be drawn over itself
}

func newTalk(w io.Writer, format string, quiet bool) *talk {
	t := &talk{w: w, quiet: quiet}
	if format == "json" {
		t.log = slog.New(slog.NewJSONHandler(locked{t}, nil))
	}
	return t
}

// to sends what is said elsewhere from now on.
func (t *talk) to(w io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wipe()
	t.w, t.live = w, false
}

// locked writes whole lines, escaped: no line of the log, in text or JSON, has a
// character that a terminal obeys.
type locked struct{ t *talk }

func (l locked) Write(b []byte) (int, error) {
	l.t.mu.Lock()
	defer l.t.mu.Unlock()
	l.t.wipe()
	if _, err := l.t.w.Write(printable.Escape(nil, b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// say tells about a subject, such as "pods": the text to people, or the constant
// message and attributes to programs.
func (t *talk) say(level slog.Level, subject, text, message string, attrs ...any) {
	if t.quiet {
		return
	}
	if t.log != nil {
		t.log.With("resource", subject).Log(context.Background(), level, message, attrs...)
		return
	}
	fmt.Fprintf(locked{t}, "listwatch: %s: %s\n", printable.Line(subject), printable.Line(text))
}

// info and warn are say with a level.
func (t *talk) info(subject, text, message string, attrs ...any) {
	t.say(slog.LevelInfo, subject, text, message, attrs...)
}

func (t *talk) warn(subject, text, message string, attrs ...any) {
	t.say(slog.LevelWarn, subject, text, message, attrs...)
}

// note says something about nothing in particular.
func (t *talk) note(text string) {
	switch {
	case t.quiet:
	case t.log != nil:
		t.log.Warn("note", "text", text)
	default:
		fmt.Fprintf(locked{t}, "listwatch: %s\n", printable.Line(text))
	}
}

// fatal is said even to those who want quiet.
func (t *talk) fatal(text string) {
	if t.log != nil {
		t.log.Error("ended", "err", text)
		return
	}
	fmt.Fprintf(locked{t}, "listwatch: %s\n", printable.Line(text))
}

// progress of a long first list: redrawn in place on a terminal, else a line.
func (t *talk) progress(subject string, items int, remaining int64, since time.Duration) {
	total := ""
	if remaining >= 0 {
		total = "/" + thousands(items+int(remaining))
	}
	text := fmt.Sprintf("%s%s objects … %.1fs", thousands(items), total, since.Seconds())
	if !t.live || t.log != nil || t.quiet {
		t.info(subject, text, "listing", "items", items, "remaining", remaining, "seconds", since.Seconds())
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.w, "\r\x1b[Klistwatch: %s: %s", printable.Line(subject), text)
	t.bar = true
}

// done wipes the progress line.
func (t *talk) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wipe()
}

// wipe is for whoever holds mu.
func (t *talk) wipe() {
	if t.bar {
		io.WriteString(t.w, "\r\x1b[K")
		t.bar = false
	}
}

// thousands prints n as 12,500.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// rough prints a duration as people say it: 7m12s, 95s, 1.2s, 40ms.
func rough(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Round(time.Second).Seconds()))
	}
	return d.Round(time.Second).String()
}

// count prints "1 object", "2 objects".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return thousands(n) + " " + what + "s"
}
