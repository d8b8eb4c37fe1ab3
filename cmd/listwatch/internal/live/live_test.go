package live

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/listwatch/listwatch/internal/print"
)

// terminal keeps what is written to it.
type terminal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *terminal) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(b)
}

func (t *terminal) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// A panic of the screen gives the terminal back and ends the run.
func TestPanicGivesTheTerminalBack(t *testing.T) {
	in, keys := io.Pipe()
	defer keys.Close()
	out := &terminal{}
	ended := make(chan error, 1)
	b := newBoard(&print.Format{Headers: true})
	b.types = nil // a new type is a panic
	l := startLive(t.Context(), &screen{board: b, stop: func(err error) { ended <- err }}, in, out)
	r := podRecord(t, "ADDED", "a", "Running", 0, 0)
	if _, err := l.Encode(nil, r); err != nil {
		t.Fatal(err)
	}
	l.Flush(nil)
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "panic") {
		t.Errorf("the run ends by %v", err)
	}
	<-l.done
	const enter, leave = "\x1b[?1049h", "\x1b[?1049l"
	if text := out.String(); strings.Count(text, enter) != strings.Count(text, leave) || strings.LastIndex(text, leave) < strings.LastIndex(text, enter) {
		t.Errorf("the terminal is not given back: %q", text)
	}
	l.Close() // as the run does
}

// The end of stdin ends no run: a script may have typed its keys.
func TestScreenGoesOnWithoutKeys(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &terminal{}
	var ends []error
	var mu sync.Mutex
	l := startLive(ctx, &screen{board: newBoard(&print.Format{Headers: true}), stop: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		ends = append(ends, err)
	}}, strings.NewReader(""), out)
	l.program.Send(said("pods: a message"))
	l.Close()
	mu.Lock()
	defer mu.Unlock()
	if len(ends) > 0 {
		t.Errorf("the run ends by %v", ends)
	}
}
