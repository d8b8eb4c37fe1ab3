package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// tape is what a server answered one client, in the client's first run. From
// then on it gives the same bytes, in the form that the client asked for, to the
// same requests, and knows nothing else.
//
// The events of a watch are what came after the changes: a watch stops before
// them until go is asked for, and stays open behind them.
type tape struct {
	server http.Handler
	change func() error // makes the changes; called once, in the recording

	mu      sync.Mutex
	played  bool // no longer recording
	answers map[string]*answer
	gate    chan struct{} // closed when the events may go
	strange []string      // what was asked and is not on the tape
	errs    []error       // why the tape is of no use
}

// answer is the bytes of one answer.
type answer struct {
	watch  bool
	status int
	header http.Header
	body   []byte
	events int // of a watch: where in the body the events begin
}

func newTape(server http.Handler, change func() error) *tape {
	return &tape{server: server, change: change, answers: map[string]*answer{}, gate: make(chan struct{})}
}

// ServeHTTP answers a client, and below /bench whoever measures it.
func (t *tape) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var err error
	switch r.Method + " " + r.URL.Path {
	case "POST /bench/go":
		err = t.start()
	case "POST /bench/rewind":
		err = t.rewind()
	default:
		t.answer(w, r)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// start lets the events go. In the recording it makes them.
func (t *tape) start() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.played {
		select {
		case <-t.gate:
			return errors.New("the events have gone before")
		default:
			close(t.gate)
			return nil
		}
	}
	for _, a := range t.answers {
		a.events = len(a.body)
	}
	return t.unlocked(t.change)
}

// unlocked calls do while answers may be recorded.
func (t *tape) unlocked(do func() error) error {
	t.mu.Unlock()
	defer t.mu.Lock()
	return do()
}

// rewind ends a run, and with the first one the recording. It fails if the run
// asked for anything that is not on the tape, whose answer was therefore not
// that of a server.
func (t *tape) rewind() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.played, t.gate = true, make(chan struct{})
	if t.strange != nil {
		t.errs = append(t.errs, fmt.Errorf("not asked for in the first run: %s", strings.Join(t.strange, ", ")))
		t.strange = nil
	}
	return errors.Join(t.errs...)
}

func (t *tape) answer(w http.ResponseWriter, r *http.Request) {
	key := keyOf(r)
	t.mu.Lock()
	a, played, gate := t.answers[key], t.played, t.gate
	if a == nil && !played {
		a = &answer{watch: isWatch(r), header: http.Header{}}
		t.answers[key] = a
		t.mu.Unlock()
		t.server.ServeHTTP(&recorder{w: w, tape: t, answer: a}, r)
		return
	}
	if a == nil {
		t.strange = append(t.strange, key)
	} else if !played && a.watch {
		t.errs = append(t.errs, fmt.Errorf("watched twice in the first run: %s", key))
	}
	t.mu.Unlock()
	if a == nil {
		http.Error(w, "not on the tape", http.StatusTeapot)
		return
	}
	a.play(w, r, gate)
}

// play gives the answer again. What it writes to is the kernel: the client that
// is gone is the only failure, and the end of the answer.
func (a *answer) play(w http.ResponseWriter, r *http.Request, gate <-chan struct{}) {
	for k, v := range a.header {
		w.Header()[k] = v
	}
	if !a.watch {
		w.Header().Set("Content-Length", fmt.Sprint(len(a.body)))
		w.WriteHeader(a.status)
		_, _ = w.Write(a.body)
		return
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body[:a.events])
	w.(http.Flusher).Flush()
	select {
	case <-gate:
	case <-r.Context().Done():
		return
	}
	_, _ = w.Write(a.body[a.events:])
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

func isWatch(r *http.Request) bool {
	w := r.URL.Query().Get("watch")
	return w == "1" || w == "true"
}

// keyOf is what makes an answer what it is: not how long a watch would last.
func keyOf(r *http.Request) string {
	q := r.URL.Query()
	q.Del("timeout")
	q.Del("timeoutSeconds")
	path := url.URL{Path: r.URL.Path, RawQuery: q.Encode()}
	return strings.Join(slices.Concat([]string{r.Method, path.String()}, r.Header["Accept"], r.Header["Accept-Encoding"]), " ")
}

// recorder is a response that is also kept.
type recorder struct {
	w      http.ResponseWriter
	tape   *tape
	answer *answer
}

func (r *recorder) Header() http.Header { return r.w.Header() }

func (r *recorder) WriteHeader(status int) {
	r.tape.mu.Lock()
	if r.answer.status == 0 {
		r.answer.status, r.answer.header = status, r.w.Header().Clone()
	}
	r.tape.mu.Unlock()
	r.w.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	r.tape.mu.Lock()
	if r.answer.status == 0 {
		r.answer.status, r.answer.header = http.StatusOK, r.w.Header().Clone()
	}
	r.answer.body = append(r.answer.body, b...)
	r.tape.mu.Unlock()
	return r.w.Write(b)
}

func (r *recorder) Flush() {
	r.tape.mu.Lock()
	if r.answer.status == 0 {
		r.answer.status, r.answer.header = http.StatusOK, r.w.Header().Clone()
	}
	r.tape.mu.Unlock()
	r.w.(http.Flusher).Flush()
}

// Unwrap lets http.ResponseController reach the rest.
func (r *recorder) Unwrap() http.ResponseWriter { return r.w }
