package browser

import (
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui"
	"github.com/listwatch/listwatch/watch"
)

// recorded is an hour in which pod web becomes Running after half of it.
func recorded(t *testing.T, begin time.Time) iter.Seq2[ui.Recorded, error] {
	event := func(after time.Duration, typ watch.Type, name, phase string) ui.Recorded {
		raw := fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":%q,"uid":%q,"resourceVersion":"1"},"status":{"phase":%q}}`, name, "u-"+name, phase)
		object, err := codec.ParseRawFull([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		return ui.Recorded{At: begin.Add(after), Resource: kube.Pods, Event: watch.Event[codec.RawFull]{Type: typ, Object: object, Key: kube.Key{Namespace: "shop", Name: name}, UID: "u-" + name}}
	}
	return func(yield func(ui.Recorded, error) bool) {
		for _, e := range []ui.Recorded{
			{At: begin, Resource: kube.Pods, Event: watch.Event[codec.RawFull]{Type: watch.Restart}},
			event(0, watch.Added, "web", "Pending"),
			{At: begin, Resource: kube.Pods, Event: watch.Event[codec.RawFull]{Type: watch.Synced, Revision: "1"}},
			event(30*time.Minute, watch.Modified, "web", "Running"), event(time.Hour, watch.Added, "late", "Failed"),
		} {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// TestRecording: the slider goes over what was recorded, and nothing is said to be live.
func TestRecording(t *testing.T) {
	begin := time.Now().Add(-3 * time.Hour).Truncate(time.Second)
	w := show(t, ui.Options{Recording: recorded(t, begin)})
	p := w.open("type=pods", look{})
	p.shows("#banner", "A recording")
	p.shows("#pulse", "recording")
	p.shows(row("late"), "Failed")
	p.shows(row("web"), "Running")
	p.without("#where", "cluster") // it has no name
	p.shot("recording")
	p.js(fmt.Sprintf("location.hash += '&at=%d', 1", begin.Add(10*time.Minute).UnixMilli()), nil)
	p.shows(row("web"), "Pending")
	p.without("#rows", "late")
	p.press("Escape")
	p.shows(row("late"), "Failed")
	p.sound()
}

// TestPlainWithoutJavaScript reads a list with a token and links alone.
func TestPlainWithoutJavaScript(t *testing.T) {
	w := start(t)
	w.pod("web", "Running", 0)
	p := open(t, "about:blank", look{})
	p.run(emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(w.web.URL+"/"))
	p.run(chromedp.SendKeys("noscript input", w.ui.Token(), chromedp.ByQuery), chromedp.Click("noscript button", chromedp.ByQuery))
	p.run(chromedp.WaitVisible(`//a[contains(., "pods")]`, chromedp.BySearch))
	p.shot("plain")
	p.run(chromedp.Click(`//a[contains(., "pods")]`, chromedp.BySearch), chromedp.WaitVisible(`//td[contains(., "Running")]`, chromedp.BySearch))
	p.sound()
}
