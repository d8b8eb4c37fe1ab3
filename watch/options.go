package watch

import (
	"net/url"
	"strconv"
	"time"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
)

// Options set how a collection is watched. The zero value watches all objects that the
// collection selects, and is the recommended setting.
type Options struct {
	// Shard, if set, is the part of the collection to watch. It is sent as shardSelector
	// (KEP-5866, feature gate ShardedListAndWatch of kube-apiserver), so that the server
	// does not send other objects. If a server refuses shardSelector (kube.ErrInvalid, or 500),
	// later requests do not have it; a server that does not support it sends all objects.
	// Events of other objects, deletions included, are always dropped before they are
	// decoded. Bookmarks are delivered.
	Shard kube.Shard

	// Initial chooses how the initial objects are requested.
	Initial Initial

	// Revision, if set, is where to resume: there is no RESTART and no SYNCED, unless
	// the watch cannot be resumed there: see Event.Cause.
	Revision kube.Revision

	// Seen is the latest known revision of the same server. If it is lower than Revision, it is not
	// used. If the server's revision is lower than Seen, the server was restored to an earlier
	// state: the collection is delivered again, and the Cause of RESTART is ErrAhead. The check
	// costs one request, a list of one object.
	Seen kube.Revision

	// Limit is the page size of a list; 0 = 500, negative = no pages.
	Limit int

	// MaxItem limits an object in bytes; 0 = codec.DefaultMaxFrame.
	MaxItem int

	// Timeout is the minimum time for which the server is asked to keep a watch open;
	// each request asks for a random time between Timeout and twice that, so that
	// clients do not reconnect at the same time. Default 5 minutes.
	Timeout time.Duration

	// Idle is the longest silence on a watch; a server sends bookmarks about every minute.
	// After Idle the connection is closed and the server's revision is checked by a list
	// of one object. Default 3 minutes.
	//
	// If that revision is lower than the watcher's, the server was restored to an earlier
	// state, and the collection is listed again. The revision is also checked when a server
	// could not be reached, and when a watch ended with an error, or earlier or later than it was
	// asked to. Such an end causes a check at most once in 30 seconds; if such ends are repeated,
	// as behind a proxy, checks become rarer, down to one per Idle. An error response ends the
	// check, and the watch continues. If no connection can be made, the check is repeated. If there
	// is a connection but no response, the check is tried five times, and then once after each
	// watch; these watches are asked to last at most a minute.
	//
	// If the revision is higher and watches deliver nothing, a proxy may hold responses back until
	// their end. The server is then asked to end watches within half of Idle, and later within an
	// eighth, until something arrives on a watch before its end. If nothing arrives on the shortest
	// watches either, the collection is listed after Idle, then after twice Idle, and from then on
	// always after three times Idle.
	Idle time.Duration

	// MarkerTimeout is how long to wait for the bookmark that ends the initial objects of a
	// stream. The time starts again with each ADDED whose revision is lower than that of an earlier
	// ADDED: its object is certainly an initial one. Some proxies and servers never send this
	// bookmark.
	// After the timeout, a watcher with Initial Auto always lists in pages. Default 15 seconds.
	MarkerTimeout time.Duration

	// Backoff is the pause before the first retry. It doubles with each consecutive retry,
	// up to BackoffMax. Each pause is made longer by a random time, at most its own length: a
	// pause is at most twice BackoffMax. Defaults 800 ms and 30 s.
	Backoff    time.Duration
	BackoffMax time.Duration

	Trace Trace
}

// Initial is a way to request the initial objects.
type Initial string

// Values of Initial.
const (
	// Auto streams, and lists in pages if the server does not stream.
	Auto Initial = ""
	// Paged lists in pages, which every server supports.
	Paged Initial = "paged"
	// Stream requests the objects within the watch (sendInitialEvents, Kubernetes 1.32),
	// which costs the server least. A watcher with Stream never lists in pages.
	Stream Initial = "stream"
)

// Trace is a set of hooks, each of which may be nil. They are called in the goroutine
// of the loop, in order with its events, and should not block.
type Trace struct {
	// Listed is called after each page of a list.
	Listed func(list.Progress)
	// Connected is called when a watch is opened; gap is the time since the last one
	// ended, 0 for the first.
	Connected func(op Op, from kube.Revision, gap time.Duration)
	// Interrupted is called at the end of each request that failed, and at each end of
	// a watch, but not when ctx is done or the loop is left. Err is nil if the server ended
	// the watch normally.
	Interrupted func(Interruption)
	// Fallback is called once, when lists replace streaming.
	Fallback func(why error)
	// Unsharded is called once, when a request succeeds without Options.Shard after the
	// server refused it with the shard. From then on the server sends all objects.
	Unsharded func(why error)
	// Ahead is called when the server's revision turns out to be lower than the watcher's,
	// before the collection is requested again. why is the Cause of the RESTART that follows.
	Ahead func(why error)
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
	return list.Options{Shard: o.Shard, Limit: o.Limit, MaxItem: o.MaxItem}
}

// query returns the parameters of a WATCH from rev, or of one that begins with the
// initial objects.
func (o Options) query(rev kube.Revision, initial bool, rnd func() float64) url.Values {
	q := url.Values{}
	if !o.Shard.All() {
		q.Set("shardSelector", o.Shard.String())
	}
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
