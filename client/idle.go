package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// ErrIdle means that the server was silent for too long: a dead peer, a stalled proxy, or
// a watch on which not even bookmarks arrive.
var ErrIdle = errors.New("the server was silent for too long")

// watchdog cancels a request that waits too long for the server. It runs only during a
// read: a slow caller is not a silent server.
type watchdog struct {
	cancel context.CancelCauseFunc
	idle   time.Duration
	timer  *time.Timer
	once   sync.Once
	ctx    context.Context // of the request; only its cause is used
}

// newWatchdog returns a context for one request, and its watchdog, which is running.
func newWatchdog(parent context.Context, idle time.Duration) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(parent)
	w := &watchdog{cancel: cancel, idle: idle, ctx: ctx}
	w.timer = time.AfterFunc(idle, func() { cancel(ErrIdle) })
	return ctx, w
}

func (w *watchdog) arm()    { w.timer.Reset(w.idle) }
func (w *watchdog) disarm() { w.timer.Stop() }

// stop ends the request and releases its resources.
func (w *watchdog) stop() {
	w.once.Do(func() {
		w.timer.Stop()
		w.cancel(context.Canceled)
	})
}

// explain replaces the error of a cancelled request by the cause of the cancellation.
func (w *watchdog) explain(err error) error {
	cause := context.Cause(w.ctx)
	if errors.Is(cause, ErrIdle) {
		return keepProxy(err, fmt.Errorf("%w: nothing for %v", ErrIdle, w.idle))
	}
	return cmp.Or(cause, err)
}

// idleBody is the body of a response with a watchdog.
type idleBody struct {
	rc   io.ReadCloser
	dog  *watchdog
	dead func() // called if the server was silent for too long

	conceal func(error) error
}

func (b *idleBody) Read(p []byte) (int, error) {
	b.dog.arm()
	n, err := b.rc.Read(p)
	b.dog.disarm()
	err = cmp.Or(err, b.dog.ctx.Err()) // 4 MiB may have come, and be 4 GiB when decompressed
	if err != nil && err != io.EOF {
		if err = b.dog.explain(err); errors.Is(err, ErrIdle) {
			b.dead()
		}
		err = b.conceal(err)
	}
	return n, err
}

func (b *idleBody) Close() error {
	b.dog.stop() // first: closing must not wait for a dead peer
	return b.rc.Close()
}
