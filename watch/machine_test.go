package watch

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

func testProtocol(initial Initial) protocol {
	return protocol{Options{Initial: initial}.defaults(), func() float64 { return 0 }}
}

var (
	errCut       = io.ErrUnexpectedEOF
	gone         = &kube.Status{Code: 410, Reason: "Expired"}
	unavailable  = &kube.Status{Code: 503}
	throttled    = &kube.Status{Code: 429, RetryAfter: 7 * time.Second}
	forever      = &kube.Status{Code: 429, RetryAfter: 1000 * time.Hour}
	invalid      = &kube.Status{Code: 422, Reason: "Invalid"}
	forbidden    = &kube.Status{Code: 403, Reason: "Forbidden"}
	unauthorized = &kube.Status{Code: 401, Reason: "Unauthorized"}
	notFound     = &kube.Status{Code: 404, Reason: "NotFound"}
	unsafeDelete = &kube.Status{Code: 500, Reason: "StorageReadError"}
	internal     = &kube.Status{Code: 500, Reason: "InternalError"}
	tooLarge     = &kube.Status{Code: 504, Reason: "Timeout", Message: "Too large resource version: 9, current: 5"}
	garbage      = &codec.SyntaxError{}
)

// withToken is a 410 between pages, with a token to continue.
func withToken(token string) error {
	return &kube.Status{Code: 410, Reason: "Expired", Metadata: kube.StatusMeta{Continue: token}}
}

// next is what a test looks at of a state.
type next struct {
	Op       Op
	From     kube.Revision
	Wait     time.Duration
	Relist   bool // a cause is set
	Ends     bool // an error is set
	Unusable bool // the answer was
	Unpaged  bool
	First    bool // of a list
	NoShard  bool
}

func (s state) next() next {
	return next{s.op, s.from, s.wait, s.cause != nil, s.err != nil, s.unusable != nil, s.cur.Unpaged, s.op == OpList && s.cur.First(), s.noShard}
}

const ms = time.Millisecond

