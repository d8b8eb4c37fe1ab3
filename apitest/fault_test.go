package apitest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// Each fault strikes after the first of three events.
func TestFaultsInAStream(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault http.HandlerFunc
		want  []string // after the first event
	}{
		{"reset", apitest.Reset(), []string{"connection reset by peer"}},
		{"hang up", apitest.Hangup(), []string{"unexpected EOF"}},
		{"end", apitest.EndStream(), []string{"EOF"}},
		{"error event", apitest.ErrorEvent(apitest.StatusInternal("x")), []string{"ERROR 500 InternalError", "EOF"}},
		{"expired in mid-stream", apitest.ErrorEvent(apitest.StatusExpired(1, 2)), []string{"ERROR 410 Expired", "EOF"}},
		{"cut", apitest.CutEvent(20), []string{"20 bytes, then unexpected EOF"}},
		{"chop", apitest.Chop(3), []string{"ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"split runes", apitest.SplitRunes(), []string{"ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"coalesce", apitest.Coalesce(5), []string{"ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"trickle", apitest.Trickle(7, time.Millisecond), []string{"ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"delay", apitest.Delay(time.Hour / 2), []string{"ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"drop", apitest.Drop(), []string{"ADDED ü3 106", "EOF"}},
		{"duplicate", apitest.Duplicate(), []string{"ADDED ü2 105", "ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"null in place", apitest.ReplaceObject("null"), []string{"ADDED  ", "ADDED ü3 106", "EOF"}},
		{"invalid JSON", apitest.InvalidJSON(), []string{"not JSON: ", "ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"unknown type", apitest.UnknownType(), []string{"RENAMED x 1", "ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"null object", apitest.NullObject(), []string{"MODIFIED  ", "ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"huge", apitest.Huge(1 << 20), []string{"MODIFIED huge 1", "ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"duplicate keys", apitest.DuplicateKeys(), []string{"MODIFIED b 1", "ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"deep", apitest.Deep(1000), []string{"MODIFIED deep 1", "ADDED ü2 105", "ADDED ü3 106", "EOF"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
				fault := srv.On(apitest.Match{Verb: "watch", AfterEvent: 1}, c.fault)
				w := watch(t, srv, configMaps+"?watch=1&resourceVersion=103")
				for _, name := range []string{"ü1", "ü2", "ü3"} {
					srv.Put(kube.ConfigMaps, configMap(name, `"quoted"`))
				}
				srv.CloseWatches()
				w.want("ADDED ü1 104")
				for _, want := range c.want {
					if got := w.next(); !strings.Contains(got, want) {
						t.Fatalf("got %q, want %q", got, want)
					}
				}
				if fault.Hits() != 1 {
					t.Errorf("%d hits", fault.Hits())
				}
			})
		})
	}
}

func TestRewritersShapeTheBytes(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault http.HandlerFunc
		check func(body string) bool
	}{
		{"crlf", apitest.CRLF(), func(b string) bool {
			return strings.HasPrefix(b, "\r\n{") && strings.HasSuffix(b, "}}\r\n\r\n") && strings.Count(b, "\r\n") == 6
		}},
		{"no newline", apitest.NoNewline(), func(b string) bool { return !strings.Contains(b, "\n") && strings.Contains(b, "}}{") }},
		{"pretty", apitest.Pretty(), func(b string) bool {
			return strings.HasPrefix(b, "{\n  \"type\": \"ADDED\",\n  \"object\": {\n    \"kind\"")
		}},
		{"two rewriters", func(w http.ResponseWriter, r *http.Request) {
			apitest.EachEvent(func(w http.ResponseWriter, event []byte) { w.Write([]byte(strings.ToUpper(string(event)))) })(w, r)
		}, func(b string) bool { return strings.HasPrefix(b, `{"TYPE":"ADDED"`) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
				srv.On(apitest.Match{Verb: "watch"}, c.fault)
				_, body := get(t, srv, configMaps+"?watch=1&resourceVersion=101&timeoutSeconds=1")
				if !c.check(body) {
					t.Errorf("%q", body)
				}
			})
		})
	}
}

func TestFaultsInPlaceOfAnAnswer(t *testing.T) {
	const items = `"name":"x"`
	for _, c := range []struct {
		name  string
		fault http.HandlerFunc
		code  int
		want  string // a part of the body, or of the error
	}{
		{"throttled", apitest.Throttle("7"), 429, `"reason":"TooManyRequests"`},
		{"bad gateway", apitest.HTML(502), 502, "<h1>502 Bad Gateway</h1>"},
		{"forbidden", apitest.Answer(apitest.StatusForbidden("jane", "list", kube.ConfigMaps, "a")), 403,
			`configmaps is forbidden: User \"jane\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"a\"`},
		{"unauthorized", apitest.Answer(apitest.StatusUnauthorized()), 401, "Unauthorized"},
		{"redirect", apitest.Redirect(307, "/healthz"), 200, "ok"},
		{"content type", apitest.ContentType("text/html"), 200, items},
		{"truncated gzip", apitest.TruncatedGzip(), 200, "unexpected EOF"},
		{"truncated", apitest.Truncate(20), 200, "unexpected EOF"},
		{"no last chunk", apitest.NoLastChunk(), 200, "unexpected EOF"},
		{"metadata last", apitest.MetadataLast(), 200, `],"metadata":{"resourceVersion":"103"}}`},
		{"stale", apitest.Stale("101"), 200, `"metadata":{"resourceVersion":"101"},"items":[{"metadata":{"name":"x"`},
		{"hang up", apitest.Hangup(), 0, "EOF"},
		{"reset", apitest.Reset(), 0, "connection reset by peer"},
		{"hang", apitest.Hang(), 0, "context deadline exceeded"},
		{"half-open", apitest.HalfOpen(), 0, "context deadline exceeded"},
		{"delay", apitest.Delay(time.Second), 200, items},
	} {
		t.Run(c.name, func(t *testing.T) {
			story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
				srv.On(apitest.Match{Verb: "list"}, c.fault)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				code, body := 0, []byte(nil)
				resp, err := send(ctx, srv, http.MethodGet, configMaps, "")
				if err == nil {
					defer resp.Body.Close()
					code = resp.StatusCode
					body, err = io.ReadAll(resp.Body)
				}
				text := string(body)
				if err != nil {
					text = err.Error()
				}
				if code != c.code || !strings.Contains(text, c.want) {
					t.Errorf("%d %s", code, text)
				}
				if ra := "7"; c.code == 429 && resp.Header.Get("Retry-After") != ra {
					t.Errorf("Retry-After %q", resp.Header.Get("Retry-After"))
				}
			})
		})
	}
}

