package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// ErrIdle means that the server was silent for longer than was allowed: a dead
// peer, a stalled proxy, or a watch that has nothing to say and says not even
// that.
var ErrIdle = errors.New("the server was silent for too long")

// watchdog cancels a request that has been waited for too long. It runs only
// while somebody waits: a slow caller is not a silent server.
type watchdog struct {
	cancel context.CancelCauseFunc
	idle   time.Duration
	timer  *time.Timer
	once   sync.Once
	ctx    context.Context // of the request: read for its cause only
}

// newWatchdog returns a context for one request and its watchdog, armed.
func newWatchdog(parent context.Context, idle time.Duration) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(parent)
	w := &watchdog{cancel: cancel, idle: idle, ctx: ctx}
	w.timer = time.AfterFunc(idle, func() { cancel(ErrIdle) })
	return ctx, w
}

func (w *watchdog) arm()    { w.timer.Reset(w.idle) }
func (w *watchdog) disarm() { w.timer.Stop() }

// stop ends the request and frees what it holds.
func (w *watchdog) stop() {
	w.once.Do(func() {
		w.timer.Stop()
		w.cancel(context.Canceled)
	})
}

// explain replaces the error of a cancelled request by what cancelled it.
func (w *watchdog) explain(err error) error {
	cause := context.Cause(w.ctx)
	switch {
	case cause == nil:
		return err
	case errors.Is(cause, ErrIdle):
		return keepProxy(err, fmt.Errorf("%w: nothing for %v", ErrIdle, w.idle))
	}
	return cause
}

// idleBody is the body of an answer under a watchdog.
type idleBody struct {
	rc   io.ReadCloser
	dog  *watchdog
	dead func() // called when the server was silent for too long

	conceal func(error) error
}

func (b *idleBody) Read(p []byte) (int, error) {
	b.dog.arm()
	n, err := b.rc.Read(p)
	b.dog.disarm()
	if err != nil && err != io.EOF {
		if err = b.dog.explain(err); errors.Is(err, ErrIdle) {
			b.dead()
		}
		err = b.conceal(err)
	}
	return n, err
}

func (b *idleBody) Close() error {
	b.dog.stop() // first: closing must not wait for a peer that is dead
	return b.rc.Close()
}
