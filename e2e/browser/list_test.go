package browser

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
)

// TestRowsAppearChangeAndGo follows one pod through its life in the list.
func TestRowsAppearChangeAndGo(t *testing.T) {
	w := start(t)
	w.pod("old", "Running", 0)
	p := w.open("type=pods", look{})
	p.shows(row("old"), "Running")
	w.pod("web", "Pending", 0)
	p.shows(row("web")+".new", "Pending")
	p.shows(row("web")+" td.last", "added")
	w.pod("web", "Running", 4)
	p.shows(row("web")+" td.hit", "Running")
	p.shows(row("web")+" td.hit", "4")
	p.shows(row("web")+" td.last", "Status, Restarts")
	var hits int
	p.js(fmt.Sprintf("document.querySelectorAll('%s td.hit').length", row("web")), &hits)
	if hits != 2 {
		t.Errorf("%d cells are marked, want the 2 that changed", hits)
	}
	w.delete("web")
	p.shows(row("web")+".gone", "deleted")
	p.shot("list")
	p.until(fmt.Sprintf("!document.querySelector('%s')", row("web"))) // ten seconds later
	p.shows(row("old"), "Running")
	p.sound()
}

// TestFilterSortAndKeyboard uses the keyboard alone.
func TestFilterSortAndKeyboard(t *testing.T) {
	w := start(t)
	for i := range 30 {
		w.pod(fmt.Sprintf("web-%02d", i), "Running", i)
	}
	w.pod("cart", "Pending", 99)
	p := w.open("", look{})
	p.shows("#count", "31")
	p.press("/")
	p.enter("pend")
	p.shows("#count", "1 of 31 match")
	p.shows(row("cart"), "Pending")
	p.press("Enter", "j", "Enter")
	p.shows("#object h1", "cart")
	p.press("Escape")
	p.until("document.querySelector('#object').hidden")
	p.press("Escape")
	p.without("#count", "match")
	p.press("/")
	p.enter("app=web-07")
	p.shows("#count", "1 of 31 match")
	p.shows("#mode", "labels")
	p.press("Escape", "Escape")
	p.without("#count", "match")
	p.press("/")
	p.enter("soon given up")
	p.press("Escape") // before the page filters by it
	p.js("[...document.querySelectorAll('th button')].find(b => b.innerText.includes('Restarts')).click(), 1", nil)
	p.until("document.querySelector('tr.row')?.dataset.key === 'shop/web-00'")
	p.js("[...document.querySelectorAll('th button')].find(b => b.innerText.includes('Restarts')).click(), 1", nil)
	p.until("document.querySelector('tr.row')?.dataset.key === 'shop/cart'")
	p.press("g", "k", "j", "j")
	p.until("document.querySelector('tr[aria-selected=true]')?.dataset.key === 'shop/web-28'")
	p.press(":")
	p.enter("deploy")
	p.press("Enter")
	p.shows("h1", "Deployments")
	p.shows("#rows", "No deployments")
	p.press("?")
	p.shows("dialog", "choose a type")
	p.press("Escape", ":")
	p.enter("po")
	p.press("Enter", "n")
	p.enter("shop")
	p.press("Enter")
	p.shows("#namespace", "shop")
	p.shows("#count", "31")
	p.sound()
}

// TestNothingMatches has a way back.
func TestNothingMatches(t *testing.T) {
	w := start(t)
	w.pod("web", "Running", 0)
	p := w.open("type=pods&filter=nobody", look{})
	p.shows("#rows", "No match among 1 pods")
	p.click("#rows button")
	p.shows(row("web"), "Running")
}

// TestFavouritesStartNoWatch: they are kept in the browser, and what is kept there does not
// use the memory of the process.
func TestFavouritesStartNoWatch(t *testing.T) {
	w := start(t)
	w.pod("web", "Running", 0)
	p := w.open("type=pods", look{})
	p.shows(row("web"), "Running")
	p.js(`localStorage.setItem("listwatch-favourites", '["secrets","pods"]'), 1`, nil)
	p.run(chromedp.Reload())
	p.shows("[aria-labelledby=section-Favourites]", "Secrets")
	p.shows(row("web"), "Running")
	w.pod("web", "Failed", 0)
	p.shows(row("web"), "Failed")
	for _, r := range w.api.Requests() {
		if r.Resource == kube.Secrets && r.Verb == "watch" {
			t.Errorf("a favourite is watched: %s", r.Path)
		}
	}
	p.js(`location.hash = "type=secrets", 1`, nil) // who looks at it starts a watch
	w.until("secrets are watched", func() bool {
		return slices.ContainsFunc(w.api.Requests(), func(r apitest.Request) bool { return r.Resource == kube.Secrets && r.Verb == "watch" })
	})
	p.sound()
}

// TestNamespaceStays chosen while a type is shown that has none.
func TestNamespaceStays(t *testing.T) {
	w := start(t)
	w.pod("web", "Running", 0)
	w.api.Put(kube.Pods, `{"metadata":{"namespace":"bank","name":"db"}}`)
	w.api.Put(kube.Nodes, `{"metadata":{"name":"node-1"}}`)
	p := w.open("type=pods&ns=shop", look{})
	p.shows(row("web"), "Running")
	p.click(`#types [data-type="nodes"]`)
	p.shows("#rows", "node-1")
	p.shows("#count", "1")
	p.js("location.hash += '&filter=absent', 1", nil)
	p.shows("#rows", "No match among 1")
	p.without("#rows", "Namespace")
	p.click(`#types [data-type="pods"]`)
	p.shows("#namespace", "shop")
	p.shows(row("web"), "Running")
	p.without("#rows", "db")
	p.sound()
}

// TestNamesOnATelephone are as wide as they are with their namespaces.
func TestNamesOnATelephone(t *testing.T) {
	w := start(t)
	w.api.Put(kube.Deployments, `{"metadata":{"namespace":"warehouse","name":"gateway"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}}}}}`)
	p := w.open("type=deployments.apps", look{width: 400})
	p.shows("#rows", "warehouse/gateway")
	p.until("(e => e.scrollWidth <= e.clientWidth)([...document.querySelectorAll('#rows td')].find(e => e.innerText === 'warehouse/gateway'))")
	p.sound()
}

// TestNewNamespaceCanBeChosen at once.
func TestNewNamespaceCanBeChosen(t *testing.T) {
	w := start(t)
	w.pod("web", "Running", 0)
	p := w.open("type=pods", look{})
	p.shows(row("web"), "Running")
	w.api.Put(kube.Pods, `{"metadata":{"namespace":"fresh","name":"db"}}`)
	p.shows("#count", "2")
	p.press("n")
	p.shows("#dialog", "fresh")
	p.sound()
}
