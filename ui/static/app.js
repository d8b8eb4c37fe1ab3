// The page: what is looked at stands in the URL, is declared to the server, and is drawn
// by the list, the sheet of an object, and the bar of time.
import { $, h, s, put, text, update, clock, during, age, ago, number, plural, sheet, button, say, command, when } from "./dom.js";
import * as link from "./link.js";
import { List, nothing } from "./list.js";
import { Sheet } from "./object.js";
import { Time } from "./time.js";
import { Changes } from "./changes.js";
import { choose, help, dialog, moment } from "./dialog.js";

const ACTIVITY = "activity";
const SECTIONS = ["Favourites", "Workloads", "Network", "Config", "Storage", "Access", "Cluster", "Custom"];

let state = null;                 // api/state
let offset = 0;                   // the server's clock minus ours
let view = {};                    // what is looked at, as in the URL
let status = { state: "connecting", since: Date.now(), error: "" };
let totals = {};                  // type: [added, modified, deleted]
let sequence = 0;                 // of windows: an event of an old one is not for this one
let sleeping = false;
const types = new Map();
const newer = new Map();          // types that the stream brought while load waits for all of them
const favourites = new Set(read("favourites") || []);
const wide = new Set(read("sections") || []); // sections all of whose types are shown
const recent = [];                // changes a second of the type that is shown
let opened = 0;                   // since when these are counted

const now = real => !real && view.at ? view.at : state?.mode === "recording" && !real ? state.to : Date.now() + offset;
const type = () => types.get(view.type);
const spaces = () => type()?.namespaced === false ? [] : view.ns || []; // the namespaces that are shown
const past = () => !!view.at || state?.mode === "recording";

const list = new List({ now, open, sort: key => go({ sort: key === "name" ? "" : key }), namespaced: () => type()?.namespaced !== false, since: () => type()?.since || 0, wish, empty: w => nothing(w, type(), { ...view, ns: spaces() }, actions), gap: gapText });
const object = new Sheet({ now, go, href, type: t => types.get(t), from: () => state?.from, follow: () => state?.follow !== false && !past() });
const time = new Time({ now, live: () => status.state === "live" && type()?.state !== "stale" && !stale().length, at: () => view.at, go: at => go({ at }), read: () => drawNotes(), state: () => state, types: () => [...types.values()], type: () => view.type === ACTIVITY ? "" : view.type, all: () => !spaces().length });
const changes = new Changes({ now, href, view: () => view, state: () => state, types: () => [...types.values()], clear: () => actions.clear(), head: () => drawHead() });

const actions = { clear: () => go({ filter: "" }), everywhere: () => go({ ns: [] }), namespace: namespaces, changes: () => go({ type: ACTIVITY, filter: view.type, sort: "" }) };

function read(name) { try { return JSON.parse(localStorage.getItem("listwatch-" + name)); } catch { return null; } }
function write(name, value) { try { localStorage.setItem("listwatch-" + name, JSON.stringify(value)); } catch { /* storage is full or refused: it is not kept */ } }

// ---- the URL ----

// href is the link of this view with some of it changed. A state that was chosen is not that of
// another object or moment.
function href(patch) {
	const v = { ...view, ...(patch.object === undefined && patch.at === undefined ? {} : { pos: null, diff: "" }), ...patch }, q = new URLSearchParams();
	if (v.type) q.set("type", v.type);
	if (v.ns?.length) q.set("ns", v.ns.join(","));
	if (v.filter) q.set("filter", v.filter);
	if (v.sort) q.set("sort", v.sort);
	if (v.wide) q.set("wide", "1");
	if (v.at) q.set("at", Math.round(v.at));
	if (v.object) {
		q.set("object", [v.object.type, v.object.ns || "", v.object.name].join("/"));
		if (v.object.uid) q.set("uid", v.object.uid);
		if (v.tab && v.tab !== "summary") q.set("tab", v.tab);
		if (v.pos != null) q.set("pos", v.pos);
		if (v.diff) q.set("diff", v.diff);
	}
	return "#" + q.toString().replace(/%2F/g, "/").replace(/%2C/g, ",");
}

function parse() {
	const q = new URLSearchParams(location.hash.slice(1)), o = (q.get("object") || "").split("/"), diff = q.get("diff") || "";
	return {
		type: q.get("type") || "", ns: (q.get("ns") || "").split(",").filter(Boolean), filter: q.get("filter") || "", sort: q.get("sort") || "", wide: q.has("wide"),
		diff: /^\d+-\d+$/.test(diff) ? diff : "",
		at: Number(q.get("at")) || 0, tab: q.get("tab") || "", pos: q.has("pos") ? Number(q.get("pos")) || 0 : null, object: o.length === 3 && o[2] ? { type: o[0], ns: o[1], name: o[2], uid: q.get("uid") || "" } : null,
	};
}

// go changes what is looked at. A change of the filter, or of a moment of the past to another,
// replaces the entry of the history.
function go(patch) {
	const before = location.hash, to = href(patch);
	if (before === to) return;
	const small = Object.keys(patch).every(k => k === "at" ? !view.at === !patch.at && view.pos === null && !view.diff : ["filter", "sort", "wide"].includes(k));
	history[small ? "replaceState" : "pushState"](null, "", to);
	apply();
}

