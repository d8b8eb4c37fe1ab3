package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// wire sends the requests for one Lease. It does not wait for other requests, and no
// request takes longer than patience. It is for one goroutine at a time.
type wire struct {
	client   *client.Client
	key      kube.Key
	patience time.Duration
}

func newWire(c *client.Client, k kube.Key, patience time.Duration) *wire {
	return &wire{client: c.Isolated(), key: k, patience: patience}
}

func (w *wire) close() { w.client.CloseIdleConnections() }

func (w *wire) get(ctx context.Context) (object, error) {
	return w.do(ctx, func(ctx context.Context, leases client.Collection[codec.Raw]) (codec.Raw, error) {
		return leases.Get(ctx, w.key)
	})
}

func (w *wire) create(ctx context.Context, r record, labels map[string]string) (object, error) {
	raw, err := newObject(w.key).with(r, labels)
	if err != nil {
		return object{}, err
	}
	return w.do(ctx, func(ctx context.Context, leases client.Collection[codec.Raw]) (codec.Raw, error) {
		return leases.Create(ctx, raw)
	})
}

// update writes r to the Lease with one request, which fails if the Lease is not o any more.
func (w *wire) update(ctx context.Context, o object, r record, labels map[string]string) (object, error) {
	raw, err := o.with(r, labels)
	if err != nil {
		return object{}, err
	}
	return w.do(ctx, func(ctx context.Context, leases client.Collection[codec.Raw]) (codec.Raw, error) {
		return leases.Update(ctx, raw)
	})
}

func (w *wire) do(ctx context.Context, f func(context.Context, client.Collection[codec.Raw]) (codec.Raw, error)) (object, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.patience, fmt.Errorf("no response within %v", w.patience))
	defer cancel()
	raw, err := f(ctx, client.Of[codec.Raw](w.client, kube.Leases))
	if err != nil {
		if errors.Is(err, kube.ErrUnavailable) {
			w.close() // a new connection may reach another server
		}
		return object{}, err
	}
	return parseObject(raw)
}

// absent reports whether the server says that the Lease does not exist. A proxy, or a
// server that has just started, may answer 404 for other reasons.
func absent(err error, k kube.Key) bool {
	st := (*kube.Status)(nil)
	return errors.As(err, &st) && errors.Is(st, kube.ErrNotFound) && st.Details != nil && st.Details.Name == k.Name
}

// outrun reports whether a write was refused because the Lease has changed.
func outrun(err error, k kube.Key) bool {
	return errors.Is(err, kube.ErrConflict) || absent(err, k)
}
