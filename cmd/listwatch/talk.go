package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
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
	many map[string]*repeated // by message, of each
	bar  bool                 // a progress line stands at the cursor
	live bool                 // progress may be drawn over itself
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

// A server can give reason for any number of lines about objects. Of one message so many
// are said at once, and then one at intervals.
const (
	maxRepeated   = 20
	repeatedEvery = 10 * time.Second
)

// repeated counts the lines of one message.
type repeated struct {
	left    int // lines that may be said now
	since   time.Time
	omitted int
}

// each is warn about one object, of which any number may have the same fault.
func (t *talk) each(subject, text, message string, attrs ...any) {
	if t.may(message) {
		t.warn(subject, text, message, attrs...)
	}
}

// eachNote is note about one object, of which any number may have the same fault.
func (t *talk) eachNote(text, message string) {
	if t.may(message) {
		t.note(text)
	}
}

// may reports whether one more line of message is said, and counts it if it is not.
func (t *talk) may(message string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.many[message]
	if r == nil {
		r = &repeated{left: maxRepeated, since: time.Now()}
		if t.many == nil {
			t.many = map[string]*repeated{}
		}
		t.many[message] = r
	}
	if n := int(time.Since(r.since) / repeatedEvery); n > 0 {
		r.left = min(maxRepeated, r.left+n)
		r.since = r.since.Add(time.Duration(n) * repeatedEvery)
	}
	if r.left == 0 {
		r.omitted++
		return false
	}
	r.left--
	return true
}

// summary says how many lines each and eachNote left out.
func (t *talk) summary() {
	t.mu.Lock()
	many := t.many
	t.many = nil
	t.mu.Unlock()
	for _, message := range slices.Sorted(maps.Keys(many)) {
		if n := many[message].omitted; n > 0 {
			t.warn(message, count(n, "more line")+" of this kind left out", "left out", "message", message, "lines", n)
		}
	}
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

// clip shortens what was typed, for a message.
func clip(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:80]) + "..."
	}
	return s
}

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
