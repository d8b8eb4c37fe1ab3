// Package messages writes what the program says on stderr: lines for people, or a log in JSON.
package messages

import (
	"bytes"
	"context"
	"errors"
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

// Writer writes the messages of the program to stderr, one line at a time. It is safe
// for concurrent use.
type Writer struct {
	Quiet bool
	Log   *slog.Logger // nil = plain text

	mu   sync.Mutex
	w    io.Writer
	safe []func(error) error  // remove credentials
	many map[string]*repeated // by message, of each
	bar  bool                 // a progress line stands at the cursor
	Live bool                 // progress may be drawn over itself
}

func New(w io.Writer, format string, quiet bool) *Writer {
	t := &Writer{w: w, Quiet: quiet}
	if format == "json" {
		t.Log = slog.New(slog.NewJSONHandler(locked{t}, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Value.Kind() == slog.KindString {
				a.Value = slog.StringValue(t.Hide(a.Value.String()))
			}
			return a
		}}))
	}
	return t
}

// Conceal hides what f removes from errors, the credentials of a client, in all further lines.
func (t *Writer) Conceal(f func(error) error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.safe = append(t.safe, f)
}

// Hide returns text, which a server may have sent, without credentials.
func (t *Writer) Hide(text string) string {
	t.mu.Lock()
	safe := slices.Clone(t.safe)
	t.mu.Unlock()
	for _, f := range safe {
		text = f(errors.New(text)).Error()
	}
	return text
}

// To replaces the writer that lines go to.
func (t *Writer) To(w io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wipe()
	t.w, t.Live = w, false
}

// Lines returns a writer of whole lines, which do not mix with those of t.
func (t *Writer) Lines() io.Writer { return locked{t} }

// locked writes whole lines, escaped: no line of the log, in text or JSON, has a
// character that a terminal obeys.
type locked struct{ t *Writer }

func (l locked) Write(b []byte) (int, error) {
	l.t.mu.Lock()
	defer l.t.mu.Unlock()
	l.t.wipe()
	if _, err := l.t.w.Write(printable.Escape(nil, b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Say writes a line about a subject, such as "pods": the text for people or, in a log in
// JSON, the constant message with its attributes.
func (t *Writer) Say(level slog.Level, subject, text, message string, attrs ...any) {
	if t.Quiet {
		return
	}
	if t.Log != nil {
		t.Log.With("resource", subject).Log(context.Background(), level, message, attrs...)
		return
	}
	fmt.Fprintf(locked{t}, "listwatch: %s: %s\n", printable.Line(t.Hide(subject)), printable.Line(t.Hide(text)))
}

// Info is Say at level Info.
func (t *Writer) Info(subject, text, message string, attrs ...any) {
	t.Say(slog.LevelInfo, subject, text, message, attrs...)
}

// Warn is Say at level Warn.
func (t *Writer) Warn(subject, text, message string, attrs ...any) {
	t.Say(slog.LevelWarn, subject, text, message, attrs...)
}

// A server can cause any number of lines about objects. So many of one message are
// written at once, and then one at intervals.
const (
	MaxRepeated   = 20
	RepeatedEvery = 10 * time.Second
)

// repeated counts the lines of one message.
type repeated struct {
	left    int // lines that may be written now
	since   time.Time
	omitted int
}

// Each is Warn about one object. Further lines of the same message are written at
// intervals, and the others counted.
func (t *Writer) Each(subject, text, message string, attrs ...any) {
	if t.may(message) {
		t.Warn(subject, text, message, attrs...)
	}
}

// EachNote is Note about one object, with the limit of Each.
func (t *Writer) EachNote(text, message string) {
	if t.may(message) {
		t.Note(text)
	}
}

// may reports whether one more line of message may be written, and counts it if not.
func (t *Writer) may(message string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.many[message]
	if r == nil {
		r = &repeated{left: MaxRepeated, since: time.Now()}
		if t.many == nil {
			t.many = map[string]*repeated{}
		}
		t.many[message] = r
	}
	if n := int(time.Since(r.since) / RepeatedEvery); n > 0 {
		r.left = min(MaxRepeated, r.left+n)
		r.since = r.since.Add(time.Duration(n) * RepeatedEvery)
	}
	if r.left == 0 {
		r.omitted++
		return false
	}
	r.left--
	return true
}

// Summary ends what is written: it erases progress, and writes how many lines Each and
// EachNote left out.
func (t *Writer) Summary() {
	t.mu.Lock()
	t.wipe()
	many := t.many
	t.many = nil
	t.mu.Unlock()
	for _, message := range slices.Sorted(maps.Keys(many)) {
		if n := many[message].omitted; n > 0 {
			t.Warn(message, printable.Count(n, "more line")+" of this kind left out", "left out", "message", message, "lines", n)
		}
	}
}

// Note writes a line that has no subject.
func (t *Writer) Note(text string) {
	switch {
	case t.Quiet:
	case t.Log != nil:
		t.Log.Warn("note", "text", text)
	default:
		fmt.Fprintf(locked{t}, "listwatch: %s\n", printable.Line(t.Hide(text)))
	}
}

// Fatal writes the error that ends the program, also with --quiet.
func (t *Writer) Fatal(text string) {
	if t.Log != nil {
		t.Log.Error("ended", "err", text)
		return
	}
	fmt.Fprintf(locked{t}, "listwatch: %s\n", printable.Line(t.Hide(text)))
}

// LogFormat returns the value of the last --log-format in args, valid or not, so that
// errors about the arguments are in that format, too.
func LogFormat(args []string) string {
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

// LineLog returns a writer that logs each line that is written to it.
func (t *Writer) LineLog() io.Writer { return lineLog{t} }

// lineLog logs what is written to it, line by line. It does not wait for the rest of a
// line: the part may be a question.
type lineLog struct{ *Writer }

func (l lineLog) Write(b []byte) (int, error) {
	for line := range bytes.Lines(b) {
		if text := printable.Line(string(line)); text != "" {
			l.Log.Info("plugin", "text", text)
		}
	}
	return len(b), nil
}
