package browser

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/listwatch/listwatch/kube"
)

// TestObjectShowsItsHistory: states as they come, the YAML of one of the past, and the
// differences between two.
func TestObjectShowsItsHistory(t *testing.T) {
	w := start(t)
	w.pod("web", "Pending", 0)
	p := w.open("type=pods&object=pods/shop/web", look{})
	p.shows("#object h1", "web")
	p.shows("#object", "app=web")
	p.press("2")
	w.pod("web", "Running", 1)
	p.shows("#object .story", "phase: Pending → Running")
	w.pod("web", "Failed", 2)
	p.shows("#object .story", "phase: Running → Failed")
	p.shot("object")
	var states int
	p.js("document.querySelectorAll('.story li[data-pos]').length", &states)
	if states < 3 {
		t.Fatalf("%d states, want 3", states)
	}
	p.js("[...document.querySelectorAll('.story .pick button:last-child')].at(0).click(), 1", nil)
	p.shows("#object", "Choose the state to compare with")
	p.js("[...document.querySelectorAll('.story .pick button:last-child')].at(-1).click(), 1", nil)
	p.shows("#object pre.diff", "phase: Pending → Failed")
	p.shows("#object pre.diff", "restartCount: 0 → 2")
	p.shot("diff")
	p.js("history.back(), 1", nil)
	p.shows("#object .story", "Pending → Running")
	p.js("history.forward(), 1", nil)
	p.shows("#object pre.diff", "phase: Pending → Failed")
	p.js("document.querySelector('#object .tools button').click(), 1", nil)
	p.shows("#object .story", "Pending → Running")
	p.js("[...document.querySelectorAll('.story .pick button:first-child')].at(-1).click(), 1", nil)
	p.shows("#object pre.yaml", "phase: Pending")
	p.press("1")
	p.press("3")
	p.shows("#object", "A state of the past")
	p.press("ArrowLeft") // it is not that of another moment
	p.without("#object", "A state of the past")
	p.js("history.back(), 1", nil)
	p.shows("#object", "A state of the past")
	p.js("document.querySelector('#object .tools button').click(), 1", nil)
	p.shows("#object pre.yaml", "phase: Failed")
	w.delete("web")
	p.shows("#object .sub", "deleted")
	p.sound()
}

// TestHistoryAfterAnInterruption has each state, where the stream has only the newest.
func TestHistoryAfterAnInterruption(t *testing.T) {
	w := start(t)
	w.pod("web", "Pending", 0)
	p := w.open("type=pods&object=pods/shop/web&tab=history", look{})
	p.until("document.querySelectorAll('.story li[data-pos]').length === 1")
	w.refuse.Store(true)
	w.cut()
	p.shows("#banner", "Not connected")
	for i := range 8 {
		w.pod("web", "Running", i)
	}
	w.refuse.Store(false)
	p.until("document.querySelectorAll('.story li[data-pos]').length === 9")
	p.sound()
}

