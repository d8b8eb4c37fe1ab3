package watch

import (
	"net/url"
	"strconv"
	"time"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
)

// Options say what is watched and how. The zero value watches everything and is
// the recommended setting.
type Options struct {
	Labels kube.Selector
	Fields kube.FieldSelector

	// Shard, if it is not everything, is the part of the collection that is watched. It is
	// sent as shardSelector (KEP-5866, feature gate ShardedListAndWatch of kube-apiserver),
	// so that other objects are not sent at all. A server that answers it with 400 or 500
	// is asked without it from then on, and one that does not know it sends all: events of
	// other objects are always left out before their objects are decoded. Deletions and
	// bookmarks come as without a shard.
	Shard kube.Shard

	// Initial chooses how the collection is told at first.
	Initial Initial

	// Revision, if set, resumes from there instead: no RESTART and no SYNCED,
	// unless the server no longer has that history.
	Revision kube.Revision

	// Seen is a revision that was seen of the same server, Revision itself or a later
	// one; Revision may be empty. A server that is behind it was restored to an earlier
	// state: the collection is delivered again, and the Cause of RESTART is ErrAhead.
	// Asking costs one request, a list of one object.
	Seen kube.Revision

	// Limit is the most objects in a page of a list; 0 = 500, negative = no pages.
	Limit int

	// MaxItem is the largest object taken, in bytes; 0 = codec.DefaultMaxFrame.
	MaxItem int

	// Timeout is how long the server is asked to keep a watch open, at least;
	// each request asks for a random time between Timeout and twice that, so
	// that a fleet does not reconnect as one. Default 5 minutes.
	Timeout time.Duration

	// Idle is the longest silence on a watch, bookmarks included, that a
	// server sends about every minute. After it the connection is dropped and
	// the server asked whether it is still where we think. Default 3 minutes.
	Idle time.Duration

	// MarkerTimeout is how long to wait for the mark that ends the initial objects
	// of a stream, counted from the last object that is certainly one of them: its
	// revision is older than that of an object before it. Some proxies and servers
	// never send the mark. After it, and for good, lists are used. Default 15
	// seconds.
	MarkerTimeout time.Duration

	// Backoff is the pause before the first retry in a row, doubled for each
	// further one up to BackoffMax; each pause is lengthened by a random part
	// of itself. Defaults 800 ms and 30 s.
	Backoff    time.Duration
	BackoffMax time.Duration

	Trace Trace
}

// Initial is a way to learn what exists.
type Initial string

// Values of Initial.
const (
	// Auto streams, and lists in pages where the server does not stream.
	Auto Initial = ""
	// Paged lists in pages, the way of every server.
	Paged Initial = "paged"
	// Stream asks for the objects within the watch (sendInitialEvents,
	// Kubernetes 1.32), which costs the server least; it never falls back.
	Stream Initial = "stream"
)

// Trace is a set of hooks, each of which may be nil. They are called in the
// goroutine of the loop, in order with its events, and should not block.
type Trace struct {
	// Listed is called after each page of a list.
	Listed func(list.Progress)
	// Connected is called when a watch is answered; gap is how long the
	// collection was out of sight, 0 at the first time.
	Connected func(op Op, from kube.Revision, gap time.Duration)
	// Interrupted is called at the end of each request that did not end as
	// planned, and at each end of a watch. Err is nil where the server ended
	// the watch in good order.
	Interrupted func(Interruption)
	// Fallback is called once, when streaming is given up for lists.
	Fallback func(why error)
	// Unsharded is called once, when the server has answered a request without
	// Options.Shard that it refused with it. All objects are sent from then on.
	Unsharded func(why error)
}

func (o Options) defaults() Options {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&o.Timeout, 5*time.Minute)
	set(&o.Idle, 3*time.Minute)
	set(&o.MarkerTimeout, 15*time.Second)
	set(&o.Backoff, 800*time.Millisecond)
	set(&o.BackoffMax, 30*time.Second)
	o.BackoffMax = max(o.BackoffMax, o.Backoff)
	return o
}

func (o Options) list() list.Options {
	return list.Options{Labels: o.Labels, Fields: o.Fields, Shard: o.Shard, Limit: o.Limit, MaxItem: o.MaxItem}
}

// query returns the parameters of a WATCH from rev, or of one that begins with
// the initial objects.
func (o Options) query(rev kube.Revision, initial bool, rnd func() float64) url.Values {
	q := o.list().Query()
	q.Set("watch", "1")
	q.Set("allowWatchBookmarks", "true")
	q.Set("timeoutSeconds", strconv.Itoa(max(1, int(plus(o.Timeout, part(o.Timeout, rnd())).Seconds()))))
	if rev != "" {
		q.Set("resourceVersion", string(rev))
	}
	if initial {
		q.Set("sendInitialEvents", "true")
		q.Set("resourceVersionMatch", "NotOlderThan")
	}
	return q
}
