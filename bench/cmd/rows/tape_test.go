package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// clerk is a server that says something else each time.
type clerk struct {
	asked   atomic.Int64
	changes chan string // what a watch is told
}

func (c *clerk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Form", r.Header.Get("Accept"))
	if isWatch(r) {
		fmt.Fprintln(w, "before")
		w.(http.Flusher).Flush()
		for {
			select {
			case s := <-c.changes:
				fmt.Fprintln(w, s)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprintf(w, "answer %d to %s", c.asked.Add(1), r.URL.Path)
}

func record(t *testing.T) (*clerk, *tape, *httptest.Server) {
	t.Helper()
	c := &clerk{changes: make(chan string, 2)}
	tape := newTape(c, func() error { c.changes <- "one"; c.changes <- "two"; return nil })
	s := httptest.NewServer(tape)
	t.Cleanup(s.Close)
	return c, tape, s
}

// get returns an answer in a line.
func get(t *testing.T, url, accept string) string {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("X-Form"), " ", string(b))
}

func post(t *testing.T, s *httptest.Server, what string) (ok bool, text string) {
	t.Helper()
	resp, err := http.Post(s.URL+"/bench/"+what, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode == http.StatusOK, string(b)
}

func TestTheSameAnswerIsGivenWithoutTheServer(t *testing.T) {
	c, _, s := record(t)
	first := get(t, s.URL+"/list?limit=5&timeout=1s", "a")
	if ok, text := post(t, s, "rewind"); !ok {
		t.Fatal(text)
	}
	for _, timeout := range []string{"timeout=1s", "timeout=9s&timeoutSeconds=5"} {
		if again := get(t, s.URL+"/list?"+timeout+"&limit=5", "a"); again != first || first != "202 a answer 1 to /list" {
			t.Errorf("%s: %q, want %q", timeout, again, first)
		}
	}
	if n := c.asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
}

func TestWhatIsNotOnTheTapeSpoilsTheRun(t *testing.T) {
	for _, test := range []struct{ path, accept string }{{"/other", "a"}, {"/list", "b"}, {"/list?limit=5", "a"}} {
		c, _, s := record(t)
		get(t, s.URL+"/list", "a")
		post(t, s, "rewind")
		if got := get(t, s.URL+test.path, test.accept); !strings.HasPrefix(got, "418") {
			t.Errorf("%v: %q", test, got)
		}
		if ok, text := post(t, s, "rewind"); ok || !strings.Contains(text, test.path) {
			t.Errorf("%v: rewind says %q", test, text)
		}
		if n := c.asked.Load(); n != 1 {
			t.Errorf("%v: the server was asked %d times", test, n)
		}
	}
}

// lines opens a watch whose lines come on a channel.
func lines(t *testing.T, s *httptest.Server) <-chan string {
	t.Helper()
	resp, err := http.Get(s.URL + "/list?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	out := make(chan string, 10)
	go func() {
		defer close(out)
		for scan := bufio.NewScanner(resp.Body); scan.Scan(); {
			out <- scan.Text()
		}
	}()
	return out
}

// want reads lines; none are to follow where nothing more is wanted.
func want(t *testing.T, from <-chan string, all ...string) {
	t.Helper()
	for _, line := range all {
		select {
		case got, open := <-from:
			if !open || got != line {
				t.Fatalf("%q (open: %t), want %q", got, open, line)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no %q", line)
		}
	}
}

// flushes calls back at each Flush.
type flushes struct {
	*httptest.ResponseRecorder
	at func(body string)
}

func (f flushes) Flush() { f.at(f.Body.String()) }

func TestTheEventsOfAWatchWaitForTheGo(t *testing.T) {
	_, tape, s := record(t)
	first := lines(t, s)
	want(t, first, "before")
	post(t, s, "go")
	want(t, first, "one", "two")
	for range 2 {
		if ok, text := post(t, s, "rewind"); !ok {
			t.Fatal(text)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var seen []string
		w := flushes{httptest.NewRecorder(), func(body string) {
			seen = append(seen, body)
			if len(seen) > 1 {
				cancel() // nothing else ends the watch
			} else if err := tape.start(); err != nil {
				t.Error(err)
			}
		}}
		r := httptest.NewRequest(http.MethodGet, "/list?watch=true", nil)
		r.Header.Set("Accept-Encoding", "gzip") // as http.Get does
		tape.ServeHTTP(w, r.WithContext(ctx))
		if want := []string{"before\n", "before\none\ntwo\n"}; !slices.Equal(seen, want) {
			t.Errorf("flushed %q, want %q", seen, want)
		}
		if err := tape.start(); err == nil {
			t.Error("a second go in a run is taken")
		}
	}
}

func TestAWatchThatBrokeInTheRecordingSpoilsIt(t *testing.T) {
	_, _, s := record(t)
	want(t, lines(t, s), "before")
	lines(t, s)
	if ok, text := post(t, s, "rewind"); ok || !strings.Contains(text, "watched twice") {
		t.Errorf("rewind says %q", text)
	}
}
