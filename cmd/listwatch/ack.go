package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/printable"
)

// acks are what the reader of stdout acknowledges: a line with the seq of an ndjson
// line says that it is done with that one and all before it, for good.
type acks struct {
	file    io.ReadCloser
	first   int64        // the seq of the first line
	printed atomic.Int64 // the last seq that stdout was given
	done    atomic.Int64 // the highest that was acknowledged
	changed chan struct{}
}

// openAcks opens the pipe at path. It is opened for writing too, so that a reader that
// opens it for each line does not end it.
func openAcks(path string) (*acks, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, exit.Usage("--ack: %w", err)
	}
	if fi.Mode()&fs.ModeNamedPipe == 0 {
		return nil, exit.Usage("--ack %s: want a pipe, as mkfifo makes it, or /dev/fd/N of one", printable.Clip(path))
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, exit.Usage("--ack: %w", err)
	}
	// A reader that outlives a run, or a pipe, may still acknowledge lines of that run: so
	// no run counts from 1. Nobody prints a line each microsecond.
	return &acks{file: f, first: time.Now().UnixMicro(), changed: make(chan struct{}, 1)}, nil
}

// maxAck is the longest line that is read.
const maxAck = 1 << 10

// read takes acknowledgements until the pipe is closed. One that makes no sense is
// reported, and counts for nothing.
func (a *acks) read(wrong func(text string)) {
	lines := bufio.NewScanner(a.file)
	lines.Buffer(nil, maxAck)
	for lines.Scan() {
		text := strings.TrimSpace(lines.Text())
		n, err := strconv.ParseInt(text, 10, 64)
		switch printed := a.printed.Load(); {
		case text == "":
			continue
		case err != nil || n < 0:
			wrong(fmt.Sprintf("--ack: %q is ignored: want the seq of a line", printable.Clip(printable.Line(text))))
			continue
		case n > printed:
			wrong(fmt.Sprintf("--ack: %d is ignored: the last line that was printed is %d", n, printed))
			continue
		case n > a.done.Load():
			a.done.Store(n)
		}
		select {
		case a.changed <- struct{}{}:
		default:
		}
	}
	if lines.Err() == bufio.ErrTooLong {
		wrong("--ack: a line is too long: nothing is acknowledged any more")
	}
}

// drain waits until all that was printed is acknowledged, ctx is done, or nobody reads
// stdout any more.
func (a *acks) drain(ctx context.Context, stdout io.Writer) {
	ctx, stop := context.WithCancel(ctx)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if unread(ctx, stdout) {
			stop()
		}
	}()
	for a.done.Load() < a.printed.Load() {
		select {
		case <-a.changed:
			continue
		case <-ctx.Done():
		}
		break
	}
	stop()
	<-gone
}