// apply follows the URL.
function apply() {
	const before = view;
	view = parse();
	if (state && view.at > time.end() + 5000) view.at = 0; // a moment that is not yet, by clocks that are not the same
	if (!view.type) view.type = types.has("pods") || !types.size ? "pods" : [...types.keys()][0];
	const other = ["type", "at"].some(k => before[k] !== view[k]), refilter = ["filter", "sort", "wide"].some(k => before[k] !== view[k]) || String(before.ns) !== String(view.ns);
	if (before.type !== view.type) {
		list.clear(view.type, view);
		$("filter").placeholder = view.type === ACTIVITY ? "Filter: text" : "Filter: text, app=web, or a jq expression";
	} else if (other || refilter) list.refilter(view);
	if (other || refilter) sequence++;
	if (other) { recent.length = 0; opened = Date.now(); }
	if ($("filter") !== document.activeElement) $("filter").value = view.filter;
	if (view.object) { object.show(view.object, view.tab, view.at, view.pos, view.diff); list.selected = view.object.ns ? view.object.ns + "/" + view.object.name : view.object.name; } else if (before.object) { object.hide(); list.box.focus({ preventScroll: true }); }
	list.view = view;
	list.uid = view.object?.uid || "";
	list.mark();
	if (before.at !== view.at) time.load();
	else if (before.type !== view.type) time.draw();
	drawTypes();
	drawHead();
	drawBanner();
	drawNotes();
	if (view.type === ACTIVITY) changes.show(); else changes.hide();
	if (other || refilter || !before.type) loadPast();
	declare();
	unserved();
}

// unserved says so of a type that is in no list of the server.
function unserved() {
	if (types.size && view.type && view.type !== ACTIVITY && !type() && !list.win) list.message(sheet("gap", `${view.type} is not served`, ["The server has no such type, or you may not see it."], button("Choose a type", chooseType)));
}

// ---- what is declared ----

// query is the window's part of the filter: text, labels or jq, by its form.
function query() {
	const f = view.filter.trim(), q = { type: view.type, ns: spaces().join(","), text: "", labels: "", jq: "", sort: view.sort || "name" };
	if (kindOf(f) === "jq" && state?.jq !== false) q.jq = f;
	else if (kindOf(f) === "labels") q.labels = f;
	else q.text = f;
	return q;
}

