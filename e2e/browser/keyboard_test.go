package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// tabTo presses Tab, or with shift Shift+Tab, until an element has the focus. What has the
// focus on the way is seen to have it.
func (p *page) tabTo(selector string, shift bool) {
	p.t.Helper()
	var way []string
	modifiers := input.ModifierNone
	if shift {
		modifiers = input.ModifierShift
	}
	for range 60 {
		key := input.DispatchKeyEvent(input.KeyDown).WithKey("Tab").WithCode("Tab").WithWindowsVirtualKeyCode(9).WithModifiers(modifiers)
		p.run(key, input.DispatchKeyEvent(input.KeyUp).WithKey("Tab").WithCode("Tab").WithWindowsVirtualKeyCode(9).WithModifiers(modifiers))
		var at struct {
			Name        string
			Marked, Hit bool
		}
		p.js(fmt.Sprintf(`(e => { const s = getComputedStyle(e), around = getComputedStyle(e.closest(".find") || e); return {
			name: e.tagName + "#" + e.id + " " + e.innerText.slice(0, 30), hit: e.matches(%s),
			marked: s.outlineStyle !== "none" && s.outlineWidth !== "0px" || around.borderColor !== "rgba(0, 0, 0, 0)" && e.tagName === "INPUT" } })(document.activeElement)`, quote(selector)), &at)
		if way = append(way, at.Name); at.Name != "BODY# " && !at.Marked {
			p.t.Errorf("%q has the focus, and does not show it", at.Name)
		}
		if at.Hit {
			return
		}
	}
	p.t.Fatalf("Tab does not lead to %s, but over %q", selector, way)
}

// TestKeyboardAlone: from the types to a list, an object, its parts, and back, by keys that
// people try who know none of this page's.
func TestKeyboardAlone(t *testing.T) {
	w := start(t)
	for _, name := range []string{"cart", "web", "zoo"} {
		w.pod(name, "Running", 3)
	}
	w.rollout("shop-front", 0, "web:1")
	p := w.open("type=nodes", look{})
	p.shows("h1", "Nodes")
	p.shows("#types", "Deployments")
	p.tabTo(`#types [data-type="deployments.apps"]`, false)
	p.press("Enter")
	p.shows(row("shop-front"), "shop-front")
	p.until(`document.activeElement.dataset.type === "deployments.apps"`) // it is drawn again, and keeps the focus
	p.tabTo(`#types [data-type="pods"]`, true)
	p.press("Enter")
	p.shows(row("cart"), "Running")
	p.tabTo("#rows", false)
	p.press("ArrowDown", "ArrowDown")
	p.until("document.querySelector('tr[aria-selected=true]')?.dataset.key === 'shop/web'")
	p.press("Enter")
	p.shows("#object h1", "web")
	p.until("document.activeElement.id === 'object-title'")
	p.tabTo("[role=tab]", false)
	p.press("ArrowRight")
	p.until("document.activeElement.id === 'tab-history' && document.activeElement.getAttribute('aria-selected') === 'true'")
	p.shows("#object .story", "First seen")
	p.press("ArrowRight")
	p.shows("#object pre.yaml", "restartCount: 3")
	p.tabTo("#body", false)
	p.tabTo("#tab-yaml", true)
	p.press("End")
	p.until("document.activeElement.id === 'tab-logs'")
	p.press("Home")
	p.shows("#object", "Containers")
	p.press("Escape")
	p.until("document.querySelector('#object').hidden && document.activeElement.id === 'rows'")
	p.until("document.querySelector('tr[aria-selected=true]')?.dataset.key === 'shop/web'")
	p.press("ArrowDown", "Enter")
	p.shows("#object h1", "zoo")
	p.tabTo("#object button[aria-label=Close]", false)
	p.press("Enter")
	p.until("document.querySelector('#object').hidden && document.activeElement.id === 'rows'")
	p.sound()
}

