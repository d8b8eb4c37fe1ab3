package messages

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/listwatch/listwatch/internal/printable"
)

// barEvery is how often progress is drawn.
const barEvery = 200 * time.Millisecond

// Task is long work, whose progress is drawn on a terminal, in place, and nowhere else. It
// is safe for concurrent use.
type Task struct {
	t             *Writer
	subject, unit string
	began, drawn  time.Time
}

// Task begins one of a subject, which counts in units such as "objects".
func (t *Writer) Task(subject, unit string) *Task {
	now := time.Now()
	return &Task{t: t, subject: subject, unit: unit, began: now, drawn: now}
}

// At draws how many units are done, of a total that is negative if it is not known, unless
// that was drawn a moment ago. [Writer.Done] erases it.
func (k *Task) At(done, total int) {
	k.t.mu.Lock()
	defer k.t.mu.Unlock()
	if now := time.Now(); now.Sub(k.drawn) >= barEvery && k.t.draws() {
		k.drawn = now
		k.t.draw(k.subject, how(done, total, k.unit, now.Sub(k.began)))
	}
}

// how says how far work is: its count, its rate, and what remains or how long it takes.
func how(done, total int, unit string, since time.Duration) string {
	text := printable.Thousands(done)
	if total >= 0 {
		text += "/" + printable.Thousands(total)
	}
	text += " " + unit
	rate := float64(done) / since.Seconds()
	if rate >= 1 {
		text += ", " + printable.Thousands(int(rate)) + "/s"
	}
	if total >= done && done > 0 {
		left := time.Duration(float64(total-done) / rate * float64(time.Second))
		return text + ", " + printable.Rough(left.Round(time.Second)) + " left"
	}
	return text + ", " + printable.Rough(since)
}

// Progress writes how far a long first list is: in place on a terminal, else as a line.
func (t *Writer) Progress(subject string, items int, remaining int64, since time.Duration) {
	total := -1
	if remaining >= 0 {
		total = items + int(remaining)
	}
	if t.mu.Lock(); t.draws() {
		t.draw(subject, how(items, total, "objects", since))
		t.mu.Unlock()
		return
	}
	t.mu.Unlock()
	text := printable.Thousands(items)
	if total >= 0 {
		text += "/" + printable.Thousands(total)
	}
	t.Info(subject, fmt.Sprintf("%s objects … %.1fs", text, since.Seconds()), "listing", "items", items, "remaining", remaining, "seconds", since.Seconds())
}

// draws reports whether progress is drawn. The caller holds mu.
func (t *Writer) draws() bool { return t.Live && t.Log == nil && !t.Quiet }

// draw replaces the progress line by one that fits the terminal: what is in the next line
// would not be erased. The caller holds mu.
func (t *Writer) draw(subject, text string) {
	line := []rune("listwatch: " + printable.Line(subject) + ": " + text)
	if f, ok := t.w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 && len(line) >= width {
			line = line[:width-1]
		}
	}
	fmt.Fprintf(t.w, "\r\x1b[K%s", string(line))
	t.bar = true
}

// Done erases the progress line.
func (t *Writer) Done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wipe()
}

// wipe erases the progress line. The caller holds mu.
func (t *Writer) wipe() {
	if t.bar {
		io.WriteString(t.w, "\r\x1b[K")
		t.bar = false
	}
}
