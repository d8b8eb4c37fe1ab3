package main

import (
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// The sizes of the pictures: a screen, and a telephone.
var (
	screen    = step{"the size of a screen", chromedp.EmulateViewport(1440, 900)}
	telephone = step{"the size of a telephone", chromedp.EmulateViewport(400, 800)}
)

// What the demonstration shows at times.
const (
	// A rollout or a drain: cells that changed, pods that went, and one that comes.
	busy = `document.querySelectorAll("#rows td.hit").length >= 3 && document.querySelectorAll("#rows tr.gone").length >= 2 && document.querySelector("#rows tr.row:not(.gone) td.wait")`
	// A gap, between the rows of a list by change.
	gap = `document.querySelector("#rows tr.gap")`
	// The row of a pod that crashes.
	crash = `[...document.querySelectorAll("#rows tr.row")].find(r => r.innerText.includes("CrashLoopBackOff")).firstChild`
	// A moment 12 s after the last gap, on the bar of time, where a pixel is 0.28 s.
	moment = `(r => [r.right + 43, r.top + r.height / 2])([...document.querySelectorAll("#bars .g")].at(-1).getBoundingClientRect())`
)

// story uses the page and takes the pictures on the way.
func (p *page) story(url string) error {
	return p.run(
		screen,
		step{"the times of UTC", emulation.SetTimezoneOverride("UTC")},
		step{"light colours", colours("light")},
		step{"opening the page", chromedp.Navigate(url)},
		until("pods of web", containing("#rows tr.row", "shop")+`?.innerText.includes("Running")`),
		click("the namespaces", `document.querySelector("#namespace")`, `document.querySelector("#dialog").open`),
		click("shop", containing("#options li", "shop"), in("ns=shop")),
		click("a pod of web", containing("#rows tr.row", "web-")+".firstChild", in("object=pods/shop/web")),
		click("Related", `document.querySelector("#tab-related")`, in("tab=related")),
		click("its Deployment", `document.querySelector("#object .tree > li > a")`, in("object=deployments.apps/shop/web")),
		click("Changed", containing("#rows th button", "Changed"), in("sort=-changed")),
		until("a gap", gap),
		until("pods that come and go", busy),
		p.shot("ui-list.png"),

		click("Name", containing("#rows th button", "Name"), "!"+in("sort=")),
		click("a pod that crashes", crash, in("object=pods/shop/cart")),
		click("History", `document.querySelector("#tab-history")`, in("tab=history")),
		until("its recovery", `document.querySelector("#object .story li").innerText.includes("ready: false → true")`),
		until("pods that come and go", busy),
		p.shot("ui-history.png"),

		click("Close", `document.querySelector("#object [aria-label=Close]")`, "!"+in("object=")),
		telephone,
		until("narrow columns", `document.querySelectorAll("#rows th").length > 0 && document.documentElement.scrollWidth <= 400 && document.querySelector("#rows").clientWidth <= 400`),
		until("no status that is cut", `!document.querySelector("#rows").innerText.includes("ContainerCreating")`),
		p.shot("ui-narrow.png"),

		screen,
		step{"dark colours", colours("dark")},
		until("a wide bar of time", `document.querySelector("#bars svg").viewBox.baseVal.width > 1000`),
		press("a moment after the gap", moment, in("at=")+` && document.querySelector("#notes [data-gap]")`),
		until("the past", `document.querySelector("#banner").innerText.includes("ago") && document.querySelectorAll("#rows tr.row").length > 8 && document.querySelector("#notes [data-gap]")`),
		p.shot("ui-past.png"),
	)
}

// in says that the link of the view has a part.
func in(part string) string { return `decodeURIComponent(location.hash).includes("` + part + `")` }

func colours(scheme string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}})
}