// TestFocusOutlivesARedraw: the types are drawn again while one of their buttons has the
// focus, and a type that is a favourite stands there twice.
func TestFocusOutlivesARedraw(t *testing.T) {
	all := array{}
	for i := range 9 {
		all = append(all, typeOf(fmt.Sprintf("type%d", i), fmt.Sprintf("Type%d", i), "live", ""))
	}
	s := stateOf("live", "", nil)
	s.answers["types"] = object{"types": append(all, typeOf("pods", "Pod", "live", ""))}
	p := open(t, s.serve(t), look{})
	p.shows("#list", "No pods")
	p.press("f")
	p.shows("#types", "Favourites")
	redraw := func(count int) {
		pods := typeOf("pods", "Pod", "live", "")
		pods["count"] = count
		s.send("types", 1, object{"types": array{pods}})
		p.shows(`#types [data-type="pods"]`, fmt.Sprint(count))
	}
	p.js("document.querySelector('#types .more').focus(), 1", nil)
	redraw(41)
	p.until("document.activeElement.matches('#types .more') && document.activeElement.innerText === '3 more'")
	p.press("Enter")
	p.until("document.activeElement.matches('#types .more') && document.activeElement.innerText === 'fewer'")
	p.js(`document.querySelector('[aria-labelledby="section-Workloads"] [data-type="pods"]').focus(), 1`, nil)
	redraw(42)
	p.until(`document.activeElement.closest('[aria-labelledby="section-Workloads"] [data-type="pods"]')`)
	p.sound()
}

// TestRolesForScreenReaders: what Chromium hands to a screen reader.
func TestRolesForScreenReaders(t *testing.T) {
	w := start(t)
	w.pod("cart", "Running", 3)
	w.pod("web", "Running", 3)
	p := w.open("type=pods&object=pods/shop/web", look{})
	p.shows(row("web"), "Running")
	p.shows("#object", "Containers")
	p.until("document.querySelector('[role=slider]')")
	var nodes []*accessibility.Node
	p.run(accessibility.Enable(), chromedp.ActionFunc(func(ctx context.Context) (err error) {
		nodes, err = accessibility.GetFullAXTree().Do(ctx)
		return err
	}))
	tree := map[accessibility.NodeID]*accessibility.Node{}
	for _, n := range nodes {
		tree[n.NodeID] = n
	}
	value := func(v *accessibility.Value) string {
		var s any
		if v == nil || json.Unmarshal(v.Value, &s) != nil {
			return ""
		}
		return fmt.Sprint(s)
	}
	// said is a role, with its name and those of the roles that it is within.
	var said []string
	for _, n := range nodes {
		if n.Ignored {
			continue
		}
		s := value(n.Role) + " " + value(n.Name)
		for up := tree[n.ParentID]; up != nil; up = tree[up.ParentID] {
			if r := value(up.Role); slices.Contains([]string{"navigation", "main", "complementary", "banner", "contentinfo", "grid", "row", "tablist"}, r) {
				s += " < " + r
			}
		}
		for _, x := range n.Properties {
			if x.Name == "selected" && value(x.Value) == "true" {
				s += " selected"
			}
		}
		said = append(said, s)
	}
	for _, want := range []string{
		"banner ", "search  < banner", "textbox Filter rows < banner", "navigation Types", "main Pods", "heading Pods < main", "grid Pods < main",
		"columnheader Name < row < grid < main", "row ", "gridcell web < row < grid < main", "complementary Object", "heading web < complementary",
		"tablist Parts of the object < complementary", "tab Summary < tablist < complementary selected", "tabpanel Summary < complementary",
		"contentinfo Activity and time", "slider ", "button live < contentinfo", "link Pods 2 < navigation",
	} {
		if !slices.ContainsFunc(said, func(s string) bool {
			return s == want || want[len(want)-1] == ' ' && len(s) >= len(want) && s[:len(want)] == want
		}) {
			t.Errorf("nothing is %q", want)
		}
	}
	if t.Failed() {
		for _, s := range said {
			t.Log(s)
		}
	}
	p.sound()
}

// TestKeysInActivity are those of a list.
func TestKeysInActivity(t *testing.T) {
	s, changes := stateOf("live", "", nil), array{}
	for i := range 60 {
		changes = append(changes, object{"pos": 100 - i, "at": time.Now().UnixMilli() - int64(i), "type": "pods", "op": "MODIFIED", "ns": "shop", "name": fmt.Sprintf("web-%d", i), "what": "phase"})
	}
	s.answers["changes"] = object{"changes": changes, "gaps": array{}}
	p := open(t, s.serve(t)+"&type=activity", look{height: 500})
	p.shows("#rows", "shop/web-59")
	p.until("document.querySelector('#rows').getAttribute('aria-rowcount') === '61'")
	for _, step := range []struct{ key, name string }{{"ArrowDown", "web-0"}, {"ArrowDown", "web-1"}, {"ArrowUp", "web-0"}, {"G", "web-59"}, {"g", "web-0"}, {"End", "web-59"}, {"Home", "web-0"}} {
		p.press(step.key)
		p.until("document.activeElement.textContent === 'shop/" + step.name + "'")
	}
	p.press("PageDown")
	p.until("/^shop.web-[1-9]/.test(document.activeElement.textContent)")
	p.press("Enter")
	p.shows("#object h1", "web-")
	p.sound()
}