func TestInitialEventsFaults(t *testing.T) {
	const path = configMaps + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion="
	for _, c := range []struct {
		name  string
		fault http.HandlerFunc
		rv    string
		code  int
		want  []string
	}{
		{"none", nil, "103", 200, []string{"ADDED x 101", "ADDED y 102", "ADDED z 103", "END 103", "EOF"}},
		{"no marker", apitest.NoInitialEventsEnd(), "", 200, []string{"ADDED x 101", "ADDED y 102", "ADDED z 103", "EOF"}},
		{"ignored", apitest.IgnoreInitialEvents(), "102", 200, []string{"ADDED z 103", "EOF"}},
		{"ignored without a revision", apitest.IgnoreInitialEvents(), "", 200, []string{"ADDED x 101", "ADDED y 102", "ADDED z 103", "EOF"}},
		{"rejected", apitest.RejectInitialEvents(), "", 422, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
				if c.fault != nil {
					srv.On(apitest.Match{Verb: "watch"}, c.fault)
				}
				w := watch(t, srv, path+c.rv)
				if w.resp.StatusCode != c.code {
					t.Errorf("code %d", w.resp.StatusCode)
				}
				w.want(c.want...)
			})
		})
	}
}

func TestPagesExpireOnDemand(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.On(apitest.Match{Verb: "list", Query: "continue=", Nth: 2}, apitest.ExpireContinue())
		srv.On(apitest.Match{Verb: "list", Query: "continue=", Nth: 4}, apitest.ExpireContinueForGood())
		srv.On(apitest.Match{Verb: "list", Nth: 1}, apitest.EmptyPage())
		var codes []int
		var names []string
		query := "?limit=1"
		for range 5 {
			code, body := get(t, srv, configMaps+query)
			codes = append(codes, code)
			for _, name := range []string{"x", "y", "z"} {
				if strings.Contains(body, `"name":"`+name+`"`) {
					names = append(names, name)
				}
			}
			if strings.Contains(body, `"continue"`) {
				query = "?limit=1&continue=" + field(t, body, "metadata", "continue")
			}
		}
		if diff := cmp.Diff([]int{200, 200, 410, 200, 410}, codes); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"x", "y"}, names); diff != "" {
			t.Error(diff)
		}
	})
}

