package browser

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
)

// TestNarrow fits in 400 pixels: nothing but the table scrolls sideways.
func TestNarrow(t *testing.T) {
	w := start(t)
	w.pod("web-7d9c6f5b8c-4kq7d", "Running", 3)
	p := w.open("type=pods", look{width: 400, height: 800})
	p.shows(row("web-7d9c6f5b8c-4kq7d"), "Running")
	p.until("document.documentElement.scrollWidth <= 400")
	p.shot("narrow")
	p.click("#menu")
	p.shows("#types", "Deployments")
	p.press("Escape")
	p.click("tr.row")
	p.shows("#object h1", "web-7d9c6f5b8c-4kq7d")
	p.until("document.querySelector('#object').getBoundingClientRect().width <= 400")
	p.shot("narrow-object")
	p.sound()
}

// TestTurned: a window that becomes narrow has the columns of a narrow one, and back.
func TestTurned(t *testing.T) {
	w := start(t)
	w.pod("web", "Running", 3)
	p := w.open("type=pods", look{})
	p.shows("#rows thead", "Namespace")
	p.run(emulation.SetDeviceMetricsOverride(400, 800, 1, false))
	p.without("#rows thead", "Namespace")
	p.shows(row("web"), "Running")
	p.run(emulation.SetDeviceMetricsOverride(1280, 800, 1, false))
	p.shows("#rows thead", "Namespace")
	p.shows(row("web"), "shop")
	p.sound()
}

// TestNamesForScreenReaders: what can be pressed has a name, and the grid says its rows.
func TestNamesForScreenReaders(t *testing.T) {
	w := start(t)
	w.pod("web", "Running", 3)
	p := w.open("type=pods", look{})
	p.shows(row("web"), "Running")
	p.press("j", "Enter")
	p.shows("#object h1", "web")
	var nameless []string
	p.js("[...document.querySelectorAll('button, a, input, select, [role=slider], [role=grid]')].filter(e => !(e.getAttribute('aria-label') || e.innerText || e.title || e.labels?.length)).map(e => e.outerHTML)", &nameless)
	if len(nameless) > 0 {
		t.Errorf("without a name: %q", nameless)
	}
	p.until("document.querySelector('#rows').getAttribute('aria-rowcount') === '2' && document.getElementById(document.querySelector('#rows').getAttribute('aria-activedescendant'))")
	p.until("document.querySelector('[role=tab][aria-selected=true]').tabIndex === 0 && document.querySelectorAll('[role=tab][tabindex=\"0\"]').length === 1")
	p.until("document.activeElement.id === 'object-title'")
	p.sound()
}
