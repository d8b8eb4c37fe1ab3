package ui

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/internal/reviews"
	"github.com/listwatch/listwatch/kube"
)

// TestAudienceIsChecked: a server that compares no audiences accepts a token of another
// one, and says no audience.
func TestAudienceIsChecked(t *testing.T) {
	for said, code := range map[string]int{"": 401, "other": 401, "listwatch": 200} {
		inWorld(t, Options{TokenReview: true, Audiences: []string{"listwatch"}}, func(w *world) {
			w.srv.On(apitest.Match{Path: reviews.Tokens.Path("")}, func(rw http.ResponseWriter, _ *http.Request) {
				status := map[string]any{"authenticated": true, "user": map[string]any{"username": "jane"}}
				if said != "" {
					status["audiences"] = []string{said}
				}
				rw.Header().Set("Content-Type", "application/json")
				rw.WriteHeader(http.StatusCreated)
				_ = json.NewEncoder(rw).Encode(map[string]any{"status": status}) // the client sees what it gets
			})
			p := &page{world: w}
			if rec := p.do("POST", "api/session", `{"bearer":"t"}`); rec.Code != code {
				t.Errorf("audience %q: %d %s, want %d", said, rec.Code, rec.Body, code)
			}
		})
	}
}

// TestOnePersonLeavesStreamsToOthers: also with several sessions.
func TestOnePersonLeavesStreamsToOthers(t *testing.T) {
	inWorld(t, Options{TokenReview: true}, func(w *world) {
		w.reviewed()
		a, b := w.jane(), w.jane()
		for n := range maxOwn {
			p := []*page{a, b}[n%2]
			p.post("api/subscribe", fmt.Sprintf(`{"client":"client-%d"}`, n))
		}
		if rec := a.do("POST", "api/subscribe", `{"client":"one-more"}`); rec.Code != http.StatusTooManyRequests {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
	})
}

// TestFoldedCountsAreOfWhatIsSeen: changes in other namespaces are not counted.
func TestFoldedCountsAreOfWhatIsSeen(t *testing.T) {
	inWorld(t, Options{TokenReview: true}, func(w *world) {
		w.reviewed()
		w.pod("a", "Pending")
		w.pass(time.Second)
		p := w.jane()
		p.post("api/subscribe", `{"client":"client-1","windows":[{"id":"w","type":"pods"}]}`)
		s := p.stream("client-1", "")
		go func() {
			<-time.After(time.Second)
			for n := range 50 {
				w.srv.Put(kube.Pods, fmt.Sprintf(`{"metadata":{"namespace":"bank","name":"vault"},"status":{"phase":"P%d"}}`, n))
			}
			w.pod("a", "Running")
		}()
		s.read(5 * time.Second)
		for _, e := range s.seen {
			var d struct{ Folded int }
			if err := json.Unmarshal(e.data, &d); err != nil || d.Folded != 0 {
				t.Errorf("%s: %s %v", e.name, e.data, err)
			}
		}
	})
}

// TestVerdictsOfDeletedObjectsAreForgotten: a jq filter over objects that come and go
// takes no more memory than one over those that exist.
func TestVerdictsOfDeletedObjectsAreForgotten(t *testing.T) {
	filter := func(string) (func(map[string]any) (bool, error), error) {
		return func(map[string]any) (bool, error) { return true, errors.New("no number") }, nil
	}
	inWorld(t, Options{Filter: filter}, func(w *world) {
		p := w.open()
		p.post("api/subscribe", `{"client":"client-1","windows":[{"id":"w","type":"pods","jq":"x"}]}`)
		s := p.stream("client-1", "")
		go func() {
			for n := range 40 {
				w.pod(fmt.Sprint("p", n), "Running")
				<-time.After(200 * time.Millisecond)
				w.delete(fmt.Sprint("p", n))
				<-time.After(200 * time.Millisecond)
			}
			w.pod("last", "Running")
		}()
		s.read(30 * time.Second)
		k := w.ui.kind("pods")
		k.mu.Lock()
		defer k.mu.Unlock()
		for v := range k.views {
			if sc := v.scan; len(sc.verdicts) != 1 || sc.done != 1 || sc.failed != 1 || len(sc.pending) != 0 {
				t.Errorf("%d verdicts, %d done, %d failed, %d pending", len(sc.verdicts), sc.done, sc.failed, len(sc.pending))
			}
		}
	})
}

// TestAnErrorStays: a watch that no retry mends leaves its error, which the count of idle
// types does not replace.
func TestAnErrorStays(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p := w.open()
		k := w.ui.kind("pods")
		_ = k.failed(errors.New("no retry mends this"))
		k.mu.Lock()
		k.stop(nil)
		k.mu.Unlock()
		w.pass(time.Second)
		for range 3 {
			var types struct{ Types []wireType }
			p.get("api/types", &types)
			for _, k := range types.Types {
				if k.Type == "pods" && (k.State != stateError || k.Reason != "no retry mends this") {
					t.Errorf("%s %s", k.State, k.Reason)
				}
			}
			w.pass(70 * time.Second)
		}
	})
}
