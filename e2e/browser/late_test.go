package browser

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// held answers with v when release is called.
func held(v any) (answer func(*http.Request) any, release func()) {
	free := make(chan struct{})
	return func(r *http.Request) any {
		select {
		case <-free:
		case <-r.Context().Done():
		}
		return v
	}, func() { close(free) }
}

// answered waits until a path was answered n times and the page has drawn the answers.
func (p *page) answered(path string, n int) {
	p.t.Helper()
	p.until(fmt.Sprintf("performance.getEntriesByType('resource').filter(e => e.name.includes(%s)).length >= %d", quote(path), n))
	frames := "new Promise(done => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => done(1))), 100))"
	p.run(chromedp.Evaluate(frames, nil, func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
}

// aboutPod adds what the page of pod shop/web gets.
func (s *script) aboutPod() {
	now := time.Now().UnixMilli()
	s.answers["object"] = podWith("phase: Running")
	s.answers["history"] = object{"states": array{object{"pos": 1, "at": now, "op": "MODIFIED", "headline": "Changed", "changes": array{}}}, "from": now}
	s.answers["events"] = object{"events": array{}, "state": "live"}
	s.answers["tree"] = object{"root": object{"type": "pods", "kind": "Pod", "name": "web", "self": true}}
	s.answers["logs"] = "a line of the log"
}

func podWith(yaml string) object {
	return object{"type": "pods", "kind": "Pod", "ns": "shop", "name": "web", "exists": true, "yaml": yaml, "containers": array{object{"name": "app", "state": "running"}}}
}

// TestLateObject: the present state that arrives after a state of the past was chosen is
// not shown as that of the past.
func TestLateObject(t *testing.T) {
	s := stateOf("live", "", nil)
	s.aboutPod()
	present, release := held(podWith("phase: Running"))
	s.answers["object"] = func(r *http.Request) any {
		if r.FormValue("pos") != "" {
			return podWith("phase: Pending")
		}
		return present(r)
	}
	p := open(t, s.serve(t)+"&type=pods&object=pods/shop/web&tab=history", look{})
	p.click("#object .story .pick button")
	p.shows("#object pre.yaml", "phase: Pending")
	release()
	p.answered("api/object", 2)
	if got := strings.TrimSpace(p.text("#object pre.yaml")); got != "phase: Pending" {
		t.Errorf("the state of the past is %q, want phase: Pending", got)
	}
	p.sound()
}

// TestLateActivity: bars that were requested before those that are shown are dropped.
func TestLateActivity(t *testing.T) {
	s := stateOf("live", "", nil)
	now := time.Now().UnixMilli()
	old, release := held(object{"from": now - 300000, "to": now, "buckets": array{array{0, 9, 0}}})
	first := make(chan struct{}, 1)
	first <- struct{}{}
	s.answers["activity"] = func(r *http.Request) any {
		select {
		case <-first:
			return old(r)
		default:
			return object{"from": now - 300000, "to": now, "buckets": array{array{9, 0, 0}}}
		}
	}
	p := open(t, s.serve(t), look{})
	p.until("document.querySelector('#bars rect.a')")
	release()
	p.answered("api/activity", 2)
	var older bool
	p.js("!!document.querySelector('#bars rect.m')", &older)
	if older {
		t.Error("the bars are those of the older request")
	}
	p.sound()
}

// TestLateTypes: a type that the stream has changed is not replaced by an older answer.
func TestLateTypes(t *testing.T) {
	s := stateOf("live", "", nil)
	all, release := held(s.answers["types"])
	s.answers["types"] = all
	p := open(t, s.serve(t), look{})
	p.shows("#pulse", "live")
	pods := typeOf("pods", "Pod", "live", "")
	pods["count"] = 7
	s.send("types", 1, object{"types": array{pods}})
	p.shows(`#types [data-type="pods"]`, "7")
	release()
	p.shows("#list", "No pods")
	p.shows(`#types [data-type="pods"]`, "7")
	p.sound()
}

// TestLateChanges: while the changes of another filter load, the page does not say that
// there are none.
func TestLateChanges(t *testing.T) {
	s := stateOf("live", "", nil)
	filtered, release := held(object{"changes": array{}})
	s.answers["changes"] = func(r *http.Request) any {
		if r.FormValue("text") != "" {
			return filtered(r)
		}
		return object{"changes": array{}}
	}
	p := open(t, s.serve(t)+"&type=activity", look{})
	p.shows("#rows", "No changes")
	p.js("location.hash += '&filter=web', 1", nil)
	p.shows("#rows", "Loading")
	release()
	p.shows("#rows", "No change matches")
	p.sound()
}

// TestChangesBeforeTheStreamHasThem: what changed after the page has read the changes, and
// before the stream had those of its filter, is read then.
func TestChangesBeforeTheStreamHasThem(t *testing.T) {
	s := stateOf("live", "", nil)
	change := func(pos int, what string) object {
		return object{"pos": pos, "at": time.Now().UnixMilli(), "type": "pods", "op": "MODIFIED", "ns": "shop", "name": "web", "what": what}
	}
	s.answers["changes"] = func(r *http.Request) any {
		s.mu.Lock()
		defer s.mu.Unlock()
		if text := r.FormValue("text"); s.follows == text {
			return object{"more": true, "changes": array{change(9, "late "+text), change(8, "next")}}
		}
		return object{"changes": array{change(3, "early")}}
	}
	s.follows = "-"
	p := open(t, s.serve(t)+"&type=activity", look{})
	p.shows("#rows", "late")
	p.shows("#rows", "next")
	p.without("#rows", "early") // there may be others between
	p.shows("#rows", "Earlier changes")
	p.js("location.hash += '&filter=web', 1", nil)
	p.shows("#rows", "late web")
	p.sound()
}

// TestLogOfAnotherPod is shown where the log of one was open.
func TestLogOfAnotherPod(t *testing.T) {
	s := stateOf("live", "", nil)
	s.aboutPod()
	other, release := held(podWith("phase: Running"))
	s.answers["object"] = func(r *http.Request) any {
		if r.FormValue("name") == "other" {
			return other(r)
		}
		return podWith("phase: Running")
	}
	p := open(t, s.serve(t)+"&type=pods&object=pods/shop/web&tab=logs", look{})
	p.shows("#object pre.log", "a line of the log")
	p.js("location.hash = 'type=pods&object=pods/shop/other&tab=logs', 1", nil)
	p.shows("#object h1", "other")
	p.shows("#object .body", "Loading")
	release()
	p.shows("#object pre.log", "a line of the log")
	p.sound()
}
