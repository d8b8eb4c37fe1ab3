package browser

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"math"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
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

// TestNarrowActivity: on a telephone a change is read without scrolling sideways, and so is
// what the page says above the changes.
func TestNarrowActivity(t *testing.T) {
	const why = "no contact since 14:03: dial tcp: connection refused"
	s := stateOf("stale", why, nil)
	now := time.Now().UnixMilli()
	s.answers["changes"] = object{"more": true, "changes": array{
		object{"pos": 3, "at": now, "type": "deployments.apps", "op": "MODIFIED", "ns": "shop", "name": "web", "what": "Ready 3/3 → 0/3, Images web:1 → web:2", "by": "kubectl"},
		object{"pos": 2, "at": now, "type": "pods", "op": "ADDED", "ns": "shop", "name": "web-7d9c6f5b8c-4kq7d-a-name-that-is-longer-than-a-row", "what": "Pending"},
		object{"pos": 1, "at": now, "type": "pods", "op": "GAP", "from": now - 9000, "to": now, "reason": why},
	}}
	p := open(t, s.serve(t)+"&type=activity", look{width: 400, height: 800})
	p.shows("#rows", "web-7d9c6f5b8c")
	p.shows("#notes", "Stale")
	p.shot("narrow-activity")
	// A change begins at one edge, each line of it.
	var edges []float64
	p.js("[...new Set([...document.querySelectorAll('tr.change td')].filter(e => e.textContent && e.getClientRects().length && e.cellIndex !== 1 && e.cellIndex !== 2).map(e => e.getBoundingClientRect().left + parseFloat(getComputedStyle(e).paddingLeft)))]", &edges)
	if len(edges) != 1 {
		t.Errorf("the lines of a change begin at %v", edges)
	}
	p.until("document.querySelector('#rows').scrollWidth <= 400")
	const hidden = `[...document.querySelectorAll("#list *, #bars *")].filter(e => e.getClientRects().length && e.getBoundingClientRect().right > 401 || e.matches("td, p, .before") && e.scrollWidth > e.clientWidth + 1).map(e => e.outerHTML)`
	var cut []string
	p.js(hidden, &cut)
	if len(cut) > 0 {
		t.Errorf("not to be seen in 400 pixels: %q", cut)
	}
	// What is beside a text leaves it room.
	p.until("[...document.querySelectorAll('.note .text')].every(e => e.getBoundingClientRect().width > 200)")
	p.shows("#live", "not live")
	p.sound()
}

// TestFocusOfTheListIsSeen on all sides: neither the header nor the names of rows cover it.
func TestFocusOfTheListIsSeen(t *testing.T) {
	w := start(t)
	w.pod("web", "Running", 3)
	p := w.open("type=pods", look{})
	p.shows(row("web"), "Running")
	p.press("j") // who presses keys is shown where the focus is
	p.js("document.querySelector('#rows').focus({ focusVisible: true }), 1", nil)
	p.until("document.querySelector('#rows').matches(':focus-visible')")
	var r struct{ Left, Top, Right, Bottom float64 }
	p.js("(({ left, top, right, bottom }) => ({ Left: left, Top: top, Right: right, Bottom: bottom }))(document.querySelector('#rows').getBoundingClientRect())", &r)
	var shot []byte
	p.run(chromedp.CaptureScreenshot(&shot))
	img, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		t.Fatal(err)
	}
	ring := color.RGBA{0x22, 0x57, 0xd6, 0xff}
	for side, at := range map[string][2]float64{
		"the left of the header": {r.Left - 1, r.Top + 16}, "the left of a row": {r.Left - 1, r.Top + 48},
		"the top": {r.Left + 80, r.Top - 1}, "the bottom": {r.Left + 80, r.Bottom},
	} {
		if got := color.RGBAModel.Convert(img.At(int(at[0]), int(at[1]))); got != ring {
			t.Errorf("%s has the colour %v, not that of the focus", side, got)
		}
	}
}

