package apitest_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
)

// Each fault strikes after the first of three events.
func TestFaultsInAStream(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault http.HandlerFunc
		want  []string // after the first event
	}{
		{"reset", faults.Reset(), []string{"connection reset by peer"}},
		{"hang up", faults.Hangup(), []string{"unexpected EOF"}},
		{"end", faults.EndStream(), []string{"EOF"}},
		{"error event", faults.ErrorEvent(apitest.StatusInternal("x")), []string{"ERROR 500 InternalError", "EOF"}},
		{"expired in mid-stream", faults.ErrorEvent(apitest.StatusExpired(1, 2)), []string{"ERROR 410 Expired", "EOF"}},
		{"cut", faults.CutEvent(20), []string{"20 bytes, then unexpected EOF"}},
		{"chop", faults.Chop(3), []string{"ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"split runes", faults.SplitRunes(), []string{"ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"coalesce", faults.Coalesce(5), []string{"ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"trickle", faults.Trickle(7, time.Millisecond), []string{"ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"delay", faults.Delay(time.Hour / 2), []string{"ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"drop", faults.Drop(), []string{"ADDED ü3 106", "EOF"}},
		{"duplicate", faults.Duplicate(), []string{"ADDED ü2 105", "ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"null in place", faults.ReplaceObject("null"), []string{"ADDED  ", "ADDED ü3 106", "EOF"}},
		{"invalid JSON", faults.InvalidJSON(), []string{"not JSON: ", "ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"unknown type", faults.UnknownType(), []string{"RENAMED x 1", "ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"null object", faults.NullObject(), []string{"MODIFIED  ", "ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"huge", faults.Huge(1 << 20), []string{"MODIFIED huge 1", "ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"duplicate keys", faults.DuplicateKeys(), []string{"MODIFIED b 1", "ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"deep", faults.Deep(1000), []string{"MODIFIED deep 1", "ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"swap", faults.Swap(), []string{"ADDED ü3 106", "ADDED ü2 105", "EOF"}},
		{"bookmark behind", faults.BookmarkBehind(3), []string{"BOOKMARK 10", "ADDED ü2 105", "ADDED ü3 106", "EOF"}},
		{"crash", faults.Crash(), []string{"connection reset by peer"}},
		{"down", faults.Down(apitest.Refusing, time.Second), []string{"connection reset by peer"}},
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
		{"crlf", faults.CRLF(), func(b string) bool {
			return strings.HasPrefix(b, "\r\n{") && strings.HasSuffix(b, "}}\r\n\r\n") && strings.Count(b, "\r\n") == 6
		}},
		{"no newline", faults.NoNewline(), func(b string) bool { return !strings.Contains(b, "\n") && strings.Contains(b, "}}{") }},
		{"pretty", faults.Pretty(), func(b string) bool {
			return strings.HasPrefix(b, "{\n  \"type\": \"ADDED\",\n  \"object\": {\n    \"kind\"")
		}},
		{"two rewriters", func(w http.ResponseWriter, r *http.Request) {
			faults.EachEvent(func(w http.ResponseWriter, event []byte) { w.Write([]byte(strings.ToUpper(string(event)))) })(w, r)
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
		{"throttled", faults.Throttle("7"), 429, `"reason":"TooManyRequests"`},
		{"bad gateway", faults.HTML(502), 502, "<h1>502 Bad Gateway</h1>"},
		{"forbidden", faults.Answer(apitest.StatusForbidden("jane", "list", kube.ConfigMaps, "a")), 403,
			`configmaps is forbidden: User \"jane\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"a\"`},
		{"unauthorized", faults.Answer(apitest.StatusUnauthorized()), 401, "Unauthorized"},
		{"redirect", faults.Redirect(307, "/healthz"), 200, "ok"},
		{"content type", faults.ContentType("text/html"), 200, items},
		{"truncated gzip", faults.TruncatedGzip(), 200, "unexpected EOF"},
		{"truncated", faults.Truncate(20), 200, "unexpected EOF"},
		{"no last chunk", faults.NoLastChunk(), 200, "unexpected EOF"},
		{"metadata last", faults.MetadataLast(), 200, `],"metadata":{"resourceVersion":"103"}}`},
		{"stale", faults.Stale("101"), 200, `"metadata":{"resourceVersion":"101"},"items":[{"metadata":{"name":"x"`},
		{"hang up", faults.Hangup(), 0, "EOF"},
		{"reset", faults.Reset(), 0, "connection reset by peer"},
		{"hang", faults.Hang(), 0, "context deadline exceeded"},
		{"half-open", faults.HalfOpen(), 0, "context deadline exceeded"},
		{"delay", faults.Delay(time.Second), 200, items},
		{"behind", faults.Behind(2), 200, `"metadata":{"resourceVersion":"101"},"items":[{"metadata":{"name":"x"`},
		{"behind what is kept", faults.Behind(1000), 200, `"metadata":{"resourceVersion":"100"},"items":[]`},
		{"shifted revision", faults.ShiftRevision(7), 200, `"metadata":{"resourceVersion":"110"},"items":[{"metadata":{"name":"x"`},
		{"early hints", faults.EarlyHints(), 200, items},
		{"throttled until", faults.ThrottleUntil(7 * time.Second), 429, `"reason":"TooManyRequests"`},
		{"crash", faults.Crash(), 0, "connection reset by peer"},
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
				if c.code == 429 && !slices.Contains([]string{"7", "Sat, 01 Jan 2000 00:00:07 GMT"}, resp.Header.Get("Retry-After")) {
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
		{"no marker", faults.NoInitialEventsEnd(), "", 200, []string{"ADDED x 101", "ADDED y 102", "ADDED z 103", "EOF"}},
		{"ignored", faults.IgnoreInitialEvents(), "102", 200, []string{"ADDED z 103", "EOF"}},
		{"ignored without a revision", faults.IgnoreInitialEvents(), "", 200, []string{"ADDED x 101", "ADDED y 102", "ADDED z 103", "EOF"}},
		{"rejected", faults.RejectInitialEvents(), "", 422, nil},
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
		srv.On(apitest.Match{Verb: "list", Query: "continue=", Nth: 2}, faults.ExpireContinue())
		srv.On(apitest.Match{Verb: "list", Query: "continue=", Nth: 4}, faults.ExpireContinueForGood())
		srv.On(apitest.Match{Verb: "list", Nth: 1}, faults.EmptyPage())
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
		srv.On(apitest.Match{Verb: "watch", AfterEvent: 1}, faults.HalfOpen())
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

func TestFaultsMatchHeaders(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.On(apitest.Match{Header: "Accept: as=Table"}, faults.HTML(403))
		srv.On(apitest.Match{Header: "Impersonate-User"}, faults.HTML(502))
		for _, c := range []struct {
			name, value string
			want        int
		}{
			{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io", 403},
			{"accept", "text/html, application/json;as=Table;v=v1;g=meta.k8s.io", 403},
			{"Accept", "application/json", 200},
			{"X-Accept", "as=Table", 200},
			{"impersonate-user", "", 502}, // there, and empty
			{"Impersonate-Users", "x", 200},
		} {
			if code, _ := get(t, srv, configMaps, c.name, c.value); code != c.want {
				t.Errorf("%s: %q: %d, want %d", c.name, c.value, code, c.want)
			}
		}
	})
}

func TestFaultsComposeAndCount(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		first := srv.On(apitest.Match{Verb: "list", Resource: "configmaps", Namespace: "a"}, faults.Delay(time.Second)).Times(3)
		second := srv.On(apitest.Match{Verb: "list", Nth: 2}, faults.HTML(503))
		other := srv.On(apitest.Match{Resource: "pods"}, faults.Reset())
		agent := srv.On(apitest.Match{UserAgent: "robot"}, faults.Answer(apitest.StatusUnauthorized())).Times(1)
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
		srv.On(apitest.Match{Verb: "watch"}, faults.EndStream()).Times(3)
		for range 3 {
			watch(t, srv, configMaps+"?watch=1&resourceVersion=102").want("EOF")
		}
		watch(t, srv, configMaps+"?watch=1&resourceVersion=102").want("ADDED z 103")
	})
}

func TestOneByteWrites(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.On(apitest.Match{Verb: "watch"}, faults.Trickle(1, 0))
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
		srv.On(apitest.Match{Resource: "pods"}, faults.Hang())
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

func TestSwapTellsWhatItHeldAtTheEnd(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.On(apitest.Match{Verb: "watch"}, faults.Swap())
		watch(t, srv, configMaps+"?watch=1&resourceVersion=102&timeoutSeconds=1").want("ADDED z 103", "EOF")
	})
}

// TestErrorEventsAreTheLast: events that a fault holds back precede an ERROR event, which ends
// the stream.
func TestErrorEventsAreTheLast(t *testing.T) {
	for name, hold := range map[string]http.HandlerFunc{"swap": faults.Swap(), "coalesce": faults.Coalesce(5)} {
		for how, end := range map[string]func(*apitest.Server){
			"fault": func(srv *apitest.Server) {
				srv.On(apitest.Match{Verb: "watch", AfterEvent: 1}, faults.ErrorEvent(apitest.StatusExpired(1, 2)))
			},
			"expired": func(srv *apitest.Server) { time.AfterFunc(time.Second, srv.Expire) },
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
					srv.On(apitest.Match{Verb: "watch"}, hold)
					end(srv)
					watch(t, srv, configMaps+"?watch=1&resourceVersion=102&timeoutSeconds=5").want("ADDED z 103", "ERROR 410 Expired", "EOF")
				})
			})
		}
	}
}

func TestBookmarkOfAnotherKind(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.On(apitest.Match{Verb: "watch"}, faults.BookmarkOf("Pod")).Times(1)
		_, body := get(t, srv, configMaps+"?watch=1&resourceVersion=102&timeoutSeconds=1")
		want := `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1000103"`
		if !strings.HasPrefix(body, want) || strings.Count(body, "\n") != 2 {
			t.Errorf("%s", body)
		}
	})
}

func TestDeletedWithAnotherUID(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.On(apitest.Match{Verb: "watch"}, faults.OtherUID())
		for _, name := range []string{"x", "y"} {
			srv.Delete(kube.ConfigMaps, kube.Key{Namespace: "a", Name: name})
		}
		_, body := get(t, srv, configMaps+"?watch=1&resourceVersion=101&timeoutSeconds=1")
		var got []bool // whether the UID is that of nobody
		for line := range strings.Lines(body) {
			got = append(got, strings.Contains(line, `"uid":"00000000-0000-4000-8000-000000000000"`))
		}
		if diff := cmp.Diff([]bool{false, false, true, false}, got); diff != "" {
			t.Errorf("%s\n%s", diff, body)
		}
	})
}

// A list of three pages; before the second the server compacts.
func TestForgetInMidList(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.On(apitest.Match{Verb: "list", Query: "continue="}, faults.Forget()).Times(1)
		_, body := get(t, srv, configMaps+"?limit=1")
		code, body := get(t, srv, configMaps+"?limit=1&continue="+field(t, body, "metadata", "continue"))
		if code != 410 || !strings.Contains(body, `"reason":"Expired"`) {
			t.Fatalf("%d %s", code, body)
		}
		code, body = get(t, srv, configMaps+"?limit=1&continue="+field(t, body, "metadata", "continue"))
		if code != 200 || !strings.Contains(body, `"name":"y"`) || field(t, body, "metadata", "resourceVersion") != "104" {
			t.Errorf("%d %s", code, body)
		}
	})
}

