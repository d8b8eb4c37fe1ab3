package browser

import (
	"context"
	"fmt"
	"testing"

	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// sleepy hides a page by setHidden(true), and lets the half minute after which a hidden tab
// asks for nothing be a moment.
const sleepy = `
let isHidden = false;
const later = window.setTimeout;
window.setTimeout = (f, ms, ...more) => later(f, ms === 30000 ? 10 : ms, ...more);
Object.defineProperty(document, "hidden", { get: () => isHidden });
window.setHidden = on => { isHidden = on; document.dispatchEvent(new Event("visibilitychange")); };`

// openSleepy opens the page with a view.
func (w *world) openSleepy(view string) *page {
	w.t.Helper()
	return w.openWith(sleepy, "/", view)
}

// openWith opens a path of the page with a view, after a script.
func (w *world) openWith(script, path, view string) *page {
	w.t.Helper()
	p := open(w.t, "about:blank", look{})
	p.run(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := cdp.AddScriptToEvaluateOnNewDocument(script).Do(ctx)
		return err
	}), chromedp.Navigate(w.web.URL+path+"#token="+w.ui.Token()+"&"+view))
	return p
}

// TestWhatComesAfterASilenceIsOld: while a machine sleeps, what the server sent stays in a
// buffer, and the server may have given up. The page connects again, also where it reads that
// before it looks at the clock.
func TestWhatComesAfterASilenceIsOld(t *testing.T) {
	w := start(t)
	w.pod("web", "Pending", 0)
	p := w.openWith(`
const real = Date.now, every = window.setInterval;
let skew = 0;
Date.now = () => real() + skew;
window.setInterval = (f, ms, ...more) => every(f, ms === 1000 ? 1e9 : ms, ...more);
window.sleepFor = ms => { skew += ms; };`, "/?own", "type=pods")
	p.shows(row("web"), "Pending")
	p.js("sleepFor(40000), 1", nil)
	w.pod("web", "Running", 0)
	w.until("the page connects again", func() bool { return w.streams.Load() == 2 })
	p.shows(row("web"), "Running")
	if n := w.resumed.Load(); n != 1 {
		t.Errorf("%d streams were resumed", n)
	}
	p.sound()
}

// TestSleepingTabCatchesUp: a hidden tab gets no rows, and has all of them, and all counts,
// when it is seen again.
func TestSleepingTabCatchesUp(t *testing.T) {
	w := start(t)
	for i := range 40 {
		w.pod(fmt.Sprintf("web-%02d", i), "Pending", 0)
	}
	p := w.openSleepy("type=pods&object=pods/shop/web-07&tab=history")
	p.shows(row("web-07"), "Pending")
	p.shows("#object .story", "First seen")
	subscribed := w.subscribed.Load()
	p.js("setHidden(true), 1", nil)
	w.until("the page asks for nothing", func() bool { return w.subscribed.Load() > subscribed })
	for i := range 40 {
		w.pod(fmt.Sprintf("web-%02d", i), "Running", 3)
	}
	w.delete("web-11")
	w.pod("late", "Running", 0)
	p.until(fmt.Sprintf(changesOf+" === 42", "pods")) // counts come to a tab that sleeps too
	p.shows(row("web-07"), "Pending")
	p.js("setHidden(false), 1", nil)
	p.shows(row("web-07"), "Running")
	p.shows(row("late"), "Running")
	p.shows("#count", "40")
	p.shows("#object .story", "Pending → Running")
	p.until(fmt.Sprintf("!document.querySelector('%s')", row("web-11")))
	if n := w.streams.Load(); n != 1 {
		t.Errorf("%d streams were opened, want 1", n)
	}
	p.sound()
}

// TestSleepingActivityCatchesUp: what changed while nobody looked is in Activity afterwards, and
// where it is more than the page reads at once, no hole is left.
func TestSleepingActivityCatchesUp(t *testing.T) {
	w := start(t)
	p := w.openSleepy("type=activity")
	p.shows("#pulse", "live")
	w.pod("early", "Pending", 0)
	p.shows("#rows", "shop/early")
	made := 1
	for _, pods := range []int{3, 150} {
		subscribed := w.subscribed.Load()
		p.js("setHidden(true), 1", nil)
		w.until("the page asks for nothing", func() bool { return w.subscribed.Load() > subscribed })
		for i := range pods {
			w.pod(fmt.Sprint("web-", pods, "-", i), "Pending", 0)
		}
		made += pods
		p.until(fmt.Sprintf(changesOf+" === %d", "pods", made))
		p.js("setHidden(false), 1", nil)
		p.shows("#rows", fmt.Sprint("shop/web-", pods, "-", pods-1))
		p.until(fmt.Sprintf("document.querySelectorAll('#rows tr.change').length === %d", min(made, 100)))
	}
	p.click("#rows .sheet button")
	p.shows("#rows", "shop/early")
	p.until(fmt.Sprintf("document.querySelectorAll('#rows tr.change').length === %d", made))
	p.sound()
}