func TestHalfOpenStreamIsSilent(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.On(apitest.Match{Verb: "watch", AfterEvent: 1}, apitest.HalfOpen())
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		resp, err := send(ctx, srv, http.MethodGet, configMaps+"?watch=1&resourceVersion=102", "")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		start := time.Now()
		b, err := io.ReadAll(resp.Body)
		if n := strings.Count(string(b), "\n"); n != 1 || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Hour {
			t.Errorf("%d events, then %v after %v", n, err, time.Since(start))
		}
	})
}

func TestFaultsComposeAndCount(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		first := srv.On(apitest.Match{Verb: "list", Resource: "configmaps", Namespace: "a"}, apitest.Delay(time.Second)).Times(3)
		second := srv.On(apitest.Match{Verb: "list", Nth: 2}, apitest.HTML(503))
		other := srv.On(apitest.Match{Resource: "pods"}, apitest.Reset())
		agent := srv.On(apitest.Match{UserAgent: "robot"}, apitest.Answer(apitest.StatusUnauthorized())).Times(1)
		start := time.Now()
		var codes []int
		for range 4 {
			code, _ := get(t, srv, configMaps)
			codes = append(codes, code)
		}
		for range 2 {
			code, _ := get(t, srv, configMaps, "User-Agent", "a robot")
			codes = append(codes, code)
		}
		if diff := cmp.Diff([]int{200, 503, 200, 200, 401, 200}, codes); diff != "" {
			t.Error(diff)
		}
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("took %v", d)
		}
		if hits := []int{first.Hits(), second.Hits(), other.Hits(), agent.Hits()}; !cmp.Equal(hits, []int{3, 1, 0, 1}) {
			t.Errorf("hits %v", hits)
		}
		other.Remove()
		if code, _ := get(t, srv, "/api/v1/pods"); code != 200 {
			t.Errorf("after Remove: %d", code)
		}
	})
}

func TestWatchThatEndsAtOnce(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.On(apitest.Match{Verb: "watch"}, apitest.EndStream()).Times(3)
		for range 3 {
			watch(t, srv, configMaps+"?watch=1&resourceVersion=102").want("EOF")
		}
		watch(t, srv, configMaps+"?watch=1&resourceVersion=102").want("ADDED z 103")
	})
}

func TestOneByteWrites(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.On(apitest.Match{Verb: "watch"}, apitest.Trickle(1, 0))
		watch(t, srv, configMaps+"?watch=1&resourceVersion=101&timeoutSeconds=1").want("ADDED y 102", "ADDED z 103", "EOF")
	})
}

func TestServerOnLoopbackRefusesAndReturns(t *testing.T) {
	srv := apitest.New(t, apitest.Fixture{Resource: kube.ConfigMaps, Object: configMap("x", "1")})
	w := watch(t, srv, configMaps+"?watch=1&resourceVersion=101")
	if err := srv.SetDoor(apitest.Refusing); err != nil {
		t.Fatal(err)
	}
	srv.Restart()
	if _, err := w.line(); err == nil {
		t.Error("the watch survived the restart")
	}
	if _, err := send(t.Context(), srv, http.MethodGet, configMaps, ""); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("while it is down: %v", err)
	}
	if err := srv.SetDoor(apitest.Open); err != nil {
		t.Fatal(err)
	}
	if code, _ := get(t, srv, configMaps); code != 200 {
		t.Errorf("after the restart: %d", code)
	}
}

func TestCloseEndsWatchesThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, err := apitest.Start(apitest.Options{InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		srv.On(apitest.Match{Resource: "pods"}, apitest.Hang())
		done := make(chan error, 2)
		for _, path := range []string{"/api/v1/pods", "/api/v1/configmaps?watch=1&resourceVersion=100"} {
			go func() {
				resp, err := send(t.Context(), srv, http.MethodGet, path, "")
				if err == nil {
					_, err = io.ReadAll(resp.Body)
					resp.Body.Close()
				}
				done <- err
			}()
		}
		synctest.Wait()
		srv.Close()
		for range 2 {
			if err := <-done; err == nil {
				t.Error("a request ended without an error")
			}
		}
	})
}
