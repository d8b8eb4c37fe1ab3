package watch_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// TestScenario plays the same story under each fault that a wire, a proxy or a
// server can have: objects exist, the fault strikes, objects change, and in the
// end the store is what the server has, every change of the quiet times was delivered
// exactly once, and nothing was listed again without need.
func TestScenario(t *testing.T) {
	var (
		page    = apitest.Match{Verb: "list", Resource: "configmaps"}
		second  = apitest.Match{Verb: "list", Resource: "configmaps", Query: "continue="}
		opening = apitest.Match{Verb: "watch", Resource: "configmaps"}
		// Streams carry the initial objects; the watches that resume do not.
		initial = apitest.Match{Verb: "watch", Resource: "configmaps", Query: "sendInitialEvents"}
		resume  = apitest.Match{Verb: "watch", Resource: "configmaps", Query: "resourceVersion=1"}
		after   = func(m apitest.Match, n int) apitest.Match { m.AfterEvent = n; return m }
	)
	paged := watch.Options{Initial: watch.Paged, Limit: 1}
	tests := []struct {
		name     string
		match    apitest.Match
		fault    http.HandlerFunc
		times    int
		opts     watch.Options
		server   apitest.Options
		listings int    // that are completed; 0 = 1
		mentions string // in an error that was yielded
		ghost    string // an object that only the fault sends
	}{
		// TCP
		{name: "tcp/reset before the answer to a list", match: page, fault: faults.Reset(), times: 3, opts: paged, mentions: "reset"},
		{name: "tcp/reset on the second page", match: second, fault: faults.Reset(), times: 3, opts: paged, mentions: "reset"},
		{name: "tcp/reset before the answer to a watch", match: opening, fault: faults.Reset(), times: 3},
		{name: "tcp/reset in mid-stream", match: after(opening, 5), fault: faults.Reset(), times: 2, mentions: "reset"},
		{name: "tcp/reset among the initial objects", match: after(initial, 2), fault: faults.Reset(), times: 2, mentions: "reset"},
		{name: "tcp/closed before the answer", match: opening, fault: faults.Hangup(), times: 3},
		{name: "tcp/closed in mid-stream", match: after(opening, 5), fault: faults.Hangup(), times: 2},
		{name: "tcp/closed among the initial objects", match: after(initial, 2), fault: faults.Hangup(), times: 2},
		{name: "tcp/no answer to a list", match: page, fault: faults.Hang(), times: 2, opts: paged, mentions: "silent"},
		{name: "tcp/no answer to a watch", match: resume, fault: faults.Hang(), times: 2, opts: paged, mentions: "silent"},
		{name: "tcp/half-open in mid-stream", match: after(opening, 5), fault: faults.HalfOpen(), times: 1, mentions: "silent"},
		{name: "tcp/half-open in mid-list", match: second, fault: faults.HalfOpen(), times: 1, opts: paged, mentions: "silent"},
		{name: "tcp/one byte at a time", match: opening, fault: faults.Trickle(1, 0)},
		{name: "tcp/a list one byte at a time", match: page, fault: faults.Trickle(1, 0), opts: paged},
		{name: "tcp/a slow line", match: opening, fault: faults.Trickle(100, time.Second)},
		{name: "tcp/late headers", match: opening, fault: faults.Delay(20 * time.Second)},
		{name: "tcp/late events", match: after(opening, 2), fault: faults.Delay(10 * time.Second), times: 4},

		// HTTP
		{name: "http/429 without Retry-After", match: opening, fault: faults.Throttle(""), times: 4, mentions: "429"},
		{name: "http/429 with seconds", match: opening, fault: faults.Throttle("5"), times: 2, mentions: "429"},
		{name: "http/429 with a date", match: opening, fault: faults.Throttle("Sat, 01 Jan 2000 00:00:30 GMT"), times: 2, mentions: "429"},
		{name: "http/429 with an absurd value", match: opening, fault: faults.Throttle("99999999999999999999"), times: 1, mentions: "429"},
		{name: "http/429 with nonsense", match: opening, fault: faults.Throttle("soon"), times: 2, mentions: "429"},
		{name: "http/200 without a body on a list", match: page, fault: faults.EmptyBody(), times: 3, opts: paged},
		{name: "http/429 on a list", match: page, fault: faults.Throttle("1"), times: 3, opts: paged, mentions: "429"},
		{name: "http/500 with HTML", match: opening, fault: faults.HTML(500), times: 3, mentions: "500"},
		{name: "http/502 with HTML", match: page, fault: faults.HTML(502), times: 3, opts: paged, mentions: "502"},
		{name: "http/503 with HTML", match: second, fault: faults.HTML(503), times: 3, opts: paged, mentions: "503"},
		{name: "http/504 with HTML", match: resume, fault: faults.HTML(504), times: 3, mentions: "504", opts: paged},
		{name: "http/200 with HTML", match: opening, fault: faults.HTML(200), times: 2, mentions: "instead of JSON"},
		{name: "http/401 and then well again", match: resume, fault: faults.Answer(apitest.StatusUnauthorized()), times: 2, opts: paged, mentions: "401"},
		{name: "http/403 and then well again", match: resume, fault: faults.Answer(apitest.StatusForbidden("jane", "watch", kube.ConfigMaps, "")), times: 2, opts: paged, mentions: "403"},
		{name: "http/a redirect to another host", match: opening, fault: faults.Redirect(302, "http://other.example.com/"), times: 2, mentions: "redirect"},
		{name: "http/a truncated gzip list", match: page, fault: faults.TruncatedGzip(), times: 2, opts: paged},
		{name: "http/less than the Content-Length", match: page, fault: faults.Truncate(100), times: 2, opts: paged},
		{name: "http/no last chunk of a list", match: page, fault: faults.NoLastChunk(), times: 2, opts: paged},
		{name: "http/no last chunk of a watch", match: resume, fault: faults.NoLastChunk(), times: 2, opts: paged},
		{name: "http/103 before the answer", match: opening, fault: earlyHints},
		{name: "http/a watch in gzip", match: apitest.Match{Verb: "none"}, fault: faults.Hang(), server: apitest.Options{CompressWatch: true}},

		// Frames
		{name: "frame/cut at its first byte", match: after(opening, 5), fault: faults.CutEvent(1), times: 2},
		{name: "frame/cut in the middle", match: after(opening, 5), fault: faults.CutEvent(60), times: 2},
		{name: "frame/cut among the initial objects", match: after(initial, 1), fault: faults.CutEvent(60), times: 2},
		{name: "frame/in chunks of one byte", match: opening, fault: faults.Chop(1)},
		{name: "frame/in chunks of seven bytes", match: opening, fault: faults.Chop(7)},
		{name: "frame/split within runes and escapes", match: opening, fault: faults.SplitRunes()},
		{name: "frame/three in one chunk", match: opening, fault: faults.Coalesce(3)},
		{name: "frame/CRLF and blank lines", match: opening, fault: faults.CRLF()},
		{name: "frame/no newline in between", match: opening, fault: faults.NoNewline()},
		{name: "frame/pretty-printed", match: opening, fault: faults.Pretty()},
		{name: "frame/invalid JSON, once", match: after(opening, 5), fault: faults.InvalidJSON(), times: 1},
		{name: "frame/invalid JSON, again and again", match: after(resume, 1), fault: faults.InvalidJSON(), times: 2, opts: paged},
		{name: "frame/an unknown type", match: after(opening, 5), fault: faults.UnknownType(), times: 1, mentions: "unknown type"},
		{name: "frame/a null object", match: after(opening, 5), fault: faults.NullObject(), times: 1},
		{name: "frame/an object of 1 MiB", match: after(opening, 5), fault: faults.Huge(1 << 20), times: 1, ghost: "huge"},
		{name: "frame/an object above the limit", match: after(resume, 1), fault: faults.Huge(1 << 20), times: 1, opts: watch.Options{Initial: watch.Paged, MaxItem: 1 << 19}, listings: 2},
		{name: "frame/duplicate keys", match: after(opening, 5), fault: faults.DuplicateKeys(), times: 1, ghost: "b"},
		{name: "frame/an object of 20 MiB", match: after(opening, 5), fault: faults.Huge(20 << 20), times: 1, ghost: "huge", opts: watch.Options{MaxItem: 32 << 20}},
		{name: "frame/deeply nested", match: after(opening, 5), fault: faults.Deep(100000), times: 1},
		{name: "frame/sent twice", match: after(opening, 5), fault: faults.Duplicate(), times: 3},

		// Semantics
		{name: "list/metadata after the items", match: page, fault: faults.MetadataLast(), opts: paged},
		{name: "list/an empty page with a token", match: page, fault: faults.EmptyPage(), times: 1, opts: paged},
		{name: "list/the token expires, and the server offers another", match: second, fault: faults.ExpireContinue(), times: 1, opts: paged},
		{name: "list/the token expires for good", match: second, fault: faults.ExpireContinueForGood(), times: 1, opts: paged},
		{name: "list/the token expires every time", match: second, fault: faults.ExpireContinueForGood(), opts: paged},
		{name: "stream/initial events ignored", match: initial, fault: faults.IgnoreInitialEvents()},
		{name: "stream/the mark never comes", match: initial, fault: faults.NoInitialEventsEnd()},
		{name: "stream/rejected as invalid", match: initial, fault: faults.RejectInitialEvents()},
		{name: "watch/ends at once, for a while", match: resume, fault: faults.EndStream(), times: 5, opts: paged},
		{name: "watch/ERROR 500", match: after(opening, 5), fault: faults.ErrorEvent(apitest.StatusInternal("etcd is tired")), times: 2, mentions: "etcd is tired"},
		{name: "watch/ERROR 429", match: after(opening, 5), fault: faults.ErrorEvent(apitest.StatusThrottled(3)), times: 2, mentions: "429"},
		{name: "watch/ERROR 410", match: after(opening, 5), fault: faults.ErrorEvent(apitest.StatusExpired(1, 2)), times: 1, listings: 2},
		{name: "watch/ERROR 504 too large", match: after(opening, 5), fault: faults.ErrorEvent(apitest.StatusTooLarge(9, 8)), times: 1},
		{name: "watch/dropped as too slow", match: apitest.Match{Verb: "none"}, fault: faults.Hang(), server: apitest.Options{WatchBuffer: 1}},
	}
	for _, tls := range []bool{false, true} {
		protocol := map[bool]string{false: "HTTP1", true: "HTTP2"}[tls]
		for _, tt := range tests {
			t.Run(protocol+"/"+strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
				server := tt.server
				server.TLS = tls
				playOn(t, server, tt.opts, func(t *testing.T, s *story) {
					fault := s.srv.On(tt.match, tt.fault)
					if tt.times > 0 {
						fault.Times(tt.times)
					}
					s.start()
					s.pass(5 * time.Minute)
					for i := range 4 {
						s.churn(fmt.Sprint(i))
						s.pass(6 * time.Minute)
					}
					s.srv.CloseWatches() // whatever strikes a reconnect had its chance
					s.churn("last")
					s.pass(10 * time.Minute)
					for _, tag := range []string{"0", "1", "2", "3", "last"} {
						s.toldOnce(tag)
					}
					s.ghost = tt.ghost
					s.equal()
					s.listings(max(1, tt.listings))
					if tt.match.Verb != "none" && fault.Hits() == 0 {
						t.Errorf("the fault never struck; requests:\n%s", s.requests())
					}
					if tt.mentions != "" && !tls && !s.mentioned(tt.mentions) { // HTTP/2 has words of its own
						t.Errorf("no error mentions %q: %v", tt.mentions, s.errs)
					}
				})
			})
		}
	}
}

