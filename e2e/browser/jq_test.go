package browser

import (
	"fmt"
	"testing"
)

// TestFilterByJQ: on Enter, with what it found, and with the reason where it is none.
func TestFilterByJQ(t *testing.T) {
	w := start(t)
	for i := range 30 {
		w.pod(fmt.Sprintf("web-%02d", i), "Running", i)
	}
	w.pod("cart", "Pending", 99)
	p := w.open("type=pods", look{})
	p.shows("#count", "31")
	p.press("/")
	p.enter(`.status.phase == "Pending"`)
	p.shows("#mode", "press Enter")
	p.shows("#count", "31")
	p.press("Enter")
	p.shows("#count", "1 of 31 match")
	p.shows(row("cart"), "Pending")
	p.shot("jq")
	w.pod("web-07", "Pending", 7)
	p.shows(row("web-07"), "Pending")
	p.shows("#count", "2 of 31 match")
	w.pod("cart", "Running", 99)
	p.shows("#count", "1 of 31 match")
	p.press("/")
	p.enter(`.status.containerStatuses[0].restartCount >= 28`)
	p.press("Enter")
	p.shows("#count", "3 of 31 match")
	p.press("/")
	p.enter(`.status[`)
	p.press("Enter")
	p.shows("#find.wrong #mode", "jq")
	p.press("/")
	p.enter(`.status.phase + 1`)
	p.press("Enter")
	p.shows("#count", "31 objects failed")
	p.press("Escape")
	p.shows("#count", "31")
	p.shows(row("cart"), "Running")
	p.sound()
}
