package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/monitor"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/signals"
	"github.com/listwatch/listwatch/internal/exit"
)

// errUnread ends the printing where nobody has read stdout, as a full pipe, until the time of
// the run was over.
var errUnread = errors.New("nobody reads stdout")

// timely is a writer whose Write gives up soon after late is closed. Then the write goes on in
// the background, until the process ends, and keeps its bytes.
type timely struct {
	io.Writer
	late <-chan struct{}
	why  func() error
}

// inTime returns w for a run that ends at a time: where --timeout of whole, the context of all
// of the run, is over, or where --max-staleness is the cause of ctx. Other ends wait for the
// reader, who may be a person with a pager.
func (s *session) inTime(whole, ctx context.Context, w io.Writer) io.Writer {
	if s.flags.timeout <= 0 && !s.monitor.Ends() {
		return w
	}
	over, end := context.WithCancelCause(context.WithoutCancel(ctx))
	context.AfterFunc(whole, func() {
		if err := context.Cause(whole); errors.Is(err, exit.ErrTimedOut) {
			end(err)
		}
	})
	context.AfterFunc(ctx, func() {
		if err := context.Cause(ctx); errors.Is(err, monitor.ErrStale) {
			end(err)
		}
	})
	return &timely{w, over.Done(), func() error { return context.Cause(over) }}
}

func (t *timely) Write(b []byte) (n int, err error) {
	written := make(chan struct{})
	var took int
	var failed error
	go func() {
		defer close(written)
		took, failed = t.Writer.Write(b)
	}()
	select {
	case <-written:
		return took, failed
	case <-t.late:
	}
	select {
	case <-written:
		return took, failed
	case <-time.After(signals.Graceful):
		return 0, fmt.Errorf("%w; %w", t.why(), errUnread)
	}
}

// unreadEnd is how a run ends with an errUnread; kept is that there is a checkpoint.
func unreadEnd(err error, kept bool) error {
	if kept {
		err = fmt.Errorf("%w: the next run prints again what is not there in whole", err)
	}
	return exit.Failed(err)
}
