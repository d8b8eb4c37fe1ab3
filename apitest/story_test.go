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

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

const configMaps = "/api/v1/namespaces/a/configmaps"

// story runs f in a bubble with an in-memory server that has three ConfigMaps
// at the revisions 101 to 103.
func story(t *testing.T, o apitest.Options, f func(t *testing.T, srv *apitest.Server)) {
	synctest.Test(t, func(t *testing.T) {
		o.InMemory = true
		srv := apitest.NewWith(t, o)
		for _, name := range []string{"x", "y", "z"} {
			srv.Put(kube.ConfigMaps, configMap(name, "1"))
		}
		f(t, srv)
	})
}

func TestBookmarkComesEveryMinuteAndBeforeTheDeadline(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		start := time.Now()
		w := watch(t, srv, configMaps+"?watch=1&resourceVersion=103&allowWatchBookmarks=true&timeoutSeconds=100")
		w.want("BOOKMARK 103")
		if d := time.Since(start); d != time.Minute {
			t.Errorf("first bookmark after %v", d)
		}
		srv.Tick()
		w.want("BOOKMARK 104")
		if d := time.Since(start); d != 98*time.Second {
			t.Errorf("second bookmark after %v", d)
		}
		w.want("EOF")
		if d := time.Since(start); d != 100*time.Second {
			t.Errorf("end after %v", d)
		}
	})
}

func TestWatchWithoutTimeoutEndsWithinTheHour(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		start := time.Now()
		watch(t, srv, configMaps+"?watch=1&resourceVersion=103").want("EOF")
		if d := time.Since(start); d < 30*time.Minute || d >= time.Hour {
			t.Errorf("the watch lived %v", d)
		}
	})
}

func TestListAheadOfTheServerWaitsThreeSeconds(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		start := time.Now()
		code, body := get(t, srv, configMaps+"?resourceVersion=200")
		want := `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
			`"message":"Timeout: Too large resource version: 200, current: 103","reason":"Timeout",` +
			`"details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504}` + "\n"
		if code != 504 || body != want || time.Since(start) != 3*time.Second {
			t.Errorf("after %v: %d %s", time.Since(start), code, body)
		}
		go func() {
			time.Sleep(time.Second)
			srv.Tick()
		}()
		if code, _ := get(t, srv, configMaps+"?resourceVersion=104"); code != 200 {
			t.Errorf("list at a revision that comes within 3 s: %d", code)
		}
	})
}

func TestWatchAheadOfTheServerStaysSilentUntilItIsPassed(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		w := watch(t, srv, configMaps+"?watch=1&resourceVersion=105&allowWatchBookmarks=true")
		srv.Put(kube.ConfigMaps, configMap("x", "2"))
		time.Sleep(10 * time.Minute)
		srv.Bookmark()
		synctest.Wait() // it must not come, now at 104
		srv.Put(kube.ConfigMaps, configMap("x", "3"))
		srv.Put(kube.ConfigMaps, configMap("x", "4"))
		w.want("MODIFIED x 106")
	})
}

func TestRestoreTakesTheRevisionBack(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		w := watch(t, srv, configMaps+"?watch=1&resourceVersion=103")
		srv.Put(kube.ConfigMaps, configMap("w", "1"))
		srv.Delete(kube.ConfigMaps, kube.Key{Namespace: "a", Name: "x"})
		w.want("ADDED w 104", "DELETED x 105")
		srv.RestoreTo("103")
		if _, err := w.line(); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the watch ended with %v", err)
		}
		if _, body := get(t, srv, configMaps); !strings.Contains(body, `"resourceVersion":"103"},"items":[{"metadata":{"name":"x"`) {
			t.Errorf("after the restore: %s", body)
		}
		w = watch(t, srv, configMaps+"?watch=1&resourceVersion=105&allowWatchBookmarks=true&timeoutSeconds=600")
		srv.Put(kube.ConfigMaps, configMap("x", "2"))
		w.want("EOF")
		if code, _ := get(t, srv, configMaps+"?resourceVersion=105"); code != 504 {
			t.Errorf("list at a lost revision: %d", code)
		}
	})
}

func TestRestartForgetsHistoryForWatchesOnly(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		w := watch(t, srv, configMaps+"?watch=1&resourceVersion=102")
		w.want("ADDED z 103")
		srv.Restart()
		if _, err := w.line(); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the watch ended with %v", err)
		}
		watch(t, srv, configMaps+"?watch=1&resourceVersion=102").want("ERROR 410 Expired", "EOF")
		if code, _ := get(t, srv, configMaps+"?resourceVersion=102&resourceVersionMatch=Exact"); code != 200 {
			t.Errorf("exact list: %d", code)
		}
		watch(t, srv, configMaps+"?watch=1&resourceVersion=103&timeoutSeconds=1").want("EOF")
	})
}

func TestRefusedWhileTheDoorIsShut(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		for _, c := range []struct {
			door apitest.Door
			want error
		}{{apitest.Refusing, syscall.ECONNREFUSED}, {apitest.Resetting, syscall.ECONNRESET}, {apitest.Hanging, context.DeadlineExceeded}} {
			if err := srv.SetDoor(c.door); err != nil {
				t.Fatal(err)
			}
			srv.Cut()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			_, err := send(ctx, srv, http.MethodGet, configMaps, "")
			cancel()
			if !errors.Is(err, c.want) && !(c.want == syscall.ECONNRESET && errors.Is(err, io.EOF)) {
				t.Errorf("door %v: %v, want %v", c.door, err, c.want)
			}
		}
		if err := srv.SetDoor(apitest.Open); err != nil {
			t.Fatal(err)
		}
		if code, _ := get(t, srv, configMaps); code != 200 {
			t.Errorf("door open: %d", code)
		}
	})
}