func TestRestoreGoesBackAsFarAsItCan(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.On(apitest.Match{Verb: "list", Nth: 1}, faults.Restore(2))
		srv.On(apitest.Match{Verb: "list", Nth: 3}, faults.Restore(1000))
		var got []string
		for range 3 { // net/http repeats the third by itself, since the connection was used before
			resp, err := send(t.Context(), srv, http.MethodGet, configMaps, "")
			if err != nil {
				got = append(got, "reset")
				continue
			}
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(field(t, string(b), "metadata", "resourceVersion"), " ", strings.Count(string(b), `"name":`)))
		}
		if diff := cmp.Diff([]string{"reset", "101 1", "100 0"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDownForAWhile(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.On(apitest.Match{Verb: "list"}, faults.Down(apitest.Refusing, 9500*time.Millisecond)).Times(1)
		start := time.Now()
		var got []string
		for range 12 {
			resp, err := send(t.Context(), srv, http.MethodGet, configMaps, "")
			switch {
			case errors.Is(err, syscall.ECONNREFUSED):
				got = append(got, "refused")
			case err != nil:
				got = append(got, "lost")
			default:
				resp.Body.Close()
				got = append(got, fmt.Sprint(resp.StatusCode, " after ", time.Since(start)))
			}
			time.Sleep(time.Second)
		}
		want := slices.Concat([]string{"lost"}, slices.Repeat([]string{"refused"}, 9), []string{"200 after 10s", "200 after 11s"})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSkewedClock(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.On(apitest.Match{}, faults.Skew(-time.Hour))
		srv.On(apitest.Match{Verb: "list"}, faults.ThrottleUntil(5*time.Second))
		for _, path := range []string{configMaps, "/healthz"} {
			resp, err := send(t.Context(), srv, http.MethodGet, path, "")
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if got := resp.Header.Get("Date"); got != "Fri, 31 Dec 1999 23:00:00 GMT" {
				t.Errorf("Date %q", got)
			}
			if got := resp.Header.Get("Retry-After"); resp.StatusCode == 429 && got != "Fri, 31 Dec 1999 23:00:05 GMT" {
				t.Errorf("Retry-After %q", got)
			}
		}
	})
}

// raw sends one HTTP/1.1 request and returns all bytes of the answers.
func raw(t *testing.T, srv *apitest.Server, path string) string {
	t.Helper()
	c, err := srv.Dial(t.Context(), "tcp", "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
	c.SetReadDeadline(time.Now().Add(time.Minute))
	b, err := io.ReadAll(c)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	return string(b)
}

func TestInformationalAnswerComesFirst(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.On(apitest.Match{}, faults.EarlyHints())
		got := raw(t, srv, configMaps)
		if !strings.HasPrefix(got, "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n") {
			t.Errorf("%q", got)
		}
	})
}

