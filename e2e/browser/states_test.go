package browser

import (
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// stateOf is a script of one type in a state, with an empty list.
func stateOf(state, reason string, window object) *script {
	now := time.Now().UnixMilli()
	win := object{"type": "pods", "columns": array{object{"name": "Name"}, object{"name": "Status"}}, "state": state, "reason": reason, "total": 0, "matched": 0, "from": 0, "order": array{}, "rows": array{}}
	for k, v := range window {
		win[k] = v
	}
	return &script{
		windows: map[string]any{"pods": win},
		answers: map[string]any{
			"state":    object{"epoch": "e", "pos": 1, "now": now, "mode": "live", "cluster": object{"name": "test"}, "from": now - 600000, "to": now, "namespaces": array{"shop"}},
			"types":    object{"types": array{typeOf("pods", "Pod", state, reason)}},
			"activity": object{"from": now - 300000, "to": now, "buckets": array{array{0, 0, 0}}},
			"changes":  object{"changes": array{}},
		},
	}
}

// TestEachStateOfATypeIsSaid: there is no list without a word.
func TestEachStateOfATypeIsSaid(t *testing.T) {
	rows := object{"total": 1, "matched": 1, "order": array{1}, "rows": array{object{"n": 1, "key": "shop/web", "ns": "shop", "name": "web", "cells": array{"web", "Running"}, "op": ""}}}
	browser := open(t, "about:blank", look{})
	for _, c := range []struct {
		name, state, reason string
		window              object
		want                []string
	}{
		{"empty", "live", "", nil, []string{"No pods", "when it is created"}},
		{"loading", "loading", "", object{"loading": object{"done": 1500, "of": 12831}}, []string{"Loading pods", "1\u202f500 of 12\u202f831"}},
		{"forbidden", "forbidden", "jane cannot list pods", nil, []string{"You may not list pods", "jane cannot list pods", "Choose a namespace"}},
		{"error", "error", "the answer is no JSON", nil, []string{"pods cannot be listed", "the answer is no JSON", "tried again"}},
		{"budget", "budget", "256 MiB are used", nil, []string{"memory budget", "256 MiB are used"}},
		{"gone", "gone", "", nil, []string{"not served any more"}},
		{"stale", "stale", "no contact since 14:03", rows, []string{"Stale", "no contact since 14:03", "The rows are from before", "web"}},
		{"stale-empty", "stale", "no contact since 14:03", nil, []string{"No pods when the connection was lost"}},
		{"error-rows", "error", "status 500", rows, []string{"Error", "status 500", "from before"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := browser.beside(t, stateOf(c.state, c.reason, c.window).serve(t))
			for _, text := range c.want {
				p.shows("#list", text)
			}
			p.shot("state-" + c.name)
			p.sound()
		})
	}
}

// TestEndOfASession asks for another token.
func TestEndOfASession(t *testing.T) {
	s := stateOf("live", "", nil)
	p := open(t, s.serve(t), look{})
	p.shows("#list", "No pods")
	s.send("end", 1, object{"reason": "unauthorized", "error": "the permission was revoked"})
	p.shows("#banner", "The session ended")
	p.shows("#banner", "the permission was revoked")
	p.click("#banner button")
	p.shows("#list", "This page needs a token")
	p.shot("login")
	p.sound()
}

// TestResetIsSaid, and so is a position that was left out.
func TestResetIsSaid(t *testing.T) {
	s := stateOf("live", "", nil)
	p := open(t, s.serve(t), look{})
	p.shows("#list", "No pods")
	s.send("reset", 7, object{"why": "log", "totals": object{"pods": array{1, 2, 3}}})
	p.shows("#banner", "counts begin again")
	s.send("counts", 8, object{"from": 7, "to": 8, "at": 1, "types": object{"pods": array{1, 0, 0}}})
	p.until(`document.querySelector('#types [data-type="pods"]').dataset.changes === "7"`)
	s.send("counts", 12, object{"from": 11, "to": 12, "at": 1, "types": object{"pods": array{1, 0, 0}}})
	p.shows("#banner", "Changes are missing")
	p.sound()
}

// TestHugeListIsAWindow: a hundred thousand rows cost the document what a screen does.
func TestHugeListIsAWindow(t *testing.T) {
	order, rows := array{}, array{}
	for i := range 80 {
		order = append(order, i)
		rows = append(rows, object{"n": i, "key": "shop/web", "ns": "shop", "name": "web", "cells": array{"web", "Running"}, "op": ""})
	}
	p := open(t, stateOf("live", "", object{"total": 100000, "matched": 100000, "order": order, "rows": rows}).serve(t), look{})
	p.shows("#count", "100\u202f000")
	p.until("document.querySelector('#rows').scrollHeight > 100000 * 31")
	var n int
	p.js("document.querySelectorAll('#rows tr').length", &n)
	if n > 100 {
		t.Errorf("the table has %d rows", n)
	}
	p.sound()
}

// TestWhatWasNotWatchedIsSaid: which types Activity has from later on only, and that a gap is
// of another type than the one that is shown.
func TestWhatWasNotWatchedIsSaid(t *testing.T) {
	s := stateOf("live", "", nil)
	now := time.Now().UnixMilli()
	pods, services := typeOf("pods", "Pod", "live", ""), typeOf("services", "Service", "live", "")
	pods["since"], services["since"] = now-600000, now-60000
	s.answers["types"] = object{"types": array{pods, services}}
	s.answers["activity"] = object{"from": now - 300000, "to": now, "buckets": array{array{0, 0, 0}}, "gaps": array{object{"type": "services", "from": now - 200000, "to": now - 100000}}}
	s.answers["changes"] = func(r *http.Request) any {
		if r.FormValue("text") != "" {
			return object{"changes": array{}}
		}
		return object{"more": true, "changes": array{object{"pos": 1, "at": now, "type": "services", "op": "GAP", "from": now - 9000, "to": now, "reason": "nobody looked at it"}}}
	}
	p := open(t, s.serve(t)+"&type=activity", look{})
	p.shows("#count", "0 changes of 2 watched types")
	p.shows("#span", "2 watched types")
	full := "document.querySelector('#bars rect.g').getBoundingClientRect().height"
	p.until(full + " > 30")
	p.js("location.hash += '&filter=services', 1", nil)
	p.shows("#rows", "Not watched from the beginning: services since")
	p.js("location.hash = 'type=pods', 1", nil)
	p.shows("#rows", "No pods")
	p.until(full + " < 10")
	p.sound()
}

// TestAGapOfAllTypesIsOneRow of Activity: that of a process that stood still.
func TestAGapOfAllTypesIsOneRow(t *testing.T) {
	s := stateOf("live", "", nil)
	now := time.Now().UnixMilli()
	gap := func(pos int, typ, reason string) object {
		return object{"pos": pos, "at": now, "type": typ, "op": "GAP", "from": now - 9000, "to": now, "idle": true, "reason": reason}
	}
	s.answers["changes"] = object{"changes": array{gap(4, "pods", "it stood still"), gap(3, "services", "it stood still"), gap(2, "nodes", "it stood still"), gap(1, "jobs.batch", "another")}}
	p := open(t, s.serve(t)+"&type=activity", look{})
	p.until("document.querySelectorAll('tr.gap').length === 2")
	p.shows("#rows", "pods and 2 more types: ")
	p.shows("#rows", "jobs.batch: ")
	p.sound()
}

// TestAPauseIsSaidAboveActivity: the rows that came after it have the time at which the process
// went on, and its own row stands below them all.
func TestAPauseIsSaidAboveActivity(t *testing.T) {
	s := stateOf("live", "", nil)
	now := time.Now().UnixMilli()
	var paused atomic.Bool
	gap := func(typ string, from int64, reason string) object {
		return object{"type": typ, "from": from, "to": now - 60000, "idle": true, "reason": reason}
	}
	s.answers["activity"] = func(*http.Request) any {
		gaps := array{gap("jobs.batch", now-90000, "nobody looked at it")}
		if paused.Load() {
			gaps = append(gaps, gap("pods", now-82000, "it stood still"), gap("services", now-82000, "it stood still"))
		}
		return object{"from": now - 300000, "to": now, "buckets": array{array{0, 0, 0}}, "gaps": gaps}
	}
	s.answers["changes"] = object{"changes": changesFrom(now-59000, 300, 201), "more": true}
	p := open(t, s.serve(t)+"&type=activity", look{})
	p.shows("#rows", "shop/web-300")
	p.until("document.querySelector('#bars rect.g') && !document.querySelector('#notes .note')")
	paused.Store(true)
	s.send("activity", 300, object{"changes": array{object{"pos": 301, "at": now - 60000, "type": "pods", "op": "GAP", "from": now - 82000, "to": now - 60000, "idle": true, "reason": "it stood still"}}})
	p.shows("#notes", "it stood still")
	p.until("Math.max(...[...document.querySelectorAll('#bars rect.g')].map(r => r.getBoundingClientRect().height)) > 30")
	p.js("document.querySelector('#notes button').click(), 1", nil)
	p.until("!document.querySelector('#notes .note')")
	p.sound()
}

// changesFrom are changes of pods by their positions, the newest first.
func changesFrom(now int64, from, to int) (list array) {
	for pos := from; pos >= to; pos-- {
		list = append(list, object{"pos": pos, "at": now + int64(pos), "type": "pods", "op": "MODIFIED", "ns": "shop", "name": fmt.Sprint("web-", pos)})
	}
	return list
}

// TestChangesThatAreNotListed: where the stream leaves changes out, which it counts, a row says so
// and reads them, as many as there are.
func TestChangesThatAreNotListed(t *testing.T) {
	s := stateOf("live", "", nil)
	now := time.Now().UnixMilli()
	var newest atomic.Int64
	newest.Store(10)
	s.answers["changes"] = func(r *http.Request) any {
		before, _ := strconv.Atoi(r.FormValue("before")) // 0 = none
		if n := int(newest.Load()); before == 0 {
			return object{"changes": changesFrom(now, n, max(1, n-99)), "more": n > 100}
		}
		return object{"changes": changesFrom(now, before-1, max(1, before-100)), "more": before > 101}
	}
	p := open(t, s.serve(t)+"&type=activity", look{})
	p.shows("#rows", "shop/web-10")
	p.until("document.querySelectorAll('tr.change').length === 10")
	s.send("activity", 300, object{"changes": changesFrom(now, 300, 281), "omitted": 270})
	p.shows("tr.gap", "270 changes not listed here")
	p.shows("#count", "30 changes of 1 watched type, 270 more not listed")
	p.until("document.querySelectorAll('#rows tbody tr')[20].classList.contains('gap')")
	p.js("document.querySelector('tr.gap button').click(), 1", nil)
	p.shows("tr.gap", "170 changes not listed here")
	p.until("document.querySelectorAll('#rows tbody tr')[120].classList.contains('gap')")
	p.js("document.querySelector('tr.gap button').click(), 1", nil)
	p.shows("#count", "230 changes of 1 watched type, 70 more not listed")
	p.js("document.querySelector('tr.gap button').click(), 1", nil)
	p.until("document.querySelectorAll('tr.change').length === 300 && !document.querySelector('tr.gap')")
	p.shows("#count", "300 changes of 1 watched type")
	p.without("#count", "not listed")
	// The stream has left changes out, and the page reads again: what it does not read is earlier.
	s.send("activity", 800, object{"changes": changesFrom(now, 800, 781), "omitted": 480})
	p.shows("tr.gap", "480 changes not listed here")
	newest.Store(800)
	s.send("hello", 801, object{"epoch": "e", "pos": 801, "now": now, "totals": object{}})
	p.until("document.querySelectorAll('tr.change').length === 100 && !document.querySelector('tr.gap')")
	p.shows("#count", "the newest 100 changes")
	p.shows("#rows", "Earlier changes")
	p.sound()
}

// TestEarlierChangesWhileThereAreNew: as many rows are there as are kept, and those at the end do
// not go while what is below them is being read, which goes on when the stream begins again.
func TestEarlierChangesWhileThereAreNew(t *testing.T) {
	s := stateOf("live", "", nil)
	now := time.Now().UnixMilli()
	asked, answer := make(chan int, 9), make(chan bool)
	s.answers["changes"] = func(r *http.Request) any {
		before, _ := strconv.Atoi(r.FormValue("before")) // 0 = none
		if before == 0 {
			return object{"changes": changesFrom(now, 500, 101), "more": true}
		}
		asked <- before
		<-answer
		return object{"changes": changesFrom(now, before-1, max(1, before-100)), "more": before > 101}
	}
	p := open(t, s.serve(t)+"&type=activity&filter=shop/web-", look{})
	p.until("document.querySelectorAll('tr.change').length === 400")
	p.js("document.querySelector('#rows .sheet button').click(), 1", nil)
	from := func() int {
		select {
		case before := <-asked:
			return before
		case <-time.After(20 * time.Second):
			return -1
		}
	}
	if before := from(); before != 101 {
		t.Errorf("asked for what is before %d", before)
	}
	s.send("hello", 500, object{"epoch": "e", "pos": 500, "now": now, "totals": object{}})
	if before := from(); before != 101 {
		t.Errorf("asked for what is before %d after the stream began again", before)
	}
	for pos := 501; pos <= 530; pos++ {
		s.send("activity", pos, object{"changes": changesFrom(now, pos, pos)})
	}
	p.shows("#rows", "shop/web-530")
	close(answer)
	p.until("document.querySelectorAll('tr.change').length === 530")
	p.shows("#rows .sheet", "No change from before")
	s.send("activity", 531, object{"changes": changesFrom(now, 531, 531)})
	p.shows("#rows", "shop/web-531")
	p.until("document.querySelectorAll('tr.change').length === 530")
	p.shows("#rows .sheet", "Earlier changes")
	p.sound()
}

// TestTheLongestActivity does not say that nothing earlier is kept.
func TestTheLongestActivity(t *testing.T) {
	s := stateOf("live", "", nil)
	now, rows := time.Now().UnixMilli(), array{}
	for pos := 5000; pos > 0; pos-- {
		rows = append(rows, object{"pos": 100 + pos, "at": now + int64(pos), "type": "pods", "op": "MODIFIED", "ns": "shop", "name": fmt.Sprint("web-", pos)})
	}
	s.answers["changes"] = object{"changes": rows, "more": true}
	p := open(t, s.serve(t)+"&type=activity", look{})
	p.shows("#rows .sheet", "changes are listed at most. Earlier ones are kept")
	p.without("#rows .sheet", "No change from before")
	p.sound()
}

// TestWhatIsReadSpansTwoHoles: of the second one, what was not read stays said.
func TestWhatIsReadSpansTwoHoles(t *testing.T) {
	s := stateOf("live", "", nil)
	now := time.Now().UnixMilli()
	s.answers["changes"] = func(r *http.Request) any {
		before, _ := strconv.Atoi(r.FormValue("before")) // 0 = none
		if before == 0 {
			return object{"changes": changesFrom(now, 10, 1)}
		}
		return object{"changes": changesFrom(now, before-1, max(1, before-50)), "more": before > 51}
	}
	p := open(t, s.serve(t)+"&type=activity", look{})
	p.until("document.querySelectorAll('tr.change').length === 10")
	s.send("activity", 60, object{"changes": changesFrom(now, 60, 41), "omitted": 30})
	s.send("activity", 90, object{"changes": changesFrom(now, 90, 71), "omitted": 10})
	p.shows("#count", "50 changes of 1 watched type, 40 more not listed")
	p.js("document.querySelector('tr.gap button').click(), 1", nil)
	p.shows("#count", "80 changes of 1 watched type, 10 more not listed")
	p.until("document.querySelectorAll('tr.gap').length === 1 && document.querySelectorAll('#rows tbody tr')[70].classList.contains('gap')")
	p.js("document.querySelector('tr.gap button').click(), 1", nil)
	p.shows("#count", "90 changes of 1 watched type")
	p.without("#count", "not listed")
	p.sound()
}

// TestATypeThatIsNotWatchedAnyMoreIsSaid above its last changes in Activity.
func TestATypeThatIsNotWatchedAnyMoreIsSaid(t *testing.T) {
	s := stateOf("live", "", nil)
	now := time.Now().UnixMilli()
	endpoints, leases := typeOf("endpoints", "Endpoints", "idle", ""), typeOf("csinodes", "CSINode", "idle", "")
	endpoints["since"], endpoints["heard"] = now-600000, now-300000
	s.answers["types"] = object{"types": array{typeOf("pods", "Pod", "live", ""), endpoints, leases}}
	s.answers["changes"] = object{"changes": array{object{"pos": 3, "at": now - 310000, "type": "endpoints", "op": "MODIFIED", "ns": "shop", "name": "web"}}}
	p := open(t, s.serve(t)+"&type=activity", look{})
	p.until("document.querySelectorAll('tr.gap').length === 1 && document.querySelector('#rows tbody tr').classList.contains('gap')")
	p.shows("tr.gap", "endpoints: "+time.UnixMilli(now-300000).Format("15:04:05")+" until now: nobody looks at it.")
	p.sound()
}

// TestRestartsGrowOld in a Summary, as in a list: the server wrote their age with the state.
func TestRestartsGrowOld(t *testing.T) {
	s := stateOf("live", "", nil)
	s.aboutPod()
	pod := podWith("phase: Running")
	pod["at"], pod["facts"] = time.Now().UnixMilli()-600000, array{object{"name": "Restarts", "text": "4 (10s ago)"}}
	s.answers["object"] = pod
	p := open(t, s.serve(t)+"&type=pods&object=pods/shop/web", look{})
	p.shows("#object .facts", "4 (10m ago)")
	p.sound()
}
