package browser

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
)

// media lets the page be on another medium, or under another wish of its user.
func (p *page) media(medium string, features ...*emulation.MediaFeature) {
	p.t.Helper()
	p.run(emulation.SetEmulatedMedia().WithMedia(medium).WithFeatures(features))
}

// TestPrint: on paper there are the rows and the object, in dark ink, and nothing to press.
func TestPrint(t *testing.T) {
	w := start(t)
	for _, name := range []string{"cart", "web", "zz-last"} {
		w.pod(name, "Running", 3)
	}
	p := w.open("type=pods&object=pods/shop/web&tab=yaml", look{width: 800, height: 400, dark: true})
	p.shows(row("zz-last"), "Running")
	p.shows("#object pre.yaml", "restartCount: 3")
	p.media("print", &emulation.MediaFeature{Name: "prefers-color-scheme", Value: "dark"})
	p.shot("print")
	var seen []string
	p.js("[...document.querySelectorAll('#types, #time, .top, .tabs, #object .icon, #skip, #menu')].filter(e => e.getClientRects().length).map(e => e.id || e.className)", &seen)
	if len(seen) > 0 {
		t.Errorf("on paper there are %q", seen)
	}
	p.until("document.querySelector('#title').getClientRects().length")
	// What is longer than the screen goes on, on the next page.
	p.until("[...document.querySelectorAll('html, body, #list, #rows, #object, #object .body')].every(e => e.scrollHeight <= e.clientHeight + 1 || getComputedStyle(e).overflowY === 'visible')")
	p.until("document.documentElement.scrollHeight > document.querySelector('#object pre.yaml').getBoundingClientRect().bottom - 1")
	p.until("document.querySelector('#object').getBoundingClientRect().top >= document.querySelector('" + row("zz-last") + "').getBoundingClientRect().bottom - 1")
	const luminance = "(e => { const [r, g, b] = getComputedStyle(document.querySelector(e)).color.match(/[\\d.]+/g); return (r * 2 + g * 5 + b * 1) / 8 })"
	for _, e := range []string{"#title", "tr.row td", "#object h1", "pre.yaml", "pre.yaml .k"} {
		var ink float64
		p.js(luminance+"("+quote(e)+")", &ink)
		if ink > 130 {
			t.Errorf("%s is printed with ink of brightness %.0f of 255 on white", e, ink)
		}
	}
	p.media("")
	p.until("document.querySelector('#types').getClientRects().length")
	p.sound()
}

// TestReducedMotion: who wishes for none sees none. The others see how the types come, and changes
// move nothing for them either: a browser would draw all the time.
func TestReducedMotion(t *testing.T) {
	const running = "document.getAnimations().filter(a => a.playState === 'running').length"
	w := start(t)
	w.pod("web", "Running", 0)
	p := w.open("type=pods", look{width: 400, height: 800})
	p.shows(row("web"), "Running")
	p.js("window.moved = 0, addEventListener('animationstart', () => moved++), addEventListener('transitionrun', () => moved++), 1", nil)
	w.pod("web", "Running", 1)
	p.shows(row("web")+" td.hit", "1")
	var moved int
	if p.js("moved", &moved); moved > 0 {
		t.Errorf("%d animations and transitions were begun by a change", moved)
	}
	p.click("#menu")
	p.until("moved > 0")
	p.until(running + " === 0")
	p.click("#menu")
	p.until(running + " === 0")
	p.media("", &emulation.MediaFeature{Name: "prefers-reduced-motion", Value: "reduce"})
	p.js("moved = 0, 1", nil)
	w.pod("web", "Failed", 2)
	w.pod("new", "Pending", 0)
	p.shows(row("web")+" td.hit", "Failed")
	p.shows(row("new")+".new", "Pending")
	p.click("#menu")
	p.shows("#types", "Deployments")
	p.click("#types [data-type='deployments.apps']")
	p.shows("#rows", "No deployments")
	p.js("moved", &moved)
	if moved > 0 {
		t.Errorf("%d animations and transitions were begun", moved)
	}
	p.sound()
}
