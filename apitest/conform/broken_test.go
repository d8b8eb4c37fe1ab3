package conform

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/apitest"
)

// fault makes the fake server break a rule, from the side of the client: what
// reaches the server is not what was asked, or what comes back not its answer.
type fault struct {
	request func(*http.Request)
	answer  func(*http.Request, *http.Response) // of anything but a watch
	event   func(line string) string            // of a watch; "" drops it
	options func(*apitest.Options)
}

func (f fault) RoundTrip(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/api/v1/namespaces" && r.Method == "POST" {
		return next.RoundTrip(r) // the check's own namespace: without it, anything fails
	}
	r = r.Clone(r.Context())
	if f.request != nil {
		f.request(r)
	}
	resp, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	watching := r.URL.Query().Has("watch") && resp.StatusCode == http.StatusOK
	switch {
	case watching && f.event != nil:
		resp.Body = &eventReader{lines: bufio.NewReader(resp.Body), edit: f.event, Closer: resp.Body}
	case !watching && f.answer != nil:
		f.answer(r, resp)
	}
	return resp, nil
}

// eventReader edits events as they are read.
type eventReader struct {
	io.Closer
	lines *bufio.Reader
	edit  func(string) string
	ready []byte
}

func (e *eventReader) Read(b []byte) (int, error) {
	for len(e.ready) == 0 {
		line, err := e.lines.ReadString('\n')
		if err != nil {
			return 0, err
		}
		e.ready = []byte(e.edit(line))
	}
	n := copy(b, e.ready)
	e.ready = e.ready[n:]
	return n, nil
}

// Requests.

// ignoresHeader takes a header away.
func ignoresHeader(name string) fault {
	return fault{request: func(r *http.Request) { r.Header.Del(name) }}
}

// forgets takes a header of an answer away.
func forgets(name string) fault {
	return fault{answer: func(_ *http.Request, resp *http.Response) { resp.Header.Del(name) }}
}

func ignores(params ...string) fault {
	return fault{request: func(r *http.Request) {
		q := r.URL.Query()
		for _, p := range params {
			q.Del(p)
		}
		r.URL.RawQuery = q.Encode()
	}}
}

func adds(method, param, value string) fault {
	return fault{request: func(r *http.Request) {
		if q := r.URL.Query(); r.Method == method {
			q.Set(param, value)
			r.URL.RawQuery = q.Encode()
		}
	}}
}

// overlooks loses a field of what clients send: "preconditions", "metadata.uid".
func overlooks(field string) fault {
	return sends(func(o map[string]any) {
		parts := strings.Split(field, ".")
		for _, p := range parts[:len(parts)-1] {
			o, _ = o[p].(map[string]any)
		}
		delete(o, parts[len(parts)-1])
	})
}

// sends edits the JSON objects that clients send.
func sends(edit func(o map[string]any)) fault {
	return fault{request: func(r *http.Request) {
		if r.Body == nil {
			return
		}
		b, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		var o map[string]any
		if json.Unmarshal(b, &o) == nil {
			edit(o)
			if b, err = json.Marshal(o); err != nil {
				panic(err)
			}
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
	}}
}

// takes takes one value of a header for another; that of a body only if it is a
// patch.
func takes(header, value, as string) fault {
	return fault{request: func(r *http.Request) {
		if (value == "" || r.Header.Get(header) == value) && (header != "Content-Type" || r.Method == "PATCH") {
			r.Header.Set(header, as)
		}
	}}
}

func path(old, new string) fault {
	return fault{request: func(r *http.Request) { r.URL.Path = strings.Replace(r.URL.Path, old, new, 1) }}
}

// Answers.

// answers edits the bodies of answers and the lines of watches.
func answers(pattern, with string) fault {
	re := regexp.MustCompile(pattern)
	f := fault{event: func(line string) string { return re.ReplaceAllString(line, with) }}
	f.answer = func(_ *http.Request, resp *http.Response) {
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			panic(err)
		}
		b = re.ReplaceAll(b, []byte(with))
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
		resp.Header.Del("Content-Length")
	}
	return f
}

func codes(old, new int) fault {
	return fault{answer: func(_ *http.Request, resp *http.Response) {
		if resp.StatusCode == old {
			resp.StatusCode = new
		}
	}}
}

func headless(header string) fault {
	return fault{answer: func(_ *http.Request, resp *http.Response) { resp.Header.Del(header) }}
}