func TestHistoryGoneShowsInItsShape(t *testing.T) {
	for _, c := range []struct {
		name       string
		gone       apitest.Gone
		live, next []string
		code       int
	}{
		{"event", apitest.GoneEvent, []string{"ERROR 410 Expired", "EOF"}, []string{"ERROR 410 Expired", "EOF"}, 200},
		{"status", apitest.GoneStatus, []string{"EOF"}, nil, 410},
		{"silent", apitest.GoneSilent, []string{"EOF"}, []string{"ERROR 410 Expired", "EOF"}, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			story(t, apitest.Options{Gone: c.gone}, func(t *testing.T, srv *apitest.Server) {
				w := watch(t, srv, configMaps+"?watch=1&resourceVersion=103")
				_, page := get(t, srv, configMaps+"?limit=1")
				srv.Expire()
				w.want(c.live...)
				w = watch(t, srv, configMaps+"?watch=1&resourceVersion=103")
				if w.resp.StatusCode != c.code {
					t.Errorf("watch after: %d", w.resp.StatusCode)
				}
				w.want(c.next...)
				code, body := get(t, srv, configMaps+"?limit=1&continue="+field(t, page, "metadata", "continue"))
				if code != 410 {
					t.Fatalf("next page: %d %s", code, body)
				}
				code, body = get(t, srv, configMaps+"?limit=1&continue="+field(t, body, "metadata", "continue"))
				if code != 200 || !strings.Contains(body, `"name":"y"`) || field(t, body, "metadata", "resourceVersion") != "104" {
					t.Errorf("inconsistent page: %d %s", code, body)
				}
			})
		})
	}
}

func TestWatchesEndAsOrdered(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		open := func() *stream { return watch(t, srv, configMaps+"?watch=1&resourceVersion=102") }
		w := open()
		srv.CloseWatches()
		w.want("ADDED z 103", "EOF")
		w = open()
		srv.CutWatches()
		w.want("ADDED z 103", "37 bytes, then unexpected EOF")
		w = open()
		w.want("ADDED z 103")
		srv.DropWatches()
		if _, err := w.line(); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("a dropped watch ended with %v", err)
		}
	})
}

func TestSlowWatcherIsClosedWithoutAWord(t *testing.T) {
	story(t, apitest.Options{WatchBuffer: 10}, func(t *testing.T, srv *apitest.Server) {
		w := watch(t, srv, configMaps+"?watch=1&resourceVersion=103")
		big := strings.Repeat("x", 20_000)
		for i := range 40 {
			srv.Put(kube.ConfigMaps, configMap("x", big[i:]))
			synctest.Wait()
		}
		seen := 0
		for {
			line, err := w.line()
			if err == io.EOF && line == "" {
				break
			}
			if err != nil || strings.Contains(line, "ERROR") {
				t.Fatalf("after %d events: %v", seen, err)
			}
			seen++
		}
		if seen == 0 || seen > 30 {
			t.Errorf("saw %d of 40 events", seen)
		}
		if got := w.next(); got != "EOF" {
			t.Errorf("then %s", got)
		}
	})
}

func TestRemovedResourceIsNotFoundUntilItReturns(t *testing.T) {
	foo := kube.Resource{Group: "example.com", Version: "v1", Plural: "foos", Kind: "Foo", Namespaced: true}
	story(t, apitest.Options{Resources: []apitest.ResourceInfo{{Resource: foo}}}, func(t *testing.T, srv *apitest.Server) {
		rv := srv.Put(foo, `{"metadata":{"namespace":"a","name":"f"},"spec":{"n":1}}`)
		w := watch(t, srv, foo.Path("a")+"?watch=1&resourceVersion="+string(rv))
		srv.RemoveResource(foo)
		w.want("DELETED f 105", "EOF")
		if code, body := get(t, srv, foo.Path("a")); code != 404 || body != "404 page not found\n" {
			t.Errorf("removed: %d %s", code, body)
		}
		srv.AddResource(apitest.ResourceInfo{Resource: foo})
		if code, body := get(t, srv, foo.Path("a")); code != 200 || body != `{"apiVersion":"example.com/v1","items":[],"kind":"FooList","metadata":{"continue":"","resourceVersion":"105"}}`+"\n" {
			t.Errorf("returned: %d %s", code, body)
		}
		watch(t, srv, foo.Path("a")+"?watch=1&resourceVersion="+string(rv)).want("ERROR 410 Expired", "EOF")
	})
}

func TestWaitForWatchesSeesThemComeAndGo(t *testing.T) {
	story(t, apitest.Options{}, func(t *testing.T, srv *apitest.Server) {
		w := watch(t, srv, configMaps+"?watch=1&resourceVersion=103")
		if err := srv.WaitForWatches(t.Context(), 1); err != nil {
			t.Error(err)
		}
		w.resp.Body.Close()
		if err := srv.WaitForWatches(t.Context(), 0); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := srv.WaitForWatches(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without a watch: %v", err)
		}
	})
}
