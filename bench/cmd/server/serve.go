package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listwatch/listwatch/bench/probe"
	"github.com/listwatch/listwatch/bench/workload"
)

type server struct {
	kind workload.Kind
	n    int

	mu     sync.Mutex
	stocks map[workload.Form]*stock
	round  *round
}

// round is one client's run.
type round struct {
	events int // of the whole collection
	rate   int // events a second; 0 = as fast as they are taken

	start func() // lets the events go
	gate  <-chan struct{}
	sent  []int64 // when each event was written, in Unix nanoseconds; with a rate only

	lists, watches atomic.Int64 // requests
}

func newRound(events, rate int) *round {
	gate := make(chan struct{})
	r := &round{events: events, rate: rate, gate: gate, start: sync.OnceFunc(func() { close(gate) })}
	if rate > 0 {
		r.sent = make([]int64, events)
	}
	return r
}

func newServer(k workload.Kind, n int) http.Handler {
	s := &server{kind: k, n: n, stocks: map[workload.Form]*stock{}, round: newRound(0, 0)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /bench/reset", s.reset)
	mux.HandleFunc("POST /bench/go", func(http.ResponseWriter, *http.Request) { s.current().start() })
	mux.HandleFunc("GET /bench/sent", func(w http.ResponseWriter, _ *http.Request) { reply(w, s.current().sent) })
	mux.HandleFunc("GET /bench/info", s.info)
	mux.HandleFunc("GET "+k.Path(""), s.collection)
	mux.HandleFunc("GET "+k.Path("{namespace}"), s.collection)
	return mux
}

func (s *server) info(w http.ResponseWriter, _ *http.Request) {
	peak, err := probe.Peak()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	r := s.current()
	reply(w, probe.Info{
		Path: s.kind.Path(""), Objects: s.n, Events: r.events, Revision: base + int64(s.n),
		Lists: int(r.lists.Load()), Watches: int(r.watches.Load()), Peak: peak,
	})
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// reset begins a round, for which everything is rendered that the Accept header
// asks for.
func (s *server) reset(w http.ResponseWriter, r *http.Request) {
	events, err1 := strconv.Atoi(r.FormValue("events"))
	rate, err2 := strconv.Atoi(r.FormValue("rate"))
	st, err3 := s.stock(r.Header.Get("Accept"))
	if err := errors.Join(err1, err2, err3); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	st.prepare(r.FormValue("initial") == probe.Paged)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.round = newRound(events, rate)
}

func (s *server) current() *round {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.round
}

// stock returns the collection in the form that is accepted.
func (s *server) stock(accept string) (*stock, error) {
	f := workload.Form{
		Proto:   strings.HasPrefix(accept, protobuf),
		Partial: strings.Contains(accept, "as=PartialObjectMetadata"),
	}
	f.Proto = f.Proto && (f.Partial || !s.kind.Custom)
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.stocks[f]; st != nil {
		return st, nil
	}
	st, err := newStock(s.kind, f, s.n)
	if err == nil {
		s.stocks[f] = st
	}
	return st, err
}

func (s *server) collection(w http.ResponseWriter, r *http.Request) {
	st, err := s.stock(r.Header.Get("Accept"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotAcceptable)
		return
	}
	p, err := st.part(r.PathValue("namespace"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	q := r.URL.Query()
	watch := q.Get("watch") == "1" || q.Get("watch") == "true"
	w.Header().Set("Content-Type", st.contentType(watch))
	round := s.current()
	if watch {
		round.watches.Add(1)
		err = s.watch(r.Context(), w, st, p, round, q.Get("sendInitialEvents") == "true")
	} else {
		round.lists.Add(1)
		err = list(w, st, p, q.Get("limit"), q.Get("continue"), q.Get("resourceVersion"))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest) // too late for the header, as a rule
	}
}

// list sends a page. As from a kube-apiserver's cache, revision 0 has no pages.
func list(w http.ResponseWriter, st *stock, p part, limit, from, revision string) error {
	lo := p.lo
	if from != "" {
		var err error
		if lo, err = strconv.Atoi(from); err != nil || lo < p.lo || lo > p.lo+p.n {
			return fmt.Errorf("bad continue token")
		}
	}
	hi := p.lo + p.n
	if n, err := strconv.Atoi(limit); err == nil && n > 0 && revision != "0" {
		hi = min(hi, lo+n)
	}
	m := metav1.ListMeta{ResourceVersion: strconv.FormatInt(st.revision(), 10)}
	if rest := int64(p.lo + p.n - hi); rest > 0 {
		m.Continue, m.RemainingItemCount = strconv.Itoa(hi), &rest
	}
	w.Header().Set(probe.ContinueHeader, m.Continue)
	head, body, tail, err := st.list(m, st.items.slice(lo, hi))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(head)+len(body)+len(tail)))
	return write(w, head, body, tail)
}

// watch sends what exists, if that is wanted, waits for the start, sends the
// events and a bookmark, and then nothing until the client goes.
func (s *server) watch(ctx context.Context, w http.ResponseWriter, st *stock, p part, round *round, initial bool) error {
	events := round.events * p.n / st.n
	first, err := st.mark(st.revision(), true)
	if err != nil {
		return err
	}
	last, err := st.mark(st.revision()+int64(events), false)
	if err != nil {
		return err
	}
	if initial {
		w.Header().Set(probe.InitialHeader, strconv.Itoa(st.initialBytes(p)+len(first)))
	}
	w.Header().Set(probe.EventsHeader, strconv.Itoa(st.eventBytes(p, events)+len(last)))
	w.WriteHeader(http.StatusOK)
	if initial {
		const some = 1000 // objects
		for lo := p.lo; lo < p.lo+p.n; lo += some {
			if write(w, st.frames.slice(lo, min(lo+some, p.lo+p.n))) != nil {
				return nil
			}
		}
		if write(w, first) != nil {
			return nil
		}
	}
	flush(w)
	select {
	case <-round.gate:
	case <-ctx.Done():
		return nil
	}
	send := s.burst
	if round.rate > 0 {
		send = s.paced
	}
	if send(w, st, p, round, events) != nil || write(w, last) != nil {
		return nil // the client is gone
	}
	flush(w)
	<-ctx.Done()
	return nil
}

// burst sends events as fast as they are taken.
func (s *server) burst(w http.ResponseWriter, st *stock, p part, _ *round, events int) error {
	const size = 256 << 10
	buf := make([]byte, 0, 2*size)
	for k := range events {
		if buf = st.event(buf, p, k); len(buf) >= size {
			if _, err := w.Write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
	return write(w, buf)
}

// paced sends events one by one, at the round's rate, and notes when.
func (s *server) paced(w http.ResponseWriter, st *stock, p part, round *round, events int) error {
	pause := time.Second / time.Duration(round.rate)
	begin := time.Now()
	var buf []byte
	for k := range events {
		time.Sleep(time.Until(begin.Add(time.Duration(k) * pause)))
		buf = st.event(buf[:0], p, k)
		round.sent[k] = time.Now().UnixNano()
		if err := write(w, buf); err != nil {
			return err
		}
		flush(w)
	}
	return nil
}

// write sends pieces in large writes.
func write(w http.ResponseWriter, pieces ...[]byte) error {
	const most = 1 << 20
	for _, b := range pieces {
		for len(b) > 0 {
			n, err := w.Write(b[:min(most, len(b))])
			if err != nil {
				return err
			}
			b = b[n:]
		}
	}
	return nil
}

func flush(w http.ResponseWriter) { w.(http.Flusher).Flush() }