// TestSecretsAreRedacted in all that the page shows of one.
func TestSecretsAreRedacted(t *testing.T) {
	w := start(t)
	secret := func(value string) {
		w.api.Put(kube.Secrets, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"key"},"data":{"password":%q}}`, value))
	}
	secret("aHVudGVyMg==")
	p := w.open("type=secrets&object=secrets/shop/key&tab=yaml", look{})
	p.shows("#object pre.yaml", "password")
	secret("aHVudGVyMw==")
	p.press("2")
	p.until("document.querySelectorAll('.story li[data-pos]').length === 2")
	p.without("body", "aHVudGVy")
	p.without("body", "hunter")
	p.sound()
}

// TestActivityListsChanges of all types.
func TestActivityListsChanges(t *testing.T) {
	w := start(t)
	p := w.open("type=activity", look{})
	p.shows("h1", "Activity")
	w.rollout("web", 2, "web:1")
	p.shows("#rows tr.change", "shop/web")
	p.shows("#rows tr.change", "deployments.apps")
	p.shows("#rows tr.change", "pods")
	p.shot("activity")
	p.js("document.querySelector('#rows tr.change td.n a').click(), 1", nil) // by its place, the mouse would miss a row that moves
	p.shows("#object h1", "web")
	p.sound()
}

// TestAChangeLeadsToItsState in the history, however many came after it.
func TestAChangeLeadsToItsState(t *testing.T) {
	w := start(t)
	p := w.open("type=activity", look{})
	w.pod("web", "Pending", 0)
	w.pod("web", "Failed", 0)
	p.shows("#rows", "Pending → Failed")
	for i := range 30 {
		w.pod("web", "Running", i)
	}
	p.shows("#rows", "→ 29")
	p.js("[...document.querySelectorAll('#rows td:last-child a')].find(a => a.innerText.includes('Pending → Failed')).click(), 1", nil)
	p.shows(".story li.here", "phase: Pending → Failed")
	p.until("(r => r.top >= 0 && r.bottom <= innerHeight)(document.querySelector('.story li.here').getBoundingClientRect())")
	p.until("document.querySelectorAll('#rows tr[aria-selected=true]').length === 1 && document.querySelector('#rows tr[aria-selected=true]').innerText.includes('Pending → Failed')")
	p.shot("activity-state")
	p.js("document.querySelector('#rows td.n a').click(), 1", nil)
	p.shows("#object .sub", "Pod in shop")
	p.press("3")
	p.shows("#object pre.yaml", "restartCount: 29")
	p.sound()
}

// TestAFilterThatIsRefusedShowsNoPast: the rows of a moment do not stay when the page returns
// to live with a filter that the server refuses.
func TestAFilterThatIsRefusedShowsNoPast(t *testing.T) {
	w := start(t)
	w.pod("web", "Pending", 0)
	p := w.open("type=pods", look{})
	p.shows(row("web"), "Pending")
	p.js("location.hash += '&at=' + Date.now(), 1", nil)
	p.shows("#banner", "Return to live")
	p.answered("api/list", 1) // the rows are those of the moment
	p.shows(row("web"), "Pending")
	p.js("location.hash = location.hash.replace(/&at=\\d+/, '') + '&filter=.status.', 1", nil)
	p.shows("#rows", "This filter cannot be used")
	p.until("!document.querySelector('tr.row')")
	w.pod("db", "Running", 0)
	p.until(`document.querySelector("#types [data-type=pods] small").innerText === "2"`)
	p.shows("#rows", "This filter cannot be used")
	p.js("[...document.querySelectorAll('#rows button')].find(b => b.innerText === 'Clear the filter').click(), 1", nil)
	p.shows(row("web"), "Pending")
	p.sound()
}

// TestHistoryOfAMoment has no state that is later, and says how many there are.
func TestHistoryOfAMoment(t *testing.T) {
	w := start(t)
	w.pod("web", "Pending", 0)
	p := w.open("type=pods&object=pods/shop/web&tab=history", look{})
	p.until("document.querySelectorAll('.story li[data-pos]').length === 1")
	p.js("window.then = Date.now(), 1", nil)
	time.Sleep(20 * time.Millisecond) // states have times of milliseconds
	w.pod("web", "Running", 1)
	w.pod("web", "Failed", 2)
	p.until("document.querySelectorAll('.story li[data-pos]').length === 3")
	p.js("location.hash += '&at=' + window.then, 1", nil)
	p.shows("#object", "2 later states")
	p.until("document.querySelectorAll('.story li[data-pos]').length === 1")
	p.until("![...document.querySelectorAll('#types small')].some(e => e.innerText)")
	p.shot("history-moment")
	p.js("[...document.querySelectorAll('#object button')].find(b => b.innerText.includes('return to live')).click(), 1", nil)
	p.until("document.querySelectorAll('.story li[data-pos]').length === 3")
	p.sound()
}

// TestTreeShowsOwners from the top, and leads to them.
func TestTreeShowsOwners(t *testing.T) {
	w := start(t)
	w.rollout("web", 3, "web:1")
	p := w.open("type=pods", look{})
	p.until("document.querySelectorAll('tr.row').length === 3")
	p.press("j", "Enter", "5")
	p.shows("#object", "Uses")
	p.until("document.querySelector('#object .tree').querySelectorAll('a').length === 4") // a deployment, a replica set, two more pods
	p.shows("#object .tree > li > a", "web")
	p.shot("tree")
	// What was not searched is many names: they do not hide what can be done.
	p.shows("#object", "Not searched")
	p.without("#object", "serviceaccounts")
	p.until("document.querySelector('#object .body').scrollHeight <= document.querySelector('#object .body').clientHeight")
	p.click("#object details summary")
	p.shows("#object details", "serviceaccounts")
	p.click("#object .tree > li > a")
	p.shows("#object .sub", "Deployment in shop")
	p.sound()
}

// TestRelatedShowsWhatIsNamed: the settings that a pod uses, and back.
func TestRelatedShowsWhatIsNamed(t *testing.T) {
	w := start(t)
	w.api.Put(kube.ConfigMaps, `{"metadata":{"namespace":"shop","name":"settings"}}`)
	w.api.Put(kube.Pods, `{"metadata":{"namespace":"shop","name":"web"},"spec":{"containers":[{"name":"app","image":"web:1","envFrom":[{"configMapRef":{"name":"settings"}}]}]}}`)
	p := w.open("type=pods&object=pods/shop/web", look{})
	p.shows("#object", "Owners and owned")
	p.press("5")
	p.shows("#object", "Uses")
	p.shows("#object .tree small", "ConfigMap, environment of app")
	p.shot("related")
	p.js("[...document.querySelectorAll('#object .tree a')].find(a => a.innerText === 'settings').click(), 1", nil)
	p.shows("#object .sub", "ConfigMap in shop")
	p.press("5")
	p.shows("#object", "Used by")
	p.js("[...document.querySelectorAll('#object .tree a')].find(a => a.innerText === 'web').click(), 1", nil)
	p.shows("#object .sub", "Pod in shop")
	p.sound()
}

// TestEventsOfAnObject come while it is looked at.
func TestEventsOfAnObject(t *testing.T) {
	w := start(t)
	w.pod("web", "Running", 0)
	p := w.open("type=pods&object=pods/shop/web&tab=events", look{})
	p.shows("#object", "No events")
	w.api.Put(kube.Events, `{"metadata":{"namespace":"shop","name":"web.1"},"involvedObject":{"apiVersion":"v1","kind":"Pod","namespace":"shop","name":"web"},
		"type":"Warning","reason":"BackOff","message":"Back-off restarting failed container","count":3,"firstTimestamp":"2026-01-01T10:00:00Z","lastTimestamp":"2026-01-01T11:00:00Z"}`)
	w.pod("web", "Running", 1)
	p.shows("#object", "Back-off restarting failed container")
	p.shows("#object", "(3 times since ")
	p.sound()
}

// TestAgesOfEventsGoOn: what the server wrote as an age of then is one of now.
func TestAgesOfEventsGoOn(t *testing.T) {
	w := start(t)
	put := func(name string) {
		w.api.Put(kube.Events, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":%q},"involvedObject":{"apiVersion":"v1","kind":"Pod","namespace":"shop","name":"web"},
			"type":"Warning","reason":"BackOff","message":"Back-off","lastTimestamp":%q}`, name, time.Now().UTC().Format(time.RFC3339)))
	}
	put("first")
	p := w.open("type=events", look{})
	p.shows(row("first"), "BackOff")
	put("later")
	p.shows(row("later"), "BackOff")
	for _, name := range []string{"first", "later"} {
		p.until(fmt.Sprintf("/^([3-9]|\\d\\d)s$/.test(document.querySelectorAll('%s td')[1]?.textContent)", row(name)))
	}
	p.sound()
}