function kindOf(f) {
	if (/^(\.|select\(|any\(|all\(|\[|\(|not\b|has\()/.test(f)) return "jq";
	if (/^[\w./-]+\s*(=|==|!=)\s*[\w./-]*(\s*,.*)?$/.test(f) || /^[\w./-]+\s+(in|notin)\s*\(.*\)/.test(f)) return "labels";
	return "text";
}

function wanted() {
	if (sleeping) return { windows: [], objects: [], activity: null };
	const w = { windows: [], objects: [], activity: null };
	if (!past()) {
		if (view.type !== ACTIVITY && type()) w.windows.push({ id: "w" + sequence, ...query(), from: list.asked.from, rows: list.asked.rows });
		if (view.object) w.objects.push({ id: objectWindow(), type: view.object.type, ns: view.object.ns, name: view.object.name, uid: view.object.uid });
		if (view.type === ACTIVITY) w.activity = { ns: (view.ns || []).join(","), text: view.filter };
	}
	return w;
}

// objectWindow is the id of the object in the subscription.
const objectWindow = () => "o" + hash(JSON.stringify(view.object));

function hash(t) {
	let x = 0;
	for (let i = 0; i < t.length; i++) x = (x * 31 + t.charCodeAt(i)) >>> 0;
	return x.toString(36);
}

let declared = 0;
function declare() {
	clearTimeout(declared);
	declared = setTimeout(() => link.want(wanted()), 20);
}

function wish() {
	if (past()) loadPast(); else declare();
}

// loadPast gets the window of a moment, or of a recording.
let pastRequest = null;
async function loadPast() {
	pastRequest?.abort();
	if (!past() || view.type === ACTIVITY || !type()) return;
	const stop = pastRequest = new AbortController();
	const q = query();
	if (q.jq) { list.message(sheet("", "A jq expression filters the present", ["At a moment of the past, filter by text or labels."], button("Clear the filter", actions.clear))); return; }
	try {
		const win = await link.get("api/list", { ...q, from: list.asked.from, rows: list.asked.rows, at: Math.round(now()) }, stop.signal);
		if (stop.signal.aborted) return;
		list.window(win);
		drawHead();
		drawNotes();
	} catch (e) {
		if (!stop.signal.aborted) list.message(sheet(e.status === 403 ? "forbidden" : e.status === 410 ? "gap" : "error", e.status === 410 ? "This moment is not kept any more" : "This moment cannot be shown", [e.message], button("Return to live", () => go({ at: 0 }))));
	}
}

// ---- what is drawn ----

function drawTypes() {
	const nav = $("types"), sections = new Map(SECTIONS.map(x => [x, []]));
	for (const t of types.values()) {
		if (favourites.has(t.type)) sections.get("Favourites").push(t);
		(sections.get(t.section) || sections.get("Custom")).push(t);
	}
	const nodes = [h("ul", {}, typeLink({ type: ACTIVITY, name: "Activity", title: "All changes as they happen" }))];
	for (const [name, all] of sections) {
		if (!all.length) continue;
		const order = name === "Workloads" ? ["pods", "deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch", "cronjobs.batch"] : name === "Cluster" ? ["nodes", "events", "namespaces"] : ["services"];
		const rank = t => { const i = order.indexOf(t.type); return i < 0 ? 99 : i; };
		all.sort((a, b) => rank(a) - rank(b) || title(a).localeCompare(title(b)));
		const few = !wide.has(name) && all.length > 8 ? all.filter((t, i) => i < 7 || t.type === view.type || t.state === "stale") : all;
		nodes.push(h("h2", { id: "section-" + name }, name), h("ul", { "aria-labelledby": "section-" + name }, few.map(t => typeLink(t))),
			all.length > 8 ? h("button", { type: "button", class: "more", "data-more": name, onclick: () => { if (!wide.delete(name)) wide.add(name); write("sections", [...wide]); drawTypes(); } }, few.length < all.length ? `${all.length - few.length} more` : "fewer") : null);
	}
	if (!types.size) nodes.push(h("p", { class: "none" }, status.state === "live" ? "The cluster serves no type that you may see." : "The types are loading."));
	// What has the focus is found again by its section and name, or, where it left the section, by its name.
	const at = nav.scrollTop, had = nav.contains(document.activeElement) ? document.activeElement : null;
	const place = e => [e.parentNode.parentNode.getAttribute("aria-labelledby"), e.dataset.type, e.dataset.more].join();
	const key = had && place(had), links = () => [...nav.querySelectorAll("a, button")];
	put(nav, nodes);
	nav.scrollTop = at;
	if (had) (links().find(e => place(e) === key) || links().find(e => e.dataset.type && e.dataset.type === had.dataset.type))?.focus();
}

// title is the name of a type for people: Pods, ReplicaSets.
function title(t) {
	if (t.name) return t.name;
	const k = t.kind || t.plural;
	if (k.toLowerCase() === t.plural) return k;
	if (t.plural === k.toLowerCase() + "s") return k + "s";
	if (t.plural === k.toLowerCase() + "es") return k + "es";
	if (/y$/.test(k) && t.plural.endsWith("ies")) return k.slice(0, -1) + "ies";
	return k;
}

function typeLink(t) {
	const [word, cls, long] = countOf(t);
	return h("li", {}, h("a", { href: href({ type: t.type, object: null, tab: "", filter: "", sort: "" }), "aria-current": t.type === view.type ? "page" : null, class: cls, title: t.title || long,
		"data-type": t.type, "data-changes": (totals[t.type] || []).reduce((a, b) => a + b, 0) },
	h("span", {}, title(t)), view.at || ["stale", "error", "forbidden", "budget", "gone"].includes(t.state) ? h("i") : spark(t.rate), h("small", {}, word)));
}

// countOf is the count of a type, or what is wrong with it.
function countOf(t) {
	if (t.name) return ["", "", ""];
	if (view.at) return ["", "", `${t.type} ${t.version}`]; // what is counted is of now
	const full = `${t.type} ${t.version}: ${t.reason || t.state}`;
	switch (t.state) {
		case "stale": return ["stale " + ago(Date.now() + offset - t.heard).replace(/ \d\d s$/, ""), "stale", full];
		case "forbidden": return ["forbidden", "forbidden", full];
		case "error": return ["error", "error", full];
		case "budget": return ["budget", "stale", full];
		case "gone": return ["gone", "forbidden", full];
		case "loading": return [t.loading?.done ? number(t.loading.done) + "…" : "…", "", full];
		case "idle": return [t.count < 0 ? "" : number(t.count), "old", t.count < 0 ? full : `${full}, counted ${age(Date.now() + offset - t.counted)} ago`];
	}
	return [t.count < 0 ? "" : number(t.count), "", `${full}, heard from ${age(Date.now() + offset - t.heard)} ago`];
}

function spark(rate) {
	if (!rate?.some(x => x)) return h("i");
	const most = Math.max(...rate), n = rate.length - 1 || 1;
	return s("svg", { viewBox: "0 0 44 14", preserveAspectRatio: "none", "aria-hidden": "true" }, s("path", { d: "M" + rate.map((v, i) => `${(i * 44 / n).toFixed(1)} ${(12.5 - v / most * 11).toFixed(1)}`).join("L") }));
}

function drawHead() {
	const t = type(), w = list.win, name = view.type === ACTIVITY ? "Activity" : t ? title(t) : view.type;
	text($("title"), name);
	document.title = `${name} · ${state?.cluster?.name || "listwatch"}`;
	let count = "";
	if (view.type === ACTIVITY) count = changes.summary();
	else if (w) {
		count = w.matched === w.total ? number(w.total) : `${number(w.matched)} of ${number(w.total)} match`;
		if (w.filter && w.filter.done < w.filter.of) count += `, ${number(w.filter.done)} of ${number(w.filter.of)} searched`;
		if (w.filter?.failed) count += `, ${plural(w.filter.failed, "object")} failed: ${w.filter.error}`;
		if (!w.total && (w.approximate || ["forbidden", "error", "gone", "budget"].includes(w.state))) count = "";
		if (w.loading && !past()) count = `loading ${number(w.loading.done)}` + (w.loading.of ? ` of ${number(w.loading.of)}` : "");
	}
	text($("count"), count);
	const ns = $("namespace");
	ns.hidden = !t?.namespaced && view.type !== ACTIVITY;
	update(ns, "namespace ", h("b", { dir: "auto" }, !view.ns?.length ? "all" : view.ns.length > 2 ? `${view.ns.slice(0, 2).join(", ")} and ${view.ns.length - 2}` : view.ns.join(", ")));
	const fav = $("favourite");
	fav.hidden = !t;
	if (t) { text(fav, favourites.has(t.type) ? "★ favourite" : "☆ favourite"); fav.setAttribute("aria-pressed", favourites.has(t.type)); }
	const rate = $("rate"), sum = recent.reduce((a, x) => a + x.n, 0);
	rate.hidden = past() || !sum;
	if (sum) update(rate, h("b", {}, number(sum)), (sum === 1 ? "change " : "changes ") + (Date.now() - opened < 60000 ? "since it was opened" : "in the last minute"));
	const missing = view.type === ACTIVITY && state?.mode !== "recording" ? changes.unwatched().length : 0;
	$("unwatched").hidden = !missing;
	if (missing) { text($("unwatched"), `${plural(missing, "type")} not watched`); $("unwatched").removeAttribute("aria-label"); }
	drawWhere();
	drawMode();
}

// showUnwatched names the types whose changes Activity does not have, and what to do.
function showUnwatched() {
	const names = changes.unwatched().map(t => t.type).sort();
	dialog("Types that are not watched", h("p", {}, "Activity does not have their changes, but for those from when a page showed them: a type is watched as long as one does. To watch types always, name them at the start:"),
		command("listwatch ui " + (names.find(n => n.startsWith("endpointslices.")) || names[0] || "TYPE")), h("h2", {}, plural(names.length, "type")), h("p", { class: "quiet" }, names.join(", ")));
}

// drawWhere names the cluster, and is a button where there are several.
function drawWhere() {
	const c = state?.cluster, name = c?.name || c?.server || "", several = state?.clusters?.length > 1;
	const key = JSON.stringify([name, c?.server, state?.user, several]);
	if (key === drawWhere.key) return;
	drawWhere.key = key;
	const of = [several ? "" : "cluster ", h("b", { dir: "auto", title: c?.server }, name)];
	put($("where"), !name ? "" : [several ? h("button", { type: "button", class: "chip", id: "cluster", "aria-haspopup": "dialog", onclick: chooseCluster }, "cluster ", of) : of, state.user ? [" as ", h("b", { dir: "auto" }, state.user)] : ""]);
}

function drawMode() {
	const input = $("filter").value.trim(), mode = $("mode"), kind = kindOf(input), words = view.type === ACTIVITY, w = list.win;
	$("clear").hidden = !input;
	const wrong = !!refusedFilter && refusedFilter.filter === input;
	$("find").classList.toggle("wrong", wrong);
	text(mode, !input ? "" : wrong ? refusedFilter.error.slice(0, 80) : words ? (kind === "text" ? kind : `text: Activity has no ${kind}`) : kind === "jq" && state?.jq === false ? "text: this page has no jq" : kind === "jq" ? (view.filter === input ? (w?.filter && w.filter.done < w.filter.of ? "jq, searching" : "jq") : "jq, press Enter") : kind);
	mode.title = wrong ? refusedFilter.error : "";
}
let refusedFilter = null;

function gapText(g) {
	const found = [g.added && `${number(g.added)} added`, g.modified && `${number(g.modified)} changed`, g.deleted && `${number(g.deleted)} deleted`].filter(Boolean).join(", ");
	return `${during(g)}: ${g.reason || "the connection was lost"}. ${found ? `Found by comparing: ${found}. ` : ""}${g.idle && g.to ? "" : "What came and went in between is not known."}`;
}

// stale are the types whose changes Activity cannot show now.
const stale = () => view.type === ACTIVITY && !past() ? [...types.values()].filter(t => t.state === "stale") : [];

// drawNotes says above the rows what is not as it should be.
let hiddenGaps = new Set();
function drawNotes() {
	const t = type(), w = list.win, notes = [];
	const st = w?.state || t?.state, reason = w?.reason || t?.reason;
	const shown = w?.order?.length;
	if (view.type !== ACTIVITY && !past()) {
		if (st === "stale") notes.push(h("div", { class: "note", role: "status" }, h("b", {}, "Stale"), h("span", { class: "text", dir: "auto" }, reason || `nothing was heard for ${ago(now() - t.heard)}`), h("span", {}, "The rows are from before.")));
		else if (shown && st === "forbidden") notes.push(h("div", { class: "note error" }, h("b", {}, "Forbidden"), h("span", { class: "text", dir: "auto" }, reason)));
		else if (shown && st === "error") notes.push(h("div", { class: "note error" }, h("b", {}, "Error"), h("span", { class: "text", dir: "auto" }, reason), h("span", {}, "The rows are from before.")));
		else if (shown && (st === "gone" || st === "budget")) notes.push(h("div", { class: "note" }, h("span", { class: "text", dir: "auto" }, reason || "not served any more")));
		if (t?.undecodable) notes.push(h("div", { class: "note error" }, `${plural(t.undecodable, "object")} could not be decoded and ${t.undecodable === 1 ? "is" : "are"} not shown.`));
	}
	const lost = stale();
	if (lost.length) notes.push(h("div", { class: "note", role: "status" }, h("b", {}, "Stale"), h("span", { class: "text" }, lost.map(title).join(", ")), h("span", {}, "Their changes from now on are not known.")));
	if (view.sort !== "-changed") {
		const id = g => [view.type, g.from, g.to].join();
		const gaps = (view.type === ACTIVITY ? time.common() : w?.gaps || []).filter(g => g.from <= now() && !hiddenGaps.has(id(g))), g = gaps.at(-1), more = gaps.length - 1;
		if (g) notes.push(h("div", { class: "note", "data-gap": g.from }, h("b", {}, "Gap"), h("span", { class: "text", dir: "auto" }, gapText(g), more ? ` Before it: ${plural(more, "other gap")}, from ${clock(gaps[0].from)} on.` : ""), h("i", { class: "fill" }),
			h("button", { type: "button", onclick: () => { for (const x of gaps) hiddenGaps.add(id(x)); drawNotes(); } }, "hide")));
	}
	if (w?.approximate && w.order.length) notes.push(h("div", { class: "note" }, "History does not reach back to this moment: the rows are the first ones that are known."));
	const key = notes.map(n => n.textContent).join("\n");
	if (key === drawNotes.key) return;
	drawNotes.key = key;
	put($("notes"), notes);
}

// drawBanner says what concerns the whole page.
let announced = null;
function drawBanner() {
	const b = $("banner"), nodes = [];
	let cls = "banner";
	const lost = status.state === "lost" && Date.now() - status.since > 1500;
	if (status.state === "ended") {
		cls += " error";
		nodes.push(h("b", {}, "The session ended"), h("span", { class: "text" }, status.error || ""), button("Sign in again", () => login("")));
	} else if (lost) {
		cls += " lost";
		nodes.push(h("b", {}, `Not connected for ${ago(Date.now() - status.since)}`), h("span", {}, "What is shown is from before. It is tried again by itself."), h("span", { class: "quiet", dir: "auto" }, status.error), h("i", { class: "fill" }), button("Try now", () => link.again()));
	} else if (announced) {
		cls += " " + announced.cls;
		nodes.push(h("b", {}, announced.title), h("span", { dir: "auto" }, announced.text), h("i", { class: "fill" }), button("Hide", () => { announced = null; drawBanner(); }));
	} else if (view.at || state?.mode === "recording") {
		const end = state?.mode === "recording" ? state.to : Date.now() + offset;
		if (view.at) nodes.push(h("b", {}, when(view.at, end)), h("span", {}, `${ago(end - view.at)} ${state?.mode === "recording" ? "before the end of the recording" : "ago"}`));
		else nodes.push(h("b", {}, "A recording"), h("span", {}, "from ", when(state.from, 0), " to ", when(state.to, 0), ", shown at its end"));
		nodes.push(h("span", { class: "quiet" }, "Moments are those of arrival; across types they are approximate."), h("i", { class: "fill" }));
		if (state?.openMoment) nodes.push(button("Open this moment as a cluster", openMoment));
		if (view.at) nodes.push(button(state?.mode === "recording" ? "To the end" : "Return to live", () => go({ at: 0 }), "button primary"));
	}
	const key = cls + nodes.map(n => n.textContent).join("|");
	b.hidden = !nodes.length;
	if (key !== drawBanner.key) {
		drawBanner.key = key;
		b.className = cls;
		put(b, nodes);
	}
	drawPulse(lost);
}

function drawPulse(lost) {
	const p = $("pulse"), t = type();
	let cls = "", word = "connecting";
	if (status.state === "ended") word = "ended", cls = "lost";
	else if (lost || status.state === "lost") word = "not connected", cls = "lost";
	else if (state?.mode === "recording") word = "recording", cls = "past";
	else if (view.at) word = "the past", cls = "past";
	else if (status.state === "live") {
		if (t?.state === "stale" || stale().length) word = "stale", cls = "stale";
		else if (t?.state === "live") word = `live, heard ${ago(Date.now() + offset - t.heard)} ago`, cls = "live";
		else word = t && t.state !== "idle" ? t.state : "live", cls = t?.state === "error" || t?.state === "forbidden" ? "stale" : "live";
	}
	p.className = "pulse " + cls;
	text($("pulse-text"), word);
	p.setAttribute("aria-label", "Connection: " + word.replace(/, heard.*/, ""));
}

// ---- dialogs ----

function chooseType() {
	const all = [{ type: ACTIVITY, name: "Activity", shortNames: [] }, ...types.values()];
	choose("Type", "a name, a short name, a group", all.map(t => ({ label: title(t), note: t.name ? "all changes" : [t.group, countOf(t)[0]].filter(Boolean).join("  "), words: [t.type, t.kind, ...(t.shortNames || [])].join(" ").toLowerCase(), exact: [t.plural, ...(t.shortNames || [])], pick: () => go({ type: t.type, object: null, tab: "", filter: "", sort: "" }) })));
}

function chooseCluster() {
	if (!(state?.clusters?.length > 1)) return;
	choose("Cluster", "a name", state.clusters.map(n => ({ label: n, note: n === state.cluster.name ? "shown" : "", words: n.toLowerCase(), exact: [n.toLowerCase()], pick: () => n !== state.cluster.name && switchTo(n) })));
}

// switchTo goes to the page of another cluster, with the same type and namespaces.
async function switchTo(name) {
	try {
		const to = await link.post("api/switch", { to: name }), q = new URLSearchParams({ token: to.token });
		if (view.type) q.set("type", view.type);
		if (view.ns?.length) q.set("ns", view.ns.join(","));
		location.assign(to.path + "#" + q.toString());
	} catch (e) { announced = { cls: "error", title: "The cluster cannot be shown", text: e.message }; drawBanner(); }
}

function namespaces() {
	const all = () => ["", ...new Set([...(state?.namespaces || []), ...(view.ns || []), ...(state?.emptied || [])])].map(n => ({ label: n || "all namespaces", note: (view.ns || []).includes(n) ? "chosen" : state?.emptied?.includes(n) ? "no objects now" : "", words: n.toLowerCase(), exact: [n],
		pick: more => go({ ns: !n ? [] : more ? (view.ns.includes(n) ? view.ns.filter(x => x !== n) : [...view.ns, n]) : [n] }) }));
	const replace = choose("Namespace", "a name; Ctrl+Enter adds or removes it", all());
	link.get("api/state").then(st => { state = { ...state, ...st }; replace(all()); }, () => {});
}

// health says for each watched type how well it is known.
function health() {
	const t0 = Date.now() + offset;
	const rows = [...types.values()].filter(t => t.state !== "idle").sort((a, b) => title(a).localeCompare(title(b))).map(t => {
		const c = totals[t.type] || [0, 0, 0];
		return h("tr", {}, h("td", {}, h("b", {}, title(t)), h("div", { class: t.state === "live" ? "quiet" : "bad", dir: "auto" }, t.reason || t.state)),
			h("td", {}, t.since ? clock(t.since) : ""), h("td", {}, t.heard ? ago(t0 - t.heard) + " ago" : ""), h("td", { "data-totals": t.type }, c.map(number).join(" / ")),
			h("td", {}, [t.relists && plural(t.relists, "relist"), t.gaps && plural(t.gaps, "gap"), t.undecodable && `${number(t.undecodable)} undecodable`].filter(Boolean).join(", ") || "none"));
	});
	dialog("Connection", h("p", {}, status.state === "live" ? "The page is connected to listwatch." : `The page is not connected: ${status.error || status.state}`, state ? ` Position ${state.epoch}.${state.pos}.` : ""),
		(state?.warnings || []).map(w => h("p", { class: "note", dir: "auto" }, w)),
		rows.length ? h("table", { class: "facts" }, h("thead", {}, h("tr", {}, ["Type", "Watched since", "Heard", "Added / changed / deleted", "Relists, gaps"].map(x => h("th", { scope: "col" }, x)))), h("tbody", {}, rows)) : h("p", { class: "quiet" }, "No type is watched."),
		h("p", {}, button("End this session", async () => { await link.logout().catch(() => {}); location.hash = ""; location.reload(); })));
}

async function openMoment() {
	const at = Math.round(now());
	dialog("Open this moment as a cluster", h("p", { class: "quiet" }, "A server with the state of this moment is started."));
	try {
		const m = await link.post("api/moment", { at });
		dialog("This moment as a cluster", h("p", {}, `A server with the state of ${clock(at)} listens on ${m.server}. It takes writes too, of which the cluster knows nothing, and ends with listwatch.`),
			m.unknown ? h("p", { class: "note" }, `It refuses ${plural(m.unknown.length, "type")} of which nothing is known at this moment: ${m.unknown.slice(0, 8).join(", ")}${m.unknown.length > 8 ? ` and ${number(m.unknown.length - 8)} more` : ""}.`) : null,
			(m.leftOut || []).map(l => h("p", { class: "note", dir: "auto" }, l)), (m.commands || []).map(c => command(c)), m.file ? command("export KUBECONFIG=" + m.file) : null);
	} catch (e) { dialog("This moment cannot be opened", h("p", { dir: "auto" }, e.message)); }
}

function login(error) {
	if (status.state === "connecting") text($("pulse-text"), "not signed in");
	document.body.classList.add("out");
	const input = h("input", { type: "password", autocomplete: "off", "aria-label": "Token", maxlength: 16384, placeholder: "token" });
	const note = h("p", { class: "bad", role: "alert" }, error || "");
	const form = h("form", { onsubmit: async e => {
		e.preventDefault();
		let value = input.value.trim();
		if (value.includes("token=")) value = new URLSearchParams(value.slice(value.indexOf("#") + 1)).get("token") || value;
		try { await link.login(value); location.reload(); } catch (x) { text(note, x.message); input.select(); }
	} }, h("p", {}, input), h("p", {}, h("button", { class: "button primary" }, "Open the page")));
	text($("title"), "Sign in");
	text($("count"), "");
	list.message(h("section", { class: "sheet" }, h("h2", {}, "This page needs a token"), h("p", {}, "The terminal that runs listwatch printed a link with a token, which works once. Press Enter there for another one. In a cluster, give a token of Kubernetes: "), h("pre", {}, "kubectl create token NAME"), form, note));
	input.focus();
}

// ---- what happens ----

function open(row) { go({ object: { type: view.type, ns: row.ns || "", name: row.name, uid: row.uid }, tab: view.object ? view.tab : "" }); }

function keys(e) {
	if (e.ctrlKey || e.metaKey || e.altKey || $("dialog").open) return;
	const field = e.target.matches("input:not([type=checkbox]), textarea, select");
	if (e.key === "Escape") {
		clearTimeout(listen.typing);
		if (e.target === $("filter")) { if (e.target.value && view.filter === e.target.value) { /* first leave the field, then clear */ } e.target.value = view.filter; drawMode(); list.box.focus(); }
		else if ($("types").classList.contains("open")) menu(false);
		else if (view.object) go({ object: null, tab: "" });
		else if (view.at) go({ at: 0 });
		else if (view.filter) go({ filter: "" });
		return;
	}
	if (field) return;
	const move = by => view.type === ACTIVITY ? changes.move(by) : list.move(by), rows = list.box === e.target || e.target === document.body || list.box.contains(e.target);
	const page = Math.max(1, Math.floor(list.box.clientHeight / 32) - 2);
	const act = {
		":": chooseType, "/": () => { $("filter").focus(); $("filter").select(); }, n: namespaces, c: chooseCluster, "?": help, f: favourite, w: () => go({ wide: !view.wide }),
		j: () => step(1), k: () => step(-1), g: () => move(-1e9), G: () => move(1e9), l: () => go({ at: 0 }), h: health,
		t: goTo, "+": () => time.zoom(-1), "-": () => time.zoom(1), o: () => object.of && object.enlarge(), ArrowLeft: () => time.step(e.shiftKey ? -1000 : -60e3), ArrowRight: () => time.step(e.shiftKey ? 1000 : 60e3),
		...(rows ? { ArrowDown: () => move(1), ArrowUp: () => move(-1), PageDown: () => move(page), PageUp: () => move(-page), Home: () => move(-1e9), End: () => move(1e9), Enter: enter } : {}),
		...(/^[1-6]$/.test(e.key) && object.of ? { [e.key]: () => go({ tab: object.tabs()[e.key - 1]?.[0] || object.tab }) } : {}),
	}[e.key];
	if (!act || (e.key === "Enter" && e.target.matches("button, a"))) return;
	e.preventDefault();
	act();
}

// step goes to the next row, or the one before, which Enter then opens.
function step(by) {
	if (view.type === ACTIVITY) return changes.move(by);
	list.box.focus({ preventScroll: true });
	list.move(by);
}

function goTo() { if (state) moment(state.from, time.end(), at => go({ at })); }

function enter() {
	const row = list.current();
	if (row) { open(row); requestAnimationFrame(() => $("object-title")?.focus()); }
}

function favourite() {
	const t = type();
	if (!t) return;
	if (!favourites.delete(t.type)) favourites.add(t.type);
	write("favourites", [...favourites]);
	drawTypes();
	drawHead();
}

function menu(on) {
	$("types").classList.toggle("open", on);
	$("menu").setAttribute("aria-expanded", on);
	if (on) $("types").querySelector("a")?.focus(); else $("menu").focus();
}

function listen() {
	addEventListener("hashchange", () => { if (location.hash.includes("token=")) location.reload(); else apply(); });
	addEventListener("popstate", () => { clearTimeout(listen.typing); $("filter").value = parse().filter; apply(); });
	addEventListener("keydown", keys);
	$("find").addEventListener("submit", e => { e.preventDefault(); clearTimeout(listen.typing); refusedFilter = null; go({ filter: $("filter").value.trim() }); list.box.focus(); });
	$("filter").addEventListener("input", () => {
		const f = $("filter").value.trim();
		drawMode();
		clearTimeout(listen.typing);
		if (view.type === ACTIVITY || kindOf(f) !== "jq") listen.typing = setTimeout(() => go({ filter: f }), 120);
	});
	$("clear").addEventListener("click", () => { $("filter").value = ""; go({ filter: "" }); $("filter").focus(); drawMode(); });
	$("pulse").addEventListener("click", health);
	$("help-button").addEventListener("click", help);
	$("clock").addEventListener("click", goTo);
	$("namespace").addEventListener("click", namespaces);
	$("unwatched").addEventListener("click", showUnwatched);
	$("favourite").addEventListener("click", favourite);
	$("menu").addEventListener("click", () => menu(!$("types").classList.contains("open")));
	$("types").addEventListener("click", e => { if (e.target.closest("a")) { $("types").classList.remove("open"); $("menu").setAttribute("aria-expanded", "false"); } });
	$("skip").addEventListener("click", e => { e.preventDefault(); list.box.focus(); });
	// A hidden tab is about nothing after half a minute, and catches up when it is seen again.
	document.addEventListener("visibilitychange", () => {
		clearTimeout(listen.sleep);
		if (document.hidden) listen.sleep = setTimeout(() => { sleeping = true; declare(); }, 30000);
		else wake();
	});
	addEventListener("pageshow", e => { if (e.persisted) wake(); });
	addEventListener("online", () => link.again());
}

function wake() {
	link.again();
	if (sleeping) { sleeping = false; declare(); time.load(); }
}

function streams() {
	link.on("status", st => {
		const was = status.state;
		status = st;
		// A reading that has not ended began before the stream, and may lack what changed until then.
		if (st.state === "live" && was !== "live") { if (!types.size) load(); if (was === "lost") say("connected again"); }
		if (st.state === "lost" && was === "live") setTimeout(drawBanner, 1600);
		drawBanner();
	});
	link.on("hello", d => { offset = d.now - Date.now(); if (!d.resumed) totals = d.totals || {}; if (state) { state.epoch = d.epoch; state.pos = d.pos; } if (!document.hidden) { time.load(); if (d.resumed) object.reload(); else object.refresh(); } });
	link.on("totals", d => { totals = d; });
	link.on("reset", d => {
		totals = d.totals || {};
		announced = { cls: "reset", title: "Started again", text: { epoch: "listwatch was started again: counts and history begin here.", log: "The page was away for longer than the log reaches back: counts begin again, rows are current.", id: "The position was not known: counts begin again, rows are current." }[d.why] || "" };
		load();
		changes.id = "";
		if (changes.on) changes.show();
		if (view.object) { object.id = ""; object.show(view.object, view.tab, view.at, view.pos, view.diff); }
	});
	link.on("loss", d => { announced = { cls: "reset", title: "Changes are missing", text: `The stream went from position ${d.from} to ${d.to}. Reload the page.` }; drawBanner(); });
	link.on("counts", d => {
		totals = d.totals;
		if (state) { state.pos = d.to; state.to = Math.max(state.to || 0, d.at); }
		const c = d.types[view.type];
		if (c) recent.push({ at: Date.now(), n: c[0] + c[1] + c[2] });
		for (const t of Object.keys(d.types)) {
			const a = document.querySelectorAll(`#types [data-type="${CSS.escape(t)}"]`);
			for (const x of a) x.dataset.changes = totals[t].reduce((p, q) => p + q, 0);
		}
		time.counts(d);
		if (view.object && (d.types.events || d.types["events.events.k8s.io"]) && !streams.soon) streams.soon = setTimeout(() => { streams.soon = 0; object.refresh(); }, 500);
	});
	link.on("types", d => {
		for (const t of d.types || []) { types.set(t.type, t); newer.set(t.type, t); }
		for (const t of d.removed || []) { types.delete(t); newer.delete(t); }
		drawTypes();
		drawNotes();
		drawBanner();
		if (type() && !list.win && refusedFilter?.filter !== view.filter) { declare(); loadPast(); } else unserved();
		if (state?.mode === "recording") reread();
		drawHead();
		if (list.win) list.draw();
		changes.draw();
	});
	link.on("window", w => { if (w.id === "w" + sequence) { refusedFilter = null; list.window(w); drawHead(); drawNotes(); } });
	link.on("rows", d => { if (d.id === "w" + sequence) { list.change(d); drawHead(); drawNotes(); } });
	link.on("object", d => { if (view.object && d.id === objectWindow()) object.changed(d.state); });
	link.on("activity", d => { changes.add(d); if (d.changes.some(c => c.op === "GAP")) time.load(); });
	link.on("following", () => changes.reread());
	link.on("ping", d => { offset = d.now - Date.now(); });
	link.on("refused", d => {
		if (d.status === 400 && view.filter) return refuse(d.error);
		announced = { cls: "error", title: "Not shown", text: d.error };
		drawBanner();
	});
	link.on("end", () => drawBanner());
	link.on("unauthorized", d => { link.forget(); login(d.error); });
}

// refuse says that the server does not take the filter. Rows of the one before stay, those of a moment do not.
function refuse(error) {
	refusedFilter = { filter: view.filter, error };
	drawMode();
	say(error);
	if (list.win && !list.win.at) return;
	list.win = null;
	list.message(sheet("error", "This filter cannot be used", [error], button("Clear the filter", actions.clear)));
}

// reread follows a recording that is still being read.
function reread() {
	clearTimeout(reread.soon);
	reread.soon = setTimeout(async () => {
		try {
			const st = await link.get("api/state");
			if (st.to < state.to) return; // it was asked for before the one that is shown
			state = { ...state, ...st };
		} catch { return; }
		time.load();
		drawBanner();
		if (!view.at) loadPast();
	}, 300);
}

let loads = 0;
async function load() {
	const turn = ++loads;
	newer.clear();
	try {
		const [st, ts] = await Promise.all([link.get("api/state"), link.get("api/types")]);
		if (turn !== loads) return;
		state = st;
		offset = st.now - Date.now();
		types.clear();
		for (const t of [...ts.types, ...newer.values()]) types.set(t.type, t);
		view = { ...view, type: "" };
		apply();
		time.load();
	} catch (e) {
		if (e.status === 401 || turn !== loads) return;
		if (!list.win) list.message(sheet("error", "The cluster cannot be shown", [e.message], button("Try again", load)));
		setTimeout(() => { if (!types.size) load(); }, 3000);
	}
}

async function main() {
	const q = new URLSearchParams(location.hash.slice(1)), token = q.get("token");
	if (token) { q.delete("token"); history.replaceState(null, "", "#" + q.toString()); }
	view = parse();
	listen();
	streams();
	let ok = false;
	try { ok = await link.begin(token); } catch (e) { return login(e.message); }
	if (!ok) return login("");
	await load();
	setInterval(() => {
		while (recent.length && Date.now() - recent[0].at > 60000) recent.shift();
		list.tick();
		object.tick();
		time.tick();
		drawBanner();
		if (!past()) drawHead();
	}, 1000);
	setInterval(() => { if (!document.hidden && !past()) { time.load(); object.refresh(); } }, 30000);
}

main();
