package replay_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/replay"
	"github.com/listwatch/listwatch/watch"
)

// testScript: the engine, talking to the recorded answers, delivers what it delivered
// when it talked to the server.
func testScript(t *testing.T, path string, rec *replay.Recording) {
	synctest.Test(t, func(t *testing.T) {
		script := replay.NewScript(rec, replay.ScriptOptions{})
		c := newClient(t, serve(t, script))
		targets, others := rec.Streams(), script.Left()
		followers, stop := following(t.Context(), rec, func(n int) cache.Source[codec.Raw] {
			target := targets[n]
			options, requests := optionsOf(t, rec, target)
			others -= requests
			return watch.New(client.Of[codec.Raw](c, target.Resource).In(target.Namespace), options)
		})
		defer stop()
		pass(last(rec) + time.Minute) // pauses between retries are random
		stop()
		isGolden(t, path, wording(rec, followers))
		probe := func(request string) bool { return strings.HasSuffix(request, "?limit=1") } // was not sent when this was recorded
		if unknown := slices.DeleteFunc(script.Unknown(), probe); len(unknown) > 0 || script.Left() != others {
			t.Errorf("%d requests are left, want %d; unknown %q", script.Left(), others, unknown)
		}
	})
}

// optionsOf returns the options with which a collection was watched, and how many
// requests there were.
func optionsOf(t *testing.T, rec *replay.Recording, target replay.Target) (o watch.Options, requests int) {
	t.Helper()
	o = watch.Options{Backoff: 200 * time.Millisecond, BackoffMax: time.Second}
	for _, e := range rec.Entries {
		if e.Kind != replay.KindReq {
			continue
		}
		u, err := url.ParseRequestURI(e.URL)
		if err != nil {
			t.Fatal(err)
		}
		if u.Path != target.Resource.Path(target.Namespace) || u.Query().Get("resourceVersionMatch") == "Exact" {
			continue
		}
		if limit, err := strconv.Atoi(u.Query().Get("limit")); requests == 0 && err == nil {
			o.Initial, o.Limit = watch.Paged, limit
		}
		requests++
	}
	if requests == 0 {
		t.Fatalf("nothing was asked of %s", target.Resource)
	}
	return o, requests
}

// testStrict: each request, sent as it was and when it was, gets the same bytes at
// the same times, and the same end.
func testStrict(t *testing.T, rec *replay.Recording) {
	synctest.Test(t, func(t *testing.T) {
		script := replay.NewScript(rec, replay.ScriptOptions{Strict: true})
		cfg := serve(t, script)
		transport := &http.Transport{DialContext: cfg.Dial, DisableKeepAlives: true, DisableCompression: true}
		want, got := map[int]string{}, map[int]*string{}
		ends := map[int]*replay.Entry{}
		for _, e := range rec.Entries {
			if e.Kind == replay.KindEnd {
				ends[e.ID] = e
			}
		}
		start, pieces := time.Now(), map[int]*answer{}
		var asking sync.WaitGroup
		for _, e := range rec.Entries {
			switch e.Kind {
			case replay.KindReq:
				pieces[e.ID] = &answer{}
				end, text := ends[e.ID], new(string)
				got[e.ID] = text
				asking.Go(func() {
					<-time.After(e.At)
					a := &answer{start: start}
					a.ask(t, transport, cfg.Server, e, end)
					*text = a.text()
				})
			case replay.KindResp:
				pieces[e.ID].add(e.At, fmt.Sprint(e.Code, " "))
			case replay.KindChunk:
				b, err := e.Body()
				if err != nil {
					t.Error(err)
				}
				pieces[e.ID].add(e.At, string(b))
			case replay.KindEnd:
				if a := pieces[e.ID]; a != nil && len(a.pieces) > 0 {
					a.end(e.At, e.Cause == replay.EndEOF)
				}
			}
		}
		asking.Wait()
		for id, a := range pieces {
			want[id] = a.text()
		}
		texts := map[int]string{}
		for id, text := range got {
			texts[id] = *text
		}
		if diff := gocmp.Diff(want, texts); diff != "" {
			t.Errorf("answers (-recorded +replayed):\n%s", diff)
		}
		if unknown := script.Unknown(); len(unknown) > 0 || script.Left() > 0 {
			t.Errorf("%d requests are left; unknown %q", script.Left(), unknown)
		}
	})
}

// answer is what came when.
type answer struct {
	start  time.Time
	pieces map[time.Duration]string
	ended  string
}

func (a *answer) add(at time.Duration, s string) {
	if a.pieces == nil {
		a.pieces = map[time.Duration]string{}
	}
	a.pieces[at] += s
}

// end is that of the body: when it was whole the client may know it before.
func (a *answer) end(at time.Duration, whole bool) {
	if a.ended = "whole"; !whole {
		a.ended = fmt.Sprintf("%v broken off", at)
	}
}

func (a *answer) text() string {
	if a.pieces == nil {
		return "no answer"
	}
	var b strings.Builder
	for _, at := range slices.Sorted(maps.Keys(a.pieces)) {
		s := a.pieces[at]
		fmt.Fprintf(&b, "%v %d bytes, %x: %.80q\n", at, len(s), sha256.Sum256([]byte(s)), s)
	}
	return b.String() + a.ended
}

// ask sends a recorded request, and leaves when its client left.
func (a *answer) ask(t *testing.T, transport http.RoundTripper, server string, e, end *replay.Entry) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if end.Cause == replay.EndClient {
		leave := time.AfterFunc(time.Until(a.start.Add(end.At)), cancel)
		defer leave.Stop()
	}
	req, err := http.NewRequestWithContext(ctx, e.Method, server+e.URL, nil)
	if err != nil {
		t.Error(err)
		return
	}
	for name, values := range e.Header {
		req.Header[name] = values
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	a.add(time.Since(a.start), fmt.Sprint(resp.StatusCode, " "))
	for b := make([]byte, 64<<10); ; {
		n, err := resp.Body.Read(b)
		if n > 0 {
			a.add(time.Since(a.start), string(b[:n]))
		}
		if err != nil {
			a.end(time.Since(a.start), err.Error() == "EOF")
			return
		}
	}
}
