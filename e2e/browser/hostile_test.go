package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// markup is what an attacker who may write some field of some object would try.
func markup(field string) string {
	return fmt.Sprintf("<img src=x onerror=name='%s'><script>name='s'<_script>&lt;%s\u202e\u0007", field, field)
}

// hostile is a cluster all of whose texts are markup.
func hostile() *script {
	now := time.Now().UnixMilli()
	m := markup
	typ := typeOf(m("type"), m("kind"), "stale", m("reason"))
	typ["group"], typ["plural"], typ["shortNames"], typ["section"], typ["undecodable"] = m("group"), m("plural"), array{m("short")}, m("section"), 3
	gap := object{"type": m("gaptype"), "op": "GAP", "pos": 3, "at": now, "from": now - 60000, "to": now - 30000, "reason": m("gap"), "modified": 1}
	row := object{"n": 1, "key": m("ns") + "/" + m("name"), "ns": m("ns"), "name": m("name"), "uid": m("uid"), "cells": array{m("name"), m("status"), m("cell")}, "created": now, "changed": now, "hits": array{1}, "op": "MODIFIED"}
	diff := object{"path": "spec." + m("path"), "old": m("old"), "new": m("new")}
	states := array{
		object{"pos": 5, "at": now, "op": "MODIFIED", "by": m("by"), "headline": m("headline"), "changes": array{diff}},
		object{"pos": 4, "at": now - 90000, "op": "ADDED", "by": m("by"), "headline": m("created"), "changes": array{}}, gap}
	node := object{"type": m("type"), "kind": m("nodekind"), "ns": m("ns"), "name": m("child"), "status": m("nodestatus")}
	return &script{
		windows: map[string]any{m("type"): object{"type": m("type"), "columns": array{object{"name": "Name"}, object{"name": "Status"}, object{"name": m("column")}}, "state": "stale", "reason": m("listreason"),
			"total": 1, "matched": 1, "from": 0, "gaps": array{gap}, "order": array{1}, "rows": array{row}}},
		answers: map[string]any{
			"state": object{"epoch": "e", "pos": 1, "now": now, "mode": "live", "cluster": object{"name": m("cluster"), "server": m("server")}, "user": m("user"), "from": now - 600000, "to": now, "openMoment": true,
				"namespaces": array{m("namespace")}, "emptied": array{m("emptied")}, "warnings": array{m("warning")}},
			"types":    object{"types": array{typ}},
			"activity": object{"from": now - 3600000, "to": now, "buckets": array{array{1, 2, 3}}, "gaps": array{gap}},
			"changes":  object{"changes": array{object{"pos": 9, "at": now, "type": m("changetype"), "op": "MODIFIED", "ns": m("ns"), "name": m("changed"), "by": m("changeby"), "what": m("what")}, gap}},
			"object": object{"type": m("type"), "kind": m("objectkind"), "name": m("name"), "created": now, "exists": true, "yaml": m("yaml") + ":\n  " + m("yamlkey") + ": " + m("yamlvalue"),
				"labels":     object{m("labelkey"): m("label")},
				"conditions": array{object{"type": m("condition"), "status": m("conditionstatus"), "reason": m("conditionreason"), "message": m("message")}},
				"containers": array{object{"name": m("container"), "state": m("containerstate"), "lastMessage": m("last")}}, "commands": array{object{"title": m("commandtitle"), "text": m("command")}}},
			"events": object{"events": array{object{"at": now, "count": 3, "type": m("eventtype"), "reason": m("eventreason"), "message": m("eventmessage"), "from": m("eventfrom")}}, "state": "stale", "reason": m("eventsreason")},
			"tree": object{"root": object{"type": m("type"), "kind": m("rootkind"), "name": m("root"), "children": array{node}}, "unsearched": array{m("unsearched")},
				"names": array{object{"type": m("namestype"), "name": m("names"), "as": m("namesas")}}, "named": array{object{"type": "pods", "ns": m("namedns"), "name": m("named"), "as": m("namedas")}}},
			"history": object{"states": states, "from": now},
			"diff":    object{"a": states[1], "b": states[0], "changes": array{diff}},
			"moment":  object{"server": m("momentserver"), "file": m("momentfile"), "commands": array{m("momentcommand")}},
		},
	}
}

// TestHostileContentIsText plants markup in each field of the protocol, visits each part
// of the page, and looks for the fields as text and for elements that nobody made.
func TestHostileContentIsText(t *testing.T) {
	s := hostile()
	p := open(t, s.serve(t), look{})
	// What turns the direction of text is written as its number.
	shown := func(fields ...string) {
		t.Helper()
		for _, f := range fields {
			want := strings.NewReplacer("\u202e", `\u202e`, "\a", `\u0007`).Replace(markup(f))
			p.until(fmt.Sprintf("document.body.textContent.includes(%s)", quote(want)))
		}
		var made []string
		p.js("[...document.querySelectorAll('img, script:not([src]), iframe, object, embed, style, [onerror], [onclick], [style*=url]')].map(e => e.outerHTML)", &made)
		if len(made) > 0 {
			t.Fatalf("after %q the document has %q", fields, made)
		}
	}
	shown("name", "status", "cell", "column", "ns", "kind", "cluster", "user", "listreason", "gap")
	p.shot("hostile-list")
	p.press("j", "Enter")
	shown("conditionreason", "message", "container", "containerstate", "last", "root", "rootkind", "child", "nodekind", "nodestatus", "labelkey", "label", "headline", "path", "old", "new", "by", "commandtitle", "command", "objectkind")
	p.press("2")
	shown("created", "eventreason", "eventmessage")
	p.js("document.querySelectorAll('.pick button:last-child').forEach((b, i, all) => all[i].click()), 1", nil)
	shown("old", "new")
	p.press("3")
	shown("yaml", "yamlkey", "yamlvalue")
	p.press("4")
	shown("eventfrom", "eventsreason")
	p.press("5")
	shown("unsearched", "names", "namesas", "namestype", "named", "namedns", "namedas")
	p.shot("hostile-object")
	p.press("h")
	shown("warning")
	p.press("Escape", ":")
	shown("group")
	p.press("Escape", "n")
	shown("namespace", "emptied")
	p.press("Escape", "Escape")
	p.js("location.hash = '#type=activity', 1", nil)
	shown("changetype", "changed", "changeby", "what")
	p.js(fmt.Sprintf("location.hash = '#type=' + encodeURIComponent(%s) + '&at=%d', 1", quote(markup("type")), time.Now().UnixMilli()-100000), nil)
	p.click("#banner button")
	shown("momentserver", "momentfile", "momentcommand")
	var name string
	p.js("window.name", &name)
	if name != "" {
		t.Errorf("the markup of field %q ran", name)
	}
	p.sound()
}