// TestTheAxisNamesRoundTimes: a time that is named moves with the bars, and is no other one
// a second later.
func TestTheAxisNamesRoundTimes(t *testing.T) {
	p := open(t, stateOf("live", "", nil).serve(t), look{})
	p.shows("#list", "No pods")
	p.until("document.querySelectorAll('.axis span').length > 2")
	p.until("[...document.querySelectorAll('.axis span')].every(e => /^\\d\\d:\\d\\d$/.test(e.textContent))")
	p.until("[...document.querySelectorAll('.axis span')].every(e => { const r = e.getBoundingClientRect(), b = document.querySelector('#bars').getBoundingClientRect(); return r.left >= b.left && r.right <= b.right })")
	p.sound()
}

// TestWhatActivityMisses is said, and how to have it.
func TestWhatActivityMisses(t *testing.T) {
	w := start(t)
	w.pod("web", "Running", 3)
	p := w.open("type=activity", look{})
	p.shows("#unwatched", "types not watched")
	p.click("#unwatched")
	p.shows("#dialog", "listwatch ui endpointslices.discovery.k8s.io")
	p.shows("#dialog", "secrets")
	p.sound()
}

// TestActivityStaysInPlace for who has scrolled, when changes come, and when one is opened.
func TestActivityStaysInPlace(t *testing.T) {
	w := start(t)
	p := w.open("type=activity", look{height: 500})
	p.shows("#rows", "No changes") // the types are watched
	changes := 0
	change := func() {
		w.pod("web", fmt.Sprintf("phase %d, whose name has so many words that it needs more lines beside an open object", changes), changes)
		if changes++; changes%15 == 0 { // more at once are counted only
			p.until(fmt.Sprintf("document.querySelectorAll('tr.change').length === %d", changes))
		}
	}
	for changes < 60 {
		change()
	}
	const row = "[...document.querySelectorAll('tr.change')].find(e => e.textContent.includes('→ phase 30,'))"
	p.js(row+".scrollIntoView({block: 'center'}), 1", nil)
	var before, after float64
	p.js(row+".getBoundingClientRect().top", &before)
	for changes < 75 {
		change()
	}
	if p.js(row+".getBoundingClientRect().top", &after); math.Abs(before-after) > 2 {
		t.Errorf("the row moved from %v to %v", before, after)
	}
	p.js(row+".querySelector('td.n a').click(), 1", nil)
	p.shows("#object h1", "web")
	p.until("(r => { const e = " + row + ".getBoundingClientRect(); return e.top >= r.top && e.bottom <= r.bottom })(document.querySelector('#rows').getBoundingClientRect())")
	p.sound()
}

// TestATextOfAnEventIsWhole in Activity: it is what people read there.
func TestATextOfAnEventIsWhole(t *testing.T) {
	s := stateOf("live", "", nil)
	s.answers["changes"] = object{"changes": array{object{"pos": 3, "at": time.Now().UnixMilli(), "type": "events", "op": "ADDED", "ns": "shop", "name": "web.1", "by": "kube-controller-manager",
		"what": "Warning Failed, pod/web-6c5d6ccd4f-r6dht: rpc error: code = NotFound desc = failed to pull and unpack image docker.io/shop/web:1.42.0: not found"}}}
	p := open(t, s.serve(t)+"&type=activity", look{})
	p.shows("#rows", "not found")
	p.shot("activity-event")
	p.until("[...document.querySelectorAll('tr.change td:last-child')].every(e => e.scrollWidth <= e.clientWidth && e.scrollHeight <= e.clientHeight + 1)")
	p.sound()
}