func TestMachine(t *testing.T) {
	midList := func() state {
		s := state{op: OpList}
		s.cur.Page(codec.ListMeta{ResourceVersion: "5", Continue: "tok"}, 1)
		return s
	}()
	listing := state{op: OpList}
	streaming := state{op: OpStream}
	watching := state{op: OpWatch, from: "5", settled: true}
	given := state{op: OpWatch, from: "5"}
	probing := state{op: OpProbe, from: "5", settled: true}
	further := state{op: OpProbe, from: "5", seen: "9"}
	unread := state{op: OpProbe, seen: "9"}
	with := func(s state, f func(*state)) state { f(&s); return s }
	between := with(midList, func(s *state) { s.op, s.seen = OpProbe, "5" })

	late := &kube.Status{Code: 504}

	tests := []struct {
		name string
		mode Initial
		s    state
		o    outcome
		want next
	}{
		// A page of a list.
		{"list: a page with a token goes on", Paged, listing, outcome{meta: codec.ListMeta{ResourceVersion: "5", Continue: "t"}}, next{Op: OpList}},
		{"list: the last page is watched from the first page's revision", Paged, midList, outcome{meta: codec.ListMeta{ResourceVersion: "9"}}, next{Op: OpWatch, From: "5"}},
		{"list: without a revision there is nothing to watch from", Paged, listing, outcome{}, next{Op: OpList, Wait: 800 * ms, Relist: true, First: true, Unusable: true}},
		{"list: what was wrong with the list before is over", Paged, with(listing, func(s *state) { s.unusable = errNoRevision }), outcome{meta: codec.ListMeta{ResourceVersion: "5"}}, next{Op: OpWatch, From: "5"}},
		{"list: the token of the page before begins again", Paged, midList, outcome{meta: codec.ListMeta{ResourceVersion: "5", Continue: "tok"}, events: 1}, next{Op: OpList, Wait: 800 * ms, Relist: true, First: true, Unusable: true}},
		{"list: a page is paused for once there were many", Paged, with(midList, func(s *state) { s.debt = maxDebt }), outcome{meta: codec.ListMeta{ResourceVersion: "5", Continue: "t"}, events: 1}, next{Op: OpList, Wait: 800 * ms, Unusable: true}},
		{"list: 410 with a token goes on with it", Paged, midList, outcome{err: withToken("t2")}, next{Op: OpList}},
		{"list: 410 with the same token restarts", Paged, midList, outcome{err: withToken("tok")}, next{Op: OpList, Wait: 800 * ms, Unpaged: true, First: true}},
		{"list: 410 without a token restarts in one page", Paged, midList, outcome{err: gone}, next{Op: OpList, Wait: 800 * ms, Unpaged: true, First: true}},
		{"list: 410 on the first page", Paged, listing, outcome{err: gone}, next{Op: OpList, Wait: 800 * ms, Unpaged: true, First: true}},
		{"list: a broken page is asked for again", Paged, midList, outcome{err: errCut, opened: true}, next{Op: OpList, Wait: 800 * ms}},
		{"list: refused", Paged, listing, outcome{err: errors.New("connection refused")}, next{Op: OpList, Wait: 800 * ms, First: true}},
		{"list: 503", Paged, midList, outcome{err: unavailable}, next{Op: OpList, Wait: 800 * ms}},
		{"list: 429 with Retry-After", Paged, midList, outcome{err: throttled}, next{Op: OpList, Wait: 7 * time.Second}},
		{"list: 403 is asked again", Paged, listing, outcome{err: forbidden}, next{Op: OpList, Wait: 800 * ms, First: true}},
		{"list: 401 is asked again", Paged, listing, outcome{err: unauthorized}, next{Op: OpList, Wait: 800 * ms, First: true}},
		{"list: 404 is asked again", Paged, listing, outcome{err: notFound}, next{Op: OpList, Wait: 800 * ms, First: true}},
		{"list: 504 too large is asked again", Paged, listing, outcome{err: tooLarge}, next{Op: OpList, Wait: 800 * ms, First: true}},
		{"list: invalid is the end", Paged, listing, outcome{err: invalid}, next{Op: OpNone, Ends: true, First: false}},
		{"list: invalid after something was synced passes", Paged, with(listing, func(s *state) { s.settled = true }), outcome{err: invalid}, next{Op: OpList, First: true, Wait: 800 * ms}},
		{"list: an invalid token begins again", Paged, midList, outcome{err: invalid}, next{Op: OpList, Wait: 800 * ms, First: true}},
		{"list: a token of a revision that the server does not have is probed", Paged, midList, outcome{err: tooLarge}, next{Op: OpProbe, Wait: 800 * ms}},

		// An initial stream, before its mark.
		{"stream: invalid falls back at once", Auto, streaming, outcome{err: invalid}, next{Op: OpList, First: true}},
		{"stream: no mark falls back at once", Auto, streaming, outcome{err: errNoMark, opened: true, events: 9}, next{Op: OpList, First: true}},
		{"stream: closed before the mark is streamed again", Auto, streaming, outcome{opened: true}, next{Op: OpStream, Wait: 800 * ms}},
		{"stream: closed before the mark for the third time falls back", Auto, with(streaming, func(s *state) { s.unended = 2 }), outcome{opened: true}, next{Op: OpList, Wait: 800 * ms, First: true}},
		{"stream: cut before the mark for the third time falls back", Auto, with(streaming, func(s *state) { s.unended = 2 }), outcome{err: errCut, opened: true}, next{Op: OpList, Wait: 800 * ms, First: true}},
		{"stream: refused connections are no reason to fall back", Auto, with(streaming, func(s *state) { s.unended = 2 }), outcome{err: errCut}, next{Op: OpStream, Wait: 800 * ms}},
		{"stream: one that a proxy held back falls back", Auto, streaming, outcome{err: unavailable, lasted: time.Minute}, next{Op: OpList, Wait: 800 * ms, First: true}},
		{"stream: one that was refused for a short time is asked again", Auto, streaming, outcome{err: unavailable, lasted: 6 * time.Second}, next{Op: OpStream, Wait: 800 * ms}},
		{"stream: 403 is asked again", Auto, streaming, outcome{err: forbidden}, next{Op: OpStream, Wait: 800 * ms}},
		{"stream: 404 is asked again", Auto, streaming, outcome{err: notFound}, next{Op: OpStream, Wait: 800 * ms}},
		{"stream: 429 with Retry-After", Auto, streaming, outcome{err: throttled}, next{Op: OpStream, Wait: 7 * time.Second}},
		{"stream: an explicit stream never falls back", Stream, streaming, outcome{err: errNoMark, opened: true}, next{Op: OpStream, Wait: 800 * ms}},
		{"stream: an explicit stream that is invalid is the end", Stream, streaming, outcome{err: invalid}, next{Op: OpNone, Ends: true}},
		{"stream: after the mark it is a watch, and its end routine", Auto, streaming, outcome{opened: true, synced: "7", events: 3, revision: "8"}, next{Op: OpWatch, From: "8"}},
		{"stream: after the mark a cut resumes", Auto, streaming, outcome{err: errCut, opened: true, synced: "8", revision: "8"}, next{Op: OpWatch, From: "8", Wait: 800 * ms}},
		{"stream: after the mark failures are counted from 0, as after a list", Auto, with(streaming, func(s *state) { s.failures = 6 }), outcome{err: errCut, opened: true, synced: "8", revision: "8"}, next{Op: OpWatch, From: "8", Wait: 800 * ms}},
		{"stream: after the mark silence is probed", Auto, streaming, outcome{err: client.ErrIdle, opened: true, synced: "8", revision: "8"}, next{Op: OpProbe, From: "8"}},

		// A watch.
		{"watch: a routine end after events resumes at once", Auto, watching, outcome{opened: true, events: 1, revision: "7"}, next{Op: OpWatch, From: "7"}},
		{"watch: a routine end after a long quiet life resumes at once", Auto, watching, outcome{opened: true, lasted: time.Minute, asked: time.Minute}, next{Op: OpWatch, From: "5"}},
		{"watch: after an early end the server may be restored", Auto, watching, outcome{opened: true, frames: 1, lasted: time.Minute, asked: 5 * time.Minute}, next{Op: OpProbe, From: "5"}},
		{"watch: after a late one, too", Auto, watching, outcome{opened: true, frames: 1, lasted: 2 * time.Minute, asked: time.Minute}, next{Op: OpProbe, From: "5"}},
		{"watch: but not twice within 30 seconds", Auto, watching, outcome{opened: true, frames: 1, lasted: 20 * time.Second, asked: time.Minute}, next{Op: OpWatch, From: "5"}},
		{"watch: and less often where watches are cut", Auto, with(watching, func(s *state) { s.probes = 2 }), outcome{opened: true, frames: 1, lasted: 110 * time.Second, asked: 5 * time.Minute}, next{Op: OpWatch, From: "5"}},
		{"watch: but after Idle", Auto, with(watching, func(s *state) { s.probes, s.unprobed = 9, 2*time.Minute }), outcome{opened: true, frames: 1, lasted: time.Minute, asked: 5 * time.Minute}, next{Op: OpProbe, From: "5"}},
		{"watch: also if shorter ones end as asked", Auto, with(watching, func(s *state) { s.probes, s.shortened, s.unprobed = 3, 2, time.Minute }), outcome{opened: true, frames: 1, lasted: 15 * time.Second, asked: 15 * time.Second}, next{Op: OpWatch, From: "5"}},
		{"watch: between probes without an answer", Auto, with(watching, func(s *state) { s.failedProbes = 3 }), outcome{opened: true, lasted: 30 * time.Second, asked: 30 * time.Second}, next{Op: OpProbe, From: "5"}},
		{"watch: a routine end after events is paused for once there were many", Auto, with(watching, func(s *state) { s.debt = maxDebt }), outcome{opened: true, events: 1, revision: "7"}, next{Op: OpWatch, From: "7", Wait: 800 * ms, Unusable: true}},
		{"watch: 410 after events is paused for once there were many", Paged, with(watching, func(s *state) { s.debt = maxDebt }), outcome{err: gone, opened: true, events: 1, revision: "7"}, next{Op: OpList, Wait: 800 * ms, Relist: true, First: true}},
		{"watch: an event that is not new is no progress", Auto, watching, outcome{opened: true, events: 1, revision: "5"}, next{Op: OpWatch, From: "5", Wait: 800 * ms}},
		{"watch: an end at once is paused for", Auto, watching, outcome{opened: true}, next{Op: OpWatch, From: "5", Wait: 800 * ms}},
		{"watch: again and again, longer", Auto, with(watching, func(s *state) { s.failures = 3 }), outcome{opened: true}, next{Op: OpWatch, From: "5", Wait: 6400 * ms}},
		{"watch: but never longer than the cap", Auto, with(watching, func(s *state) { s.failures = 300 }), outcome{opened: true, frames: 1}, next{Op: OpWatch, From: "5", Wait: 30 * time.Second}},
		{"watch: ends at once are probed after a time", Auto, with(watching, func(s *state) { s.silence = 3 * time.Minute }), outcome{opened: true}, next{Op: OpProbe, From: "5", Wait: 800 * ms}},
		{"watch: cuts are probed after a time", Auto, with(watching, func(s *state) { s.silence, s.quiet = 2*time.Minute, 2*time.Minute }), outcome{opened: true, lasted: time.Minute, asked: 5 * time.Minute}, next{Op: OpProbe, From: "5"}},
		{"watch: those that end as asked are probed after a time", Auto, with(watching, func(s *state) { s.silence = 2 * time.Minute }), outcome{opened: true, lasted: time.Minute, asked: time.Minute}, next{Op: OpProbe, From: "5"}},
		{"watch: one that a proxy held back is paused for", Auto, watching, outcome{err: late, lasted: time.Minute}, next{Op: OpWatch, From: "5", Wait: 800 * ms}},
		{"watch: those that a proxy held back are probed after a time", Auto, with(watching, func(s *state) { s.silence = 2 * time.Minute }), outcome{err: late, lasted: time.Minute}, next{Op: OpProbe, From: "5", Wait: 800 * ms}},
		{"watch: a cut resumes from the last event", Auto, with(watching, func(s *state) { s.failures = 3 }), outcome{err: errCut, opened: true, events: 2, revision: "9"}, next{Op: OpWatch, From: "9", Wait: 800 * ms}},
		{"watch: a server that cannot be reached may be restored", Auto, with(watching, func(s *state) { s.failures = 1 }), outcome{err: errCut}, next{Op: OpProbe, From: "5", Wait: 1600 * ms}},
		{"watch: 410 streams again at once", Auto, watching, outcome{err: gone}, next{Op: OpStream, Relist: true}},
		{"watch: 410 lists again at once where streaming does not work", Auto, with(watching, func(s *state) { s.noStream = true }), outcome{err: gone}, next{Op: OpList, Relist: true, First: true}},
		{"watch: 410 straight after a relist is paused for", Paged, with(watching, func(s *state) { s.relists = 1 }), outcome{err: gone}, next{Op: OpList, Relist: true, First: true, Wait: 1600 * ms}},
		{"watch: 410 after an inconsistent list lists in one page", Paged, with(watching, func(s *state) { s.unpaged = true }), outcome{err: gone}, next{Op: OpList, Relist: true, First: true, Unpaged: true}},
		{"watch: 410 after an event is no reason to pause", Paged, with(watching, func(s *state) { s.relists = 1 }), outcome{err: gone, opened: true, events: 1, revision: "9"}, next{Op: OpList, Relist: true, First: true}},
		{"watch: 410 after an event lists in pages", Paged, with(watching, func(s *state) { s.unpaged = true }), outcome{err: gone, opened: true, events: 1, revision: "9"}, next{Op: OpList, Relist: true, First: true}},
		{"watch: an object that was deleted unsafely means relist", Paged, watching, outcome{err: unsafeDelete, opened: true}, next{Op: OpList, Relist: true, First: true}},
		{"watch: 429 keeps the revision", Auto, watching, outcome{err: throttled}, next{Op: OpWatch, From: "5", Wait: 7 * time.Second}},
		{"watch: an absurd Retry-After is capped", Auto, watching, outcome{err: forever}, next{Op: OpWatch, From: "5", Wait: 2 * time.Minute}},
		{"watch: 503", Auto, watching, outcome{err: unavailable}, next{Op: OpProbe, From: "5", Wait: 800 * ms}},
		{"watch: ERROR 500 is resumed", Auto, watching, outcome{err: internal, opened: true}, next{Op: OpWatch, From: "5", Wait: 800 * ms}},
		{"watch: ERROR 500 for the third time lists", Paged, with(watching, func(s *state) { s.garbled = 2 }), outcome{err: internal, opened: true}, next{Op: OpList, Relist: true, First: true, Wait: 800 * ms}},
		{"watch: garbage is resumed", Auto, watching, outcome{err: garbage, opened: true}, next{Op: OpWatch, From: "5", Wait: 800 * ms}},
		{"watch: garbage for the third time lists", Paged, with(watching, func(s *state) { s.garbled = 2 }), outcome{err: garbage, opened: true}, next{Op: OpList, Relist: true, First: true, Wait: 800 * ms}},
		{"watch: garbage after progress counts again", Paged, with(watching, func(s *state) { s.garbled = 2 }), outcome{err: garbage, opened: true, events: 1, revision: "6"}, next{Op: OpWatch, From: "6", Wait: 800 * ms}},
		{"watch: an unknown event is garbage", Paged, with(watching, func(s *state) { s.garbled = 2 }), outcome{err: errBadEvent, opened: true}, next{Op: OpList, Relist: true, First: true, Wait: 800 * ms}},
		{"watch: a frame above the limit lists", Paged, watching, outcome{err: codec.ErrTooLarge, opened: true}, next{Op: OpList, Relist: true, First: true, Wait: 800 * ms}},
		{"watch: silence is probed at once", Auto, watching, outcome{err: client.ErrIdle, opened: true}, next{Op: OpProbe, From: "5"}},
		{"watch: silence before the answer is a failure like others", Auto, watching, outcome{err: client.ErrIdle}, next{Op: OpProbe, From: "5", Wait: 800 * ms}},
		{"watch: a revision too large is probed", Auto, watching, outcome{err: tooLarge}, next{Op: OpProbe, From: "5", Wait: 800 * ms}},
		{"watch: 404 waits for the return", Auto, watching, outcome{err: notFound}, next{Op: OpWatch, From: "5", Wait: 800 * ms}},
		{"watch: 401 keeps the revision", Auto, watching, outcome{err: unauthorized}, next{Op: OpWatch, From: "5", Wait: 800 * ms}},
		{"watch: 403 keeps the revision", Auto, watching, outcome{err: forbidden}, next{Op: OpWatch, From: "5", Wait: 800 * ms}},
		{"stream: the same after something was synced passes", Stream, with(streaming, func(s *state) { s.settled = true }), outcome{err: invalid}, next{Op: OpStream, Wait: 800 * ms}},
		{"watch: a given revision that is invalid is the end", Auto, given, outcome{err: invalid}, next{Op: OpNone, From: "5", Ends: true}},
		{"watch: a revision of the server's own that is invalid lists", Paged, watching, outcome{err: invalid}, next{Op: OpList, Relist: true, First: true, Wait: 800 * ms}},
		{"watch: a given revision that is gone lists", Paged, given, outcome{err: gone, opened: true}, next{Op: OpList, Relist: true, First: true}},

		// A probe.
		{"probe: the server is further: resume", Auto, probing, outcome{meta: codec.ListMeta{ResourceVersion: "7"}}, next{Op: OpWatch, From: "5"}},
		{"probe: the server is where we are: resume", Auto, probing, outcome{meta: codec.ListMeta{ResourceVersion: "5"}}, next{Op: OpWatch, From: "5"}},
		{"probe: the server is behind us: relist", Auto, probing, outcome{meta: codec.ListMeta{ResourceVersion: "4"}}, next{Op: OpStream, Relist: true}},
		{"probe: revisions that cannot be compared: resume", Auto, probing, outcome{meta: codec.ListMeta{ResourceVersion: "x"}}, next{Op: OpWatch, From: "5"}},
		{"probe: the server is where it was seen: resume", Auto, further, outcome{meta: codec.ListMeta{ResourceVersion: "9"}}, next{Op: OpWatch, From: "5"}},
		{"probe: the server is behind where it was seen: relist", Auto, further, outcome{meta: codec.ListMeta{ResourceVersion: "8"}}, next{Op: OpStream, Relist: true}},
		{"probe: failed, and it must be known: again", Auto, further, outcome{err: errCut}, next{Op: OpProbe, From: "5", Wait: 800 * ms}},
		{"probe: the server is where it was seen, and there is nothing to resume: list", Auto, unread, outcome{meta: codec.ListMeta{ResourceVersion: "9"}}, next{Op: OpStream}},
		{"probe: the server is behind, and there is nothing to resume: relist", Auto, unread, outcome{meta: codec.ListMeta{ResourceVersion: "8"}}, next{Op: OpStream, Relist: true}},
		{"probe: forbidden, and there is nothing to resume: list", Paged, unread, outcome{err: forbidden}, next{Op: OpList, Wait: 800 * ms, First: true}},
		{"probe: failed, and there is nothing to resume: again", Auto, unread, outcome{err: errCut}, next{Op: OpProbe, Wait: 800 * ms}},
		{"probe: a replica lagged: the same page again", Paged, between, outcome{meta: codec.ListMeta{ResourceVersion: "5"}}, next{Op: OpList}},
		{"probe: between pages, long after quiet watches", Paged, with(between, func(s *state) { s.quiet, s.shortened = 5*time.Minute, 2 }), outcome{meta: codec.ListMeta{ResourceVersion: "9"}}, next{Op: OpList}},
		{"probe: between pages, restored", Paged, between, outcome{meta: codec.ListMeta{ResourceVersion: "4"}}, next{Op: OpList, Relist: true, First: true}},
		{"probe: between pages, fails", Paged, between, outcome{err: unavailable}, next{Op: OpProbe, Wait: 800 * ms}},
		{"probe: between pages, refused", Paged, between, outcome{err: forbidden}, next{Op: OpList, Wait: 800 * ms}},
		{"probe: the request is invalid: the next one finds out", Auto, further, outcome{err: invalid}, next{Op: OpWatch, From: "5", Wait: 800 * ms}},
		{"probe: an answer of a proxy: resume", Auto, probing, outcome{err: unavailable}, next{Op: OpWatch, From: "5", Wait: 800 * ms}},
		{"probe: refused: resume", Auto, probing, outcome{err: internal}, next{Op: OpWatch, From: "5", Wait: 800 * ms}},
		{"probe: an answer that cannot be read: resume", Auto, probing, outcome{err: &codec.SyntaxError{}}, next{Op: OpWatch, From: "5", Wait: 800 * ms}},
		{"probe: after an outage watches are not taken for mute", Auto, with(probing, func(s *state) { s.silence, s.quiet, s.wait, s.shortened = time.Hour, 0, time.Hour, 2 }), outcome{meta: codec.ListMeta{ResourceVersion: "9"}}, next{Op: OpWatch, From: "5"}},
		{"probe: without an answer for the fifth time: a watch", Auto, with(probing, func(s *state) { s.failedProbes = 4 }), outcome{err: errCut}, next{Op: OpWatch, From: "5", Wait: 800 * ms}},
		{"probe: without a connection: again", Auto, with(probing, func(s *state) { s.failedProbes = 4 }), outcome{err: &net.OpError{Op: "dial", Err: errCut}}, next{Op: OpProbe, From: "5", Wait: 800 * ms}},
		{"probe: not reached: again", Auto, probing, outcome{err: errCut}, next{Op: OpProbe, From: "5", Wait: 800 * ms}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := testProtocol(tt.mode).step(tt.s, tt.o).next()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMachineStarts(t *testing.T) {
	tests := []struct {
		name string
		opts Options
		want next
	}{
		{"by a stream", Options{}, next{Op: OpStream}},
		{"by a list", Options{Initial: Paged}, next{Op: OpList, First: true}},
		{"from a revision", Options{Revision: "7"}, next{Op: OpWatch, From: "7"}},
	}
	for _, tt := range tests {
		p := protocol{tt.opts.defaults(), func() float64 { return 0 }}
		if diff := cmp.Diff(tt.want, p.start(memory{}).next()); diff != "" {
			t.Errorf("starts %s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestMachineBacksOff walks through an outage: 0.8 s doubling to 30 s, and not
// reset by time, by an answer, or by a list that is followed by no watch.
func TestMachineBacksOff(t *testing.T) {
	p := testProtocol(Auto)
	s := state{op: OpWatch, from: "5"}
	var got []time.Duration
	for range 8 {
		s = p.step(s, outcome{err: unavailable, opened: true})
		got = append(got, s.wait)
	}
	want := []time.Duration{800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, 12800 * ms, 25600 * ms, 30000 * ms, 30000 * ms}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
}

// TestMachineRemembersAnInconsistentList: its revision may have expired too, and then the
// history is too short for pages.
func TestMachineRemembersAnInconsistentList(t *testing.T) {
	p := testProtocol(Paged)
	s := state{op: OpList}
	for _, o := range []outcome{
		{events: 1, meta: codec.ListMeta{ResourceVersion: "5", Continue: "t1"}},
		{err: withToken("t2")},
		{events: 1, meta: codec.ListMeta{ResourceVersion: "9"}},
		{err: gone},
	} {
		s = p.step(s, o)
	}
	if diff := cmp.Diff(next{Op: OpList, Relist: true, First: true, Unpaged: true}, s.next()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMachineRemembersARestore: a list of the restored server that cannot be used changes
// nothing about that.
func TestMachineRemembersARestore(t *testing.T) {
	p := testProtocol(Paged)
	s := p.step(state{op: OpProbe, from: "5", settled: true}, outcome{meta: codec.ListMeta{ResourceVersion: "4"}})
	if s = p.step(s, outcome{}); !errors.Is(s.cause, ErrAhead) || !errors.Is(s.unusable, errNoRevision) {
		t.Errorf("lists again because of %v; the list was unusable: %v", s.cause, s.unusable)
	}
	if s = p.step(s, outcome{meta: codec.ListMeta{ResourceVersion: "4"}}); s.cause != nil {
		t.Errorf("after a list: %v", s.cause)
	}
}

// TestMachineTakesTheEndThatItAskedForForRoutine: a server that holds a quiet watch for as
// long as Timeout asks has not failed. One that ends it sooner has.
func TestMachineTakesTheEndThatItAskedForForRoutine(t *testing.T) {
	p := protocol{Options{Timeout: time.Second}.defaults(), func() float64 { return 0 }}
	s := state{op: OpWatch, from: "5", settled: true}
	for n := range 60 {
		if s = p.step(s, outcome{opened: true, lasted: 999 * ms}); s.wait != 0 || s.failures != 0 {
			t.Fatalf("watch %d: waits %v after %d failures", n, s.wait, s.failures)
		}
	}
	if s = p.step(s, outcome{opened: true, lasted: 400 * ms}); s.wait != 800*ms {
		t.Errorf("a short watch: waits %v", s.wait)
	}
	if s = p.step(s, outcome{opened: true, lasted: 999 * ms, err: errCut}); s.wait != 1600*ms {
		t.Errorf("a watch that broke: waits %v", s.wait)
	}
}

// TestMachineComesBackSoon: after an outage a server that sheds load is asked again
// when it says, and not after the pauses of the outage; they grow from there.
func TestMachineComesBackSoon(t *testing.T) {
	p := testProtocol(Auto)
	s := state{op: OpWatch, from: "5", settled: true}
	for range 8 {
		s = p.step(s, outcome{err: errCut})
	}
	later := func(after time.Duration) error {
		return &kube.Status{Code: 429, Reason: "TooManyRequests", RetryAfter: after}
	}
	var got []time.Duration
	for _, err := range []error{later(time.Second), later(time.Second), later(time.Second), later(10 * time.Second), errCut, unavailable, later(0)} {
		s = p.step(s, outcome{err: err})
		got = append(got, s.wait)
	}
	want := []time.Duration{time.Second, 1600 * ms, 3200 * ms, 10 * time.Second, 12800 * ms, 25600 * ms, 30000 * ms}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
}

// TestMachineBacksOffFromListsWithoutRevision: a page that was read is no progress
// while there is nothing to watch from.
func TestMachineBacksOffFromListsWithoutRevision(t *testing.T) {
	p := testProtocol(Paged)
	s := p.start(memory{})
	var got []time.Duration
	for range 4 {
		s = p.step(s, outcome{meta: codec.ListMeta{Continue: "t"}})
		s = p.step(s, outcome{})
		got = append(got, s.wait)
	}
	want := []time.Duration{800 * ms, 1600 * ms, 3200 * ms, 6400 * ms}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
}

// TestMachineNeverSpins: a server that accepts a list and then refuses the watch, for
// ever, is asked more and more slowly.
func TestMachineNeverSpins(t *testing.T) {
	for _, refusal := range []outcome{
		{err: gone},
		{err: invalid},
		{err: &kube.Status{Code: 405, Reason: "MethodNotAllowed"}},
		{err: codec.ErrTooLarge, opened: true},
		{err: garbage, opened: true},
		{err: internal, opened: true},
		{opened: true},
	} {
		p := testProtocol(Paged)
		s := p.start(memory{})
		var paused time.Duration
		for lists := 0; lists < 10; {
			switch s.op {
			case OpList:
				lists++
				s = p.step(s, outcome{meta: codec.ListMeta{ResourceVersion: "5"}, opened: true})
			case OpProbe:
				s = p.step(s, outcome{meta: codec.ListMeta{ResourceVersion: "9"}})
			default:
				s = p.step(s, refusal)
			}
			paused += s.wait
		}
		if paused < 90*time.Second {
			t.Errorf("%v: ten lists paused for %v in all, want more than a minute and a half", refusal.err, paused)
		}
	}
}

// TestMachineIsTotal gives every operation every outcome: there is always a next
// request or an error, and a pause is never endless.
func TestMachineIsTotal(t *testing.T) {
	errs := []error{nil, errCut, gone, withToken("x"), unavailable, throttled, forever, invalid, forbidden, unauthorized,
		notFound, unsafeDelete, internal, tooLarge, garbage, errBadEvent, errNoMark, client.ErrIdle, codec.ErrTooLarge, errors.New("other")}
	for _, mode := range []Initial{Auto, Paged, Stream} {
		p := testProtocol(mode)
		for _, op := range []Op{OpList, OpStream, OpWatch, OpProbe} {
			for _, err := range errs {
				for bits := range 1 << 5 {
					s := state{op: op, from: "5", noStream: bits&1 != 0, settled: bits&2 != 0, failures: bits, relists: bits, garbled: bits, unended: bits}
					if op == OpList || op == OpStream {
						s.from = ""
					}
					o := outcome{err: err, opened: bits&4 != 0, revision: s.from}
					if op == OpStream && bits&8 != 0 {
						o.synced, o.revision = "6", "6"
					}
					if bits&16 != 0 {
						o.revision, o.events = "6", 1
					}
					n := p.step(s, o)
					switch {
					case n.op == OpNone && n.err == nil:
						t.Errorf("%s %v %05b: over without an error", op, err, bits)
					case n.op == OpNone && s.settled:
						t.Errorf("%s %v %05b: over after something was synced", op, err, bits)
					case n.wait < 0 || n.wait > maxRetryAfter+time.Minute:
						t.Errorf("%s %v %05b: waits %v", op, err, bits, n.wait)
					case (n.op == OpWatch || n.op == OpProbe) && n.from == "" && !(op == OpList && err == nil):
						t.Errorf("%s %v %05b: %s from nowhere", op, err, bits, n.op)
					case (n.op == OpList || n.op == OpStream) && n.from != "":
						t.Errorf("%s %v %05b: %s from %s", op, err, bits, n.op, n.from)
					}
				}
			}
		}
	}
}