// earlyHints sends an informational answer before the real one.
func earlyHints(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusEarlyHints)
	apitest.Continue(w, r)
}

// TestScenarioPoison: one object that does not decode is reported and left out,
// in a list as in a watch; everything else goes on.
func TestScenarioPoison(t *testing.T) {
	const poison = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"d","name":"poison","uid":"u","resourceVersion":"105","labels":["no map"]}}`
	for _, mode := range []watch.Initial{watch.Paged, watch.Stream} {
		t.Run("initial="+string(mode), func(t *testing.T) {
			play(t, watch.Options{Initial: mode}, func(t *testing.T, s *story) {
				s.srv.On(apitest.Match{Verb: "watch", AfterEvent: 5}, faults.ReplaceObject(poison)).Times(1)
				s.start()
				s.churn("0")
				s.churn("1")
				s.pass(10 * time.Minute)
				s.equal()
				s.listings(1)
				if !s.mentioned("d/poison") {
					t.Errorf("no error names the object: %v", s.errs)
				}
			})
		})
	}
}

// TestScenarioEverythingAtOnce strikes at random, by a seed that it prints, for
// a day of virtual time.
func TestScenarioEverythingAtOnce(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			play(t, watch.Options{Limit: 2}, func(t *testing.T, s *story) {
				s.start()
				rnd := rand.New(rand.NewPCG(seed, 0))
				strikes := []func(){
					s.srv.CloseWatches, s.srv.CutWatches, s.srv.DropWatches, s.srv.Cut, s.srv.Expire, s.srv.Restart, s.srv.Bookmark,
					func() { s.srv.On(apitest.Match{Verb: "watch"}, faults.HTML(503)).Times(2) },
					func() { s.srv.On(apitest.Match{Verb: "watch"}, faults.Throttle("2")).Times(2) },
					func() { s.srv.On(apitest.Match{Verb: "list"}, faults.Reset()).Times(2) },
					func() { s.srv.On(apitest.Match{Verb: "watch"}, faults.HalfOpen()).Times(1) },
					func() {
						s.srv.On(apitest.Match{Verb: "watch", AfterEvent: 1 + rnd.IntN(4)}, faults.CutEvent(rnd.IntN(200))).Times(1)
					},
				}
				for i := range 200 {
					strikes[rnd.IntN(len(strikes))]()
					if rnd.IntN(2) == 0 {
						s.churn(fmt.Sprint(i))
					}
					s.pass(time.Duration(rnd.IntN(int(10 * time.Minute))))
				}
				s.pass(15 * time.Minute)
				s.equal()
				synctest.Wait()
			})
		})
	}
}