// TestTheMomentBefore goes back in time and returns.
func TestTheMomentBefore(t *testing.T) {
	w := start(t)
	w.pod("web", "Pending", 0)
	p := w.open("type=pods", look{})
	p.shows(row("web"), "Pending")
	var before int64
	p.js("Date.now()", &before)
	p.until(fmt.Sprintf("Date.now() > %d", before+1)) // a change in the millisecond of a moment is part of it
	w.pod("web", "Running", 0)
	w.pod("later", "Running", 0)
	p.shows(row("later"), "Running")
	p.js(fmt.Sprintf("location.hash += '&at=%d', 1", before), nil)
	p.shows("#banner", "Return to live")
	p.shows(row("web"), "Pending")
	p.without("#rows", "later")
	p.shot("past")
	p.js("location.hash += '&object=pods/shop/web', 1", nil)
	p.shows("#object .sub", "as of")
	p.press("o")
	p.until("(([a, b]) => a.width > 0.7 * innerWidth && a.top >= b.bottom)(['#object', '#banner'].map(x => document.querySelector(x).getBoundingClientRect()))")
	p.shot("past-large")
	p.press("o", "Escape")
	p.press("Escape")
	p.shows(row("later"), "Running")
	p.shows(row("web"), "Running")
	p.press("ArrowLeft")
	p.shows("#pulse", "the past")
	p.press("l")
	p.shows("#pulse", "live")
	p.sound()
}