// TestActivityAtAMomentInAGap counts a type that nobody watched then with those not watched, also
// Leases, which Activity leaves out.
func TestActivityAtAMomentInAGap(t *testing.T) {
	s, now := stateOf("live", "", nil), time.Now().UnixMilli()
	leases := typeOf("leases.coordination.k8s.io", "Lease", "live", "")
	for _, k := range append(s.answers["types"].(object)["types"].(array), leases) {
		k.(object)["since"] = now - 300000
	}
	s.answers["types"] = object{"types": append(s.answers["types"].(object)["types"].(array), leases)}
	s.answers["changes"] = object{
		"changes": array{object{"pos": 3, "at": now - 90000, "type": "pods", "op": "MODIFIED", "ns": "shop", "name": "web", "what": "phase"}},
		"gaps":    array{object{"type": leases["type"], "from": now - 120000, "to": now - 30000, "idle": true, "reason": "nobody watched"}},
	}
	p := open(t, s.serve(t)+fmt.Sprintf("&type=activity&at=%d", now-60000), look{})
	p.shows("#count", "1 change of 1 watched type")
	p.without("#count", "Leases")
	p.shows("#unwatched", "1 type not watched")
	p.without("#rows", "nobody watched")
	p.js("location.hash += '&filter=LEASE', 1", nil)
	p.shows("#rows", "nobody watched")
	p.sound()
}

// TestActivityDatesWhatIsNotOfToday: times of two days do not look like those of one.
func TestActivityDatesWhatIsNotOfToday(t *testing.T) {
	s, now := stateOf("live", "", nil), time.Now()
	change := func(pos int, at time.Time) object {
		return object{"pos": pos, "at": at.UnixMilli(), "type": "pods", "op": "MODIFIED", "ns": "shop", "name": "web", "what": "phase"}
	}
	before := now.AddDate(0, 0, -1)
	s.answers["changes"] = object{"changes": array{change(4, now), change(3, before)}, "gaps": array{}}
	p := open(t, s.serve(t)+"&type=activity", look{})
	p.shows("tr.change[data-pos='3']", before.Format("01-02 "))
	p.without("tr.change[data-pos='4']", now.Format("01-02 "))
	p.until("[...document.querySelectorAll('tr.change td:first-child')].every(e => e.scrollWidth <= e.clientWidth)")
	p.shot("activity-days")
	p.sound()
}

// TestChangesAreCountedSinceTheListWasOpened, not in a minute that nobody has seen yet.
func TestChangesAreCountedSinceTheListWasOpened(t *testing.T) {
	s := stateOf("live", "", nil)
	p := open(t, s.serve(t)+"&type=pods", look{})
	p.shows("#rows", "No pods")
	s.send("counts", 2, object{"from": 1, "to": 2, "at": 1, "types": object{"pods": array{1, 2, 0}}})
	p.until("document.querySelector('#rate').textContent === '3changes since it was opened'")
	p.js("location.hash += '&filter=web', 1", nil)
	p.shows("#rows", "No match")
	p.until("document.querySelector('#rate').textContent === '3changes since it was opened'")
	p.sound()
}

// TestAnEmptyListLeadsToItsChanges: the last object may have been deleted.
func TestAnEmptyListLeadsToItsChanges(t *testing.T) {
	s := stateOf("live", "", nil)
	s.answers["changes"] = object{"changes": array{object{"pos": 3, "at": time.Now().UnixMilli(), "type": "pods", "op": "DELETED", "ns": "shop", "name": "web"}}, "gaps": array{}}
	p := open(t, s.serve(t)+"&type=pods&sort=-age", look{})
	p.shows("#rows", "No pods")
	p.click("#rows .buttons button")
	p.shows("h1", "Activity")
	p.until("new URLSearchParams(location.hash.slice(1)).get('filter') === 'pods'")
	p.shows("#rows tr.change", "shop/web")
	p.sound()
}

// TestWhatIsStaleMovesNothing: the name of a type keeps its place, and has no rate of now.
func TestWhatIsStaleMovesNothing(t *testing.T) {
	s := stateOf("stale", "no contact since 14:03", nil)
	p := open(t, s.serve(t), look{})
	p.shows("#types [data-type='pods']", "stale")
	p.until("!document.querySelector('#types [data-type=pods] svg')")
	p.sound()
}