func TestAnswerWithoutABody(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.On(apitest.Match{}, faults.EmptyBody())
		got := raw(t, srv, configMaps)
		if !strings.HasPrefix(got, "HTTP/1.1 200 OK\r\n") || !strings.Contains(got, "Content-Length: 0\r\n") || !strings.HasSuffix(got, "\r\n\r\n") {
			t.Errorf("%q", got)
		}
	})
}

func TestLastChunkTwice(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.On(apitest.Match{Verb: "list"}, faults.ExtraLastChunk())
		got := raw(t, srv, configMaps)
		if !strings.Contains(got, "Transfer-Encoding: chunked") || !strings.HasSuffix(got, "]}\n\r\n0\r\n\r\n0\r\n\r\n") {
			t.Errorf("%q", got)
		}
	})
}

func TestConnectionClosesAfterGoAway(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		srv.On(apitest.Match{}, faults.GoAway())
		start := time.Now()
		if got := raw(t, srv, configMaps); !strings.Contains(got, "Connection: close\r\n") || time.Since(start) != 0 {
			t.Errorf("after %v: %q", time.Since(start), got)
		}
	})
}

// http2Frames sends a GET over HTTP/2, written by hand, and returns the types of
// the frames that come back, SETTINGS and PING left out, until the stream or the
// connection ends.
func http2Frames(t *testing.T, srv *apitest.Server, path string) (frames []string) {
	t.Helper()
	plain, err := srv.Dial(t.Context(), "tcp", "")
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(srv.CAPEM())
	c := tls.Client(plain, &tls.Config{RootCAs: pool, ServerName: "apitest.invalid", NextProtos: []string{"h2"}})
	defer c.Close()
	frame := func(typ, flags byte, stream uint32, payload string) {
		head := binary.BigEndian.AppendUint32(nil, uint32(len(payload)))[1:]
		head = binary.BigEndian.AppendUint32(append(head, typ, flags), stream)
		c.Write(append(head, payload...)) // the reading finds out
	}
	literal := func(index byte, value string) string { return string([]byte{index, byte(len(value))}) + value }
	io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	frame(4, 0, 0, "")
	frame(1, 5, 1, "\x82\x87"+literal(4, path)+literal(1, "x")) // GET, https, :path, :authority
	c.SetReadDeadline(time.Now().Add(time.Minute))
	in := bufio.NewReader(c)
	for {
		var head [9]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return append(frames, "end")
		}
		size := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		payload := make([]byte, size)
		if _, err := io.ReadFull(in, payload); err != nil {
			return append(frames, "end")
		}
		switch typ, ended := head[3], head[4]&1 != 0; typ {
		case 0, 1:
			frames = append(frames, map[byte]string{0: "DATA", 1: "HEADERS"}[typ])
			if ended {
				return append(frames, "last")
			}
		case 3:
			return append(frames, "RST_STREAM")
		case 7:
			frames = append(frames, fmt.Sprintf("GOAWAY %d", binary.BigEndian.Uint32(payload[4:])))
		}
	}
}