// TestATypeThatIsNotServed is one clear word, and goes on when it comes.
func TestATypeThatIsNotServed(t *testing.T) {
	w := start(t)
	p := w.open("type=podz", look{})
	p.shows("#rows", "podz is not served")
	p.js("location.hash = 'type=configmaps', 1", nil)
	p.without("#rows", "is not served")
	w.pod("web", "Running", 0)
	p.js("location.hash = 'type=pods', 1", nil)
	p.shows(row("web"), "Running")
	p.sound()
}

// TestManagedFieldsUnfold: who wrote which field is requested when somebody unfolds it.
func TestManagedFieldsUnfold(t *testing.T) {
	w := start(t)
	w.api.Put(kube.Pods, `{"metadata":{"namespace":"shop","name":"web","managedFields":[{"manager":"<b>editor</b>","operation":"Apply","apiVersion":"v1","time":"2026-01-01T00:00:00Z",
		"fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:containers":{"k:{\"name\":\"<i>app</i>\"}":{"f:image":{}}}}}}]},"spec":{"containers":[{"name":"<i>app</i>","image":"web:1"}]}}`)
	p := w.open("type=pods&object=pods/shop/web&tab=yaml", look{})
	p.shows("#object pre.yaml", "image: web:1")
	p.without("#object", "editor")
	p.click(".managers summary")
	p.shows(".managers", "<b>editor</b> Apply")
	p.shows(".managers", "spec.containers[name=<i>app</i>].image")
	p.shot("managers")
	p.press("1", "3")
	p.shows(".managers", "<b>editor</b> Apply")
	p.sound()
}

// TestATimeCanBeTyped: as a time of day or as an age; what is none, or not kept, is refused.
func TestATimeCanBeTyped(t *testing.T) {
	w := start(t)
	w.pod("web", "Running", 0)
	p := w.open("type=pods", look{})
	p.shows(row("web"), "Running")
	p.press("t")
	for typed, says := range map[string]string{"25:00": "not a time", "2026-02-31 10:00": "not a time", "3d": "Nothing is kept from before"} {
		p.js("document.querySelector('#dialog input').value = '', 1", nil)
		p.enter(typed)
		p.press("Enter")
		p.shows("#moment-note", says)
	}
	p.js("document.querySelector('#dialog input').value = '', 1", nil)
	p.enter("0s ago")
	p.press("Enter")
	p.shows("#pulse", "the past")
	p.click("#clock")
	p.enter("live")
	p.press("Enter")
	p.shows("#pulse", "live")
	p.sound()
}