// edits edits the JSON objects that the server answers with.
func edits(edit func(o map[string]any)) fault {
	return fault{answer: func(_ *http.Request, resp *http.Response) {
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			panic(err)
		}
		var o map[string]any
		if json.Unmarshal(b, &o) == nil {
			edit(o)
			if b, err = json.Marshal(o); err != nil {
				panic(err)
			}
		}
		resp.Body = io.NopCloser(bytes.NewReader(b))
	}}
}

// reversed returns the items of lists in the other order.
func reversed() fault {
	return edits(func(o map[string]any) {
		if items, ok := o["items"].([]any); ok {
			slices.Reverse(items)
		}
	})
}

// hides leaves out a field of metadata.
func hides(field string) fault {
	return edits(func(o map[string]any) {
		if meta, ok := o["metadata"].(map[string]any); ok {
			delete(meta, field)
		}
	})
}

// Events.

func drops(typ string) fault {
	return fault{event: func(line string) string {
		if strings.HasPrefix(line, `{"type":"`+typ+`"`) {
			return ""
		}
		return line
	}}
}

func doubles() fault { return fault{event: func(line string) string { return line + line }} }

func begins(with string) fault {
	begun := false
	return fault{event: func(line string) string {
		if begun {
			return line
		}
		begun = true
		return with + line
	}}
}

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	failed atomic.Bool
}

func (r *recorder) Error(args ...any) {
	r.failed.Store(true)
	r.Log(args...)
}

func (r *recorder) Errorf(format string, args ...any) { r.Error(sprint(format, args...)) }

func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) { r.Fatal(sprint(format, args...)) }

type transport struct {
	fault
	next http.RoundTripper
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	return t.fault.RoundTrip(t.next, r)
}

// TestEachRuleCanFail: a rule that no server can break is none.
func TestEachRuleCanFail(t *testing.T) {
	all := broken()
	for _, category := range categories() {
		for _, check := range category.checks {
			if len(all[check.name]) == 0 {
				t.Errorf("%s: nothing is known that breaks it", check.name)
			}
			for i, f := range all[check.name] {
				t.Run(sprint("%s/%s/%d", category.name, check.name, i), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						t.Cleanup(func() { time.Sleep(time.Minute) }) // requests that are given up end on the server
						o := apitest.Options{InMemory: true, Namespaces: true}
						if f.options != nil {
							f.options(&o)
						}
						srv := apitest.NewWith(t, o)
						c := *srv.Client()
						c.Transport = transport{f, c.Transport}
						r := &recorder{TB: t}
						done := make(chan struct{})
						go func() {
							defer close(done)
							check.run(newEnv(r, srv.URL, &c))
						}()
						<-done
						if !r.failed.Load() {
							t.Error("it passes on a server that breaks it")
						}
					})
				})
			}
			delete(all, check.name)
		}
	}
	for name := range all {
		t.Errorf("there is no rule %q", name)
	}
}

// with is both faults.
func (f fault) with(g fault) fault {
	both := f
	if f.request != nil && g.request != nil {
		both.request = func(r *http.Request) { f.request(r); g.request(r) }
	} else if g.request != nil {
		both.request = g.request
	}
	if g.answer != nil {
		both.answer = g.answer
	}
	return both
}

// touches changes an object at each write, as if it were its time.
func touches() fault {
	n := 0
	return sends(func(o map[string]any) {
		meta, _ := o["metadata"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
			o["metadata"] = meta
		}
		n++
		meta["annotations"] = map[string]string{"touched": sprint("%d", n)}
	})
}

// countsAll makes a change of the spec of every patch.
func countsAll() fault {
	n := 10
	return sends(func(o map[string]any) {
		if o["kind"] == nil {
			n++
			o["spec"] = map[string]any{"minReadySeconds": n}
		}
	})
}

// keepsScale takes a Scale and does nothing with it.
func keepsScale() fault {
	return sends(func(o map[string]any) {
		if o["kind"] == "Scale" {
			delete(o, "spec")
		}
	})
}

// overlooksTests does JSON patches without their tests.
func overlooksTests() fault {
	test := regexp.MustCompile(`\{"op":"test"[^}]*\},?`)
	return fault{request: func(r *http.Request) {
		if r.Method != "PATCH" {
			return
		}
		b, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		b = []byte(strings.Replace(test.ReplaceAllString(string(b), ""), "},]", "}]", 1))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
	}}
}
