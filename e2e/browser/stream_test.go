package browser

import (
	"fmt"
	"testing"
	"time"

	cdp "github.com/chromedp/cdproto/page"
)

// changesOf is how many changes of a type the page has counted.
const changesOf = `Number(document.querySelector('#types [data-type="%s"]')?.dataset.changes ?? -1)`

// TestEveryChangeIsCounted cuts the browser's connection again and again while pods
// change, and compares what the DOM says with what was written.
func TestEveryChangeIsCounted(t *testing.T) {
	w := start(t)
	w.pod("first", "Running", 0)
	p := w.open("type=pods", look{})
	p.shows(row("first"), "Running")
	wrote := 0
	for round := range 8 {
		for i := range 25 {
			w.pod(fmt.Sprintf("web-%d", i%10), "Running", round*100+i)
			wrote++
		}
		w.delete("web-9")
		wrote++
		w.cut()
		p.until("true") // a moment, as long as a browser takes
	}
	p.until(fmt.Sprintf(changesOf+" === %d", "pods", wrote))
	p.shows(row("web-0"), "Running")
	p.without("#banner", "missing")
	if opened, resumed := w.streams.Load(), w.resumed.Load(); opened < 2 || resumed != opened-1 {
		t.Errorf("%d streams were opened, and %d named the last event", opened, resumed)
	}
	p.sound()
}

// TestConnectionIsLost says so, and since when, and that it came back.
func TestConnectionIsLost(t *testing.T) {
	w := start(t)
	w.pod("web", "Running", 0)
	p := w.open("type=pods", look{})
	p.shows(row("web"), "Running")
	p.shows("#pulse", "live")
	w.refuse.Store(true)
	w.cut()
	p.shows("#banner", "Not connected")
	p.shows("#pulse", "not connected")
	p.shot("lost")
	p.shows(row("web"), "Running")
	w.pod("web", "Failed", 0)
	w.refuse.Store(false)
	p.shows(row("web"), "Failed")
	p.without("#banner", "Not connected")
	p.sound()
}

// TestStreamThatDoesNotResume: listwatch has forgotten what the page was told. The page says so,
// is live again, and has what happened meanwhile.
func TestStreamThatDoesNotResume(t *testing.T) {
	for _, view := range []string{"type=pods", "type=activity"} {
		w := start(t)
		w.pod("web", "Pending", 0)
		p := w.open(view, look{})
		p.shows("#pulse", "live")
		w.pod("web", "Pending", 1)
		p.shows("#rows", "web")
		w.refuse.Store(true)
		w.cut()
		p.shows("#banner", "Not connected")
		w.pod("web", "Failed", 0)
		w.forget.Store(true)
		w.refuse.Store(false)
		p.shows("#banner", "Started again")
		p.shows("#pulse", "live")
		p.shows("#rows", "Failed")
		w.pod("db", "Running", 0)
		p.shows("#rows", "db")
		p.sound()
	}
}

// TestTypeIsStale: the apiserver dies and comes back.
func TestTypeIsStale(t *testing.T) {
	w := start(t)
	w.pod("web", "Running", 0)
	p := w.open("type=pods", look{})
	p.shows(row("web"), "Running")
	back := w.down()
	p.shows("#notes", "Stale")
	p.shows(`#types [data-type="pods"]`, "stale")
	p.shot("stale")
	p.shows(row("web"), "Running")
	back()
	p.without("#notes", "Stale")
	w.pod("web", "Failed", 0)
	p.shows(row("web"), "Failed")
	p.sound()
}

// TestTabsShareAStream: a second tab needs no token, and another stream is not opened.
func TestTabsShareAStream(t *testing.T) {
	w := start(t)
	w.pod("web", "Pending", 0)
	p := w.open("type=pods", look{})
	p.shows(row("web"), "Pending")
	q := p.beside(t, w.web.URL+"/#type=pods&filter=web")
	q.shows(row("web"), "Pending")
	w.pod("web", "Running", 0)
	q.shows(row("web"), "Running")
	p.front() // a tab that is not seen does not draw
	p.shows(row("web"), "Running")
	if n := w.streams.Load(); n != 1 {
		t.Errorf("two tabs opened %d streams", n)
	}
	p.sound()
	q.sound()
}

// TestFrozenTabCatchesUp freezes a tab as a browser does in the background.
func TestFrozenTabCatchesUp(t *testing.T) {
	w := start(t)
	w.pod("web", "Pending", 0)
	p := w.open("type=pods", look{})
	p.shows(row("web"), "Pending")
	p.beside(t, "about:blank")
	p.run(cdp.SetWebLifecycleState(cdp.SetWebLifecycleStateStateFrozen))
	for i := range 200 {
		w.pod(fmt.Sprintf("web-%d", i), "Running", 0)
	}
	w.pod("web", "Running", 7)
	<-time.After(time.Second)
	p.run(cdp.SetWebLifecycleState(cdp.SetWebLifecycleStateStateActive))
	p.front()
	p.shows(row("web"), "Running")
	p.shows("#count", "201")
	p.until(fmt.Sprintf(changesOf+" === 201", "pods"))
	p.sound()
}
