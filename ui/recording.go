package ui

import (
	"context"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/discovery"
	"github.com/listwatch/listwatch/internal/printable"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// now is the time of what is shown, in milliseconds since 1970: that of a recording is as
// far as it was read.
func (u *UI) now() int64 {
	if u.recorded {
		return u.played.Load()
	}
	return now()
}

// play reads a recording.
func (u *UI) play(ctx context.Context) {
	for e, err := range u.o.Recording {
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			u.setFailure("the recording ends early: " + printable.Line(err.Error()))
			break
		}
		u.played.Store(max(u.played.Load(), e.At.UnixMilli()))
		k := u.recordedKind(e.Resource)
		k.mu.Lock()
		if k.since == 0 {
			k.since = u.now()
			k.columns = []column{{Name: "Name"}, {Name: "Status"}, {Name: "Age", Age: true}}
		}
		k.mu.Unlock()
		var bad error
		if e.Event.Object.IsZero() && (e.Event.Type == watch.Added || e.Event.Type == watch.Modified || e.Event.Type == watch.Deleted) {
			bad = &codec.ItemError{Identity: codec.Identity{Namespace: e.Event.Key.Namespace, Name: e.Event.Key.Name, UID: e.Event.UID}, Err: errUnrecorded}
		}
		if err := k.take(e.Event, bad); err != nil {
			u.setFailure(printable.Line(err.Error()))
			break
		}
	}
}

// recordedKind returns the type of a stream.
func (u *UI) recordedKind(r kube.Resource) *kind {
	u.mu.Lock()
	defer u.mu.Unlock()
	k := u.kinds[r.GroupResource()]
	if k == nil {
		k = newKind(u, discovery.Resource{Resource: r, Preferred: true})
		u.kinds[k.id] = k
	}
	return k
}

// watched reports whether the objects of the type are as the server has them, or the
// recording. Holds k.mu.
func (k *kind) watched() bool { return k.stop != nil || k.u.recorded }