func TestHTTP2Frames(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault http.HandlerFunc
		want  []string
	}{
		{"none", func(w http.ResponseWriter, r *http.Request) { apitest.Continue(w, r) }, []string{"HEADERS", "DATA", "last"}},
		{"go away", faults.GoAway(), []string{"GOAWAY 0", "HEADERS", "DATA", "last"}},
		{"hang up", faults.Hangup(), []string{"RST_STREAM"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			story(t, apitest.Options{TLS: true}, func(t *testing.T, srv *apitest.Server) {
				srv.On(apitest.Match{}, c.fault)
				got := http2Frames(t, srv, configMaps)
				slices.Sort(got) // GOAWAY is written beside the answer
				slices.Sort(c.want)
				got = slices.Compact(got)
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// A door that hangs stalls TLS handshakes.
func TestHandshakeStalls(t *testing.T) {
	story(t, apitest.Options{TLS: true}, func(t *testing.T, srv *apitest.Server) {
		c := tls.Client(dial(t, srv), &tls.Config{ServerName: "apitest.invalid"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		if err := c.HandshakeContext(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

// TestRejectInitialEventsSparesOthers: a server without streaming lists refuses only
// requests for initial events.
func TestRejectInitialEventsSparesOthers(t *testing.T) {
	srv := apitest.NewInMemory(t)
	srv.On(apitest.Match{}, faults.RejectInitialEvents())
	for path, want := range map[string]int{
		"/api":               200,
		"/api/v1/configmaps": 200,
		"/api/v1/configmaps?watch=1&timeoutSeconds=1":                                         200,
		"/api/v1/configmaps?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan": 422,
	} {
		resp, err := srv.Client().Get(srv.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, resp.StatusCode, want)
		}
	}
}
