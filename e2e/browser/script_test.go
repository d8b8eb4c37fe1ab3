package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"
)

type object = map[string]any
type array = []any

// script is a handler that answers as ui/PROTOCOL.md says, with what a test made up.
type script struct {
	mu      sync.Mutex
	answers map[string]any  // path: what GET and POST answer; a refusal answers an error, a func decides
	windows map[string]any  // type: the window, without its id
	wanted  map[string]bool // "CLIENT ID" of windows that were sent
	follows string          // the text of the activity that is subscribed to; "-" = none
	streams map[string]chan string
}

// refusal is an error of the protocol.
type refusal struct {
	status        int
	reason, error string
}

// serve starts a script with the page's files and returns its link.
func (s *script) serve(t *testing.T) string {
	s.wanted, s.streams = map[string]bool{}, map[string]chan string{}
	mux := http.NewServeMux()
	files := http.FileServerFS(os.DirFS("../../ui/static"))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'")
		files.ServeHTTP(w, r)
	})
	mux.HandleFunc("POST /api/session", func(w http.ResponseWriter, r *http.Request) { answer(w, object{"key": "K"}) })
	mux.HandleFunc("POST /api/subscribe", s.subscribe)
	mux.HandleFunc("GET /api/stream", s.stream)
	mux.HandleFunc("GET /api/list", func(w http.ResponseWriter, r *http.Request) { answer(w, s.windows[r.FormValue("type")]) })
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		v := s.answers[r.URL.Path[len("/api/"):]]
		if f, ok := v.(func(*http.Request) any); ok {
			v = f(r)
		}
		answer(w, v)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL + "/#token=t"
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	switch v := v.(type) {
	case refusal:
		w.WriteHeader(v.status)
		json.NewEncoder(w).Encode(object{"error": v.error, "reason": v.reason})
	case nil:
		w.WriteHeader(http.StatusNotFound)
		json.NewEncoder(w).Encode(object{"error": "it is not there", "reason": "notfound"})
	default:
		json.NewEncoder(w).Encode(v)
	}
}

func (s *script) queue(client string) chan string {
	if s.streams[client] == nil {
		s.streams[client] = make(chan string, 1000)
	}
	return s.streams[client]
}

func (s *script) subscribe(w http.ResponseWriter, r *http.Request) {
	var sub struct {
		Client   string
		Windows  []struct{ ID, Type string }
		Activity *struct{ Text string }
	}
	if err := json.NewDecoder(r.Body).Decode(&sub); err != nil {
		answer(w, refusal{400, "invalid", err.Error()})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follows = "-"
	if sub.Activity != nil {
		s.follows = sub.Activity.Text
	}
	for _, win := range sub.Windows {
		if id := sub.Client + " " + win.ID; !s.wanted[id] {
			s.wanted[id] = true
			whole := object{"id": win.ID}
			for k, v := range s.windows[win.Type].(object) {
				whole[k] = v
			}
			s.queue(sub.Client) <- event("window", 1, whole)
		}
	}
	answer(w, object{})
}

// send sends an event to all streams.
func (s *script) send(name string, pos int, data any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.streams {
		c <- event(name, pos, data)
	}
}

func event(name string, pos int, data any) string {
	b, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("event: %s\nid: e.%d\ndata: %s\n\n", name, pos, b)
}

func (s *script) stream(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	events := s.queue(r.FormValue("client"))
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, event("hello", 1, object{"epoch": "e", "pos": 1, "now": time.Now().UnixMilli(), "totals": object{}}))
	ping := time.NewTicker(5 * time.Second)
	defer ping.Stop()
	for {
		http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			return
		case e := <-events:
			fmt.Fprint(w, e)
		case <-ping.C:
			fmt.Fprint(w, event("ping", 1, object{"now": time.Now().UnixMilli()}))
		}
	}
}

// typeOf is a type in a state.
func typeOf(name, kind, state, reason string) object {
	return object{"type": name, "version": "v1", "kind": kind, "plural": name, "namespaced": true, "shortNames": array{}, "section": "Workloads", "count": 3,
		"state": state, "reason": reason, "heard": time.Now().UnixMilli(), "rate": []int{0, 1, 3, 0}}
}