// TestTheSummaryHasTheContent of an object, with its beginning only if that is long.
func TestTheSummaryHasTheContent(t *testing.T) {
	w := start(t)
	w.api.Put(kube.ConfigMaps, `{"metadata":{"namespace":"shop","name":"web"},"data":{"rate":"50"}}`)
	p := w.open("type=configmaps&object=configmaps/shop/web", look{})
	p.shows("#object .yaml", "rate: \"50\"")
	p.until(`!document.querySelector("#object .yaml").innerText.includes("metadata")`)
	long := map[string]string{}
	for i := range 40 {
		long[fmt.Sprintf("k%02d", i)] = "1"
	}
	w.api.Put(kube.ConfigMaps, map[string]any{"metadata": map[string]string{"namespace": "shop", "name": "web"}, "data": long})
	p.shows("#object", "17 more lines")
	p.sound()
}

// TestTwoObjectsOfOneName: each leads to the other, and the list marks the one that is open.
func TestTwoObjectsOfOneName(t *testing.T) {
	w := start(t)
	p := w.open("type=pods", look{})
	w.pod("web", "Pending", 0)
	p.shows(row("web"), "Pending")
	p.press("j", "Enter", "2")
	p.shows("#object .story", "Created")
	p.until("document.querySelector('tr.row[aria-selected=true]')")
	var then int64
	p.js("Date.now()", &then)
	p.until(fmt.Sprintf("Date.now() > %d", then+10))
	w.delete("web")
	p.shows("#object .sub", "deleted")
	w.pod("web", "Running", 0)
	p.until("[...document.querySelectorAll('tr.row')].some(e => e.innerText.includes('Running')) && !document.querySelector('tr.row[aria-selected=true]')")
	p.js("location.hash = location.hash.replace(/tab=history/, 'tab=summary'), 1", nil)
	p.press("2")
	p.run(chromedp.Reload())
	p.shows("#object .story", "Another object of this name was created")
	p.js("[...document.querySelectorAll('.story a')].find(a => a.innerText.includes('Another')).click(), 1", nil)
	p.shows("#object .story", "Another object of this name was deleted")
	p.shows("#object .story", "Created again")
	p.until("document.querySelector('tr.row[aria-selected=true]').innerText.includes('Running')")
	p.shot("namesakes")
	p.js(fmt.Sprintf("location.hash += '&at=%d', 1", then), nil)
	p.press("1")
	p.shows("#object", "It did not exist at this moment")
	p.shows("#object .story", "existed at this moment")
	p.js("document.querySelector('#filter').focus(), document.querySelector('#filter').value = 'nothing', history.back(), 1", nil)
	p.until("document.querySelector('#filter').value === ''")
	p.sound()
}

// TestTextsAreComparedByLines: of a file in a ConfigMap only the lines that differ are coloured.
func TestTextsAreComparedByLines(t *testing.T) {
	w := start(t)
	file := func(n string) string {
		return `{"metadata":{"namespace":"shop","name":"app"},"data":{"app.yaml":"a: 1\nretries: ` + n + `\nb: 2\nc: 3\nd: 4\ne: 5\nf: 6\n","mode":"` + n + `"}}`
	}
	w.api.Put(kube.ConfigMaps, file("3"))
	p := w.open("type=configmaps&object=configmaps/shop/app&tab=history", look{})
	p.shows(".story", "First seen")
	w.api.Put(kube.ConfigMaps, file("5"))
	p.shows(".story del.del", "-retries: 3")
	p.shows(".story ins.add", "+retries: 5")
	p.shows(".story pre", "3 → 5")
	p.until("document.querySelectorAll('.story pre .same').length === 4")
	p.shot("lines")
	p.sound()
}
