// The page of one object: summary, history with differences, YAML, events, owners, logs.
import { $, h, put, text, plain, when, age, ago, clock, during, number, plural, sheet, button, command, covers } from "./dom.js";
import { get, body as streamOf, Refused } from "./link.js";
import { counted } from "./list.js";

const LINES = 2000;

// repeated says how often an Event was repeated, and since when.
const repeated = e => e.count > 1 ? ` (${number(e.count)} times${e.first && e.first < e.at ? " since " + clock(e.first) : ""})` : "";

// CONTENT is how many lines of an object's content its summary shows.
const CONTENT = 24;

// contentOf returns the lines of YAML that are not of the metadata and the status.
function contentOf(text) {
	let on = false;
	return text.split("\n").filter(line => {
		if (/^[^\s-]/.test(line)) on = !/^(apiVersion|kind|metadata|status):/.test(line);
		return on && line;
	});
}

// Sheet shows one object. hooks: now(), go(patch) to navigate, type(id).
export class Sheet {
	constructor(hooks) {
		this.hooks = hooks;
		this.box = $("object");
		this.of = null;
		this.large = false;
		this.turn = 0;            // of the last request
		this.newest = {};         // part: the turn from which on an answer is taken
	}

	// show opens an object, or follows a change of its tab or time. pos is the state that was
	// come for, diff are the positions of the two that are compared, as "1-2".
	show(o, tab, at, pos, diff) {
		if (pos !== this.pos) this.found = null;
		this.pos = pos;
		const id = JSON.stringify([o.type, o.ns, o.name, o.uid || "", at || 0]);
		const other = id !== this.id;
		this.tab = tab || "summary";
		if (other) {
			this.id = id;
			this.of = o;
			this.at = at;
			this.data = {};
			this.diff = "";
			this.compare = null;
			this.asked = null;         // the position of the state whose YAML was asked for
			this.unfolded = false;    // the managed fields are
			this.stop?.abort();
			this.stop = new AbortController();
			this.logs?.abort();
			this.logs = null;
			this.frame();
			this.load();
		}
		this.box.hidden = false;
		if (!other && this.tab === "related" && !this.data.tree?.names) this.owners();
		if (diff !== this.diff) this.pair(diff);
		if (this.tab === "yaml" && pos !== null && pos !== this.asked) {
			this.asked = pos;
			this.forget("state");
			this.ask("state", "api/object", this.query({ at: "", pos }));
		}
		this.draw();
	}

	hide() {
		this.stop?.abort();
		this.stop = null;
		this.logs?.abort();
		this.id = "";
		this.of = null;
		this.box.hidden = true;
		put(this.box);
	}

	// large is the whole width of the page.
	enlarge() {
		this.large = !this.large;
		this.box.classList.toggle("large", this.large);
		$("enlarge")?.setAttribute("aria-pressed", this.large);
	}

	query(more) { return { type: this.of.type, ns: this.of.ns, name: this.of.name, uid: this.of.uid, at: this.at || "", ...more }; }

	// ask gets one part and draws; what failed is kept as {failed}. Answers arrive in any
	// order: one that was asked for before the part that is shown is dropped.
	async ask(part, path, query, tries = 0) {
		const stop = this.stop, data = this.data, turn = ++this.turn;
		const late = () => stop.signal.aborted || data !== this.data || turn < this.newest[part];
		const take = got => { data[part] = got; this.newest[part] = turn; };
		try {
			const got = await get(path, query, stop.signal);
			if (late()) return;
			const same = JSON.stringify(got) === JSON.stringify(data[part]);
			take(got);
			if (same) return; // what is drawn stays, also under a pointer
		} catch (e) {
			if (late()) return;
			// A type that is being listed, or a limit: it is asked again, for a while without a word.
			if ((e.status === 503 || e.status === 429) && tries < 20) {
				setTimeout(() => { if (!late()) this.ask(part, path, query, tries + 1); }, 500);
				return;
			}
			if (!data[part] || data[part].failed || e instanceof Refused) take({ failed: e });
		}
		this.draw();
	}

	// forget drops a part, and the answers that are on their way for it.
	forget(part) {
		delete this.data[part];
		this.newest[part] = ++this.turn;
	}

	load() {
		this.ask("object", "api/object", this.query());
		this.ask("history", "api/history", this.query());
		this.ask("events", "api/events", this.query());
		this.owners();
		if (this.unfolded) this.ask("managers", "api/managers", this.query());
	}

	// owners asks for the tree, and for what names what where it is shown.
	owners(more) { return this.ask("tree", "api/tree", this.query({ ...more, refs: this.tab === "related" ? 1 : "" })); }

	// changed takes a new state of the object from the stream.
	changed(state) {
		if (!this.of || this.at) return;
		const hist = this.data.history, known = hist?.states?.some(x => x.pos === state.pos);
		if (known && this.data.object?.pos >= state.pos) return;
		if (hist?.states && !known) hist.states = [state, ...hist.states];
		this.draw();
		clearTimeout(this.soon);
		this.soon = setTimeout(() => this.reload(), 300);
	}

	// reload asks again for all that a change of the object changes. The stream has the newest
	// states of a burst only, the history has all.
	reload() {
		if (!this.of || this.at) return;
		this.ask("object", "api/object", this.query());
		this.ask("history", "api/history", this.query());
		if (this.unfolded) this.ask("managers", "api/managers", this.query());
		this.refresh();
	}

	// refresh asks again for what no event reports.
	refresh() {
		if (!this.of || this.at) return;
		this.ask("events", "api/events", this.query());
		this.owners();
	}

	// tick is called once a second. Ages go on, unless somebody selects text; a history, which
	// may be long, is drawn every ten seconds.
	tick() {
		this.seconds = (this.seconds || 0) + 1;
		if (this.of && (this.tab !== "history" || this.seconds % 10 === 0) && !["yaml", "logs"].includes(this.tab) && !this.at && getSelection().isCollapsed) this.draw();
	}

	frame() {
		const o = this.of, tabs = this.tabs();
		this.sub = h("p", { class: "sub" }, o.ns ? `${this.kind()} in ${o.ns}` : this.kind());
		this.tabList = h("div", { class: "tabs", role: "tablist", "aria-label": "Parts of the object", onkeydown: e => this.keys(e) },
			tabs.map(([id, name]) => h("button", { type: "button", role: "tab", id: "tab-" + id, "aria-controls": "body", onclick: () => this.hooks.go({ tab: id }) }, name)));
		this.doubt = h("p", { class: "note", hidden: true });
		this.body = h("div", { class: "body", id: "body", role: "tabpanel", tabindex: "0" });
		put(this.box, h("div", { class: "about" },
			h("div", { class: "line" }, h("h1", { tabindex: "-1", dir: "auto", id: "object-title" }, o.name),
				h("button", { type: "button", class: "icon", id: "enlarge", "aria-label": "Whole width", "aria-pressed": String(this.large), onclick: () => this.enlarge() }, icon("M9 2h5v5M14 2L9 7M7 14H2V9M2 14l5-5")),
				h("button", { type: "button", class: "icon", "aria-label": "Close", onclick: () => this.hooks.go({ object: null, tab: "" }) }, icon("M4 4l8 8M12 4l-8 8"))),
			this.sub, this.doubt, this.tabList), this.body);
		this.drawnTab = "";
	}

	kind() { return this.data.object?.kind || this.hooks.type(this.of.type)?.kind || this.of.type; }

	tabs() {
		const t = [["summary", "Summary"], ["history", "History"], ["yaml", "YAML"], ["events", "Events"], ["related", "Related"]];
		if (this.of.type === "pods" && this.hooks.follow()) t.push(["logs", "Logs"]);
		return t;
	}

	keys(e) {
		const ids = this.tabs().map(t => t[0]), at = ids.indexOf(this.tab);
		const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: ids.length - 1 }[e.key];
		if (to === undefined) return;
		e.preventDefault();
		e.stopPropagation();
		this.hooks.go({ tab: ids[(to + ids.length) % ids.length] });
		$("tab-" + this.tab)?.focus();
	}

	draw() {
		if (this.due || !this.of) return;
		this.due = true;
		requestAnimationFrame(() => { this.due = false; if (this.of) this.render(); });
	}

	render() {
		const o = this.of, d = this.data.object, now = this.hooks.now();
		const events = this.data.events?.events;
		for (const [id, name] of this.tabs()) {
			const b = $("tab-" + id), yes = id === this.tab;
			b.setAttribute("aria-selected", yes);
			b.tabIndex = yes ? 0 : -1;
			const count = id === "events" && events ? events.length : id === "history" && this.data.history?.states ? this.before(this.data.history.states).filter(x => x.op !== "GAP").length : 0;
			put(b, name, count ? h("small", {}, " " + number(count)) : "");
		}
		const about = [o.ns ? `${this.kind()} in ${o.ns}` : this.kind()];
		if (d?.created) about.push(d.exists === false && d.at ? "lived " + age(d.at - d.created) : age(now - d.created) + " old");
		if (d && d.exists === false) about.push("deleted " + (d.at ? "at " + clock(d.at) : ""));
		if (this.at) about.push("as of " + clock(this.at));
		text(this.sub, about.join(" · "));
		const gap = this.at && this.data.history?.states?.find(x => x.op === "GAP" && covers(x, this.at));
		this.doubt.hidden = !gap;
		if (gap) text(this.doubt, `What happened from ${during(gap)} is not known: this is the state before.`);
		if (this.tab !== "logs") { this.logs?.abort(); this.logs = null; }
		const draw = { summary: () => this.summary(), history: () => this.history(), yaml: () => this.yaml(), events: () => this.events(), related: () => this.related(), logs: () => this.log() }[this.tab] || (() => this.summary());
		if (this.tab === "logs" && this.drawnTab === "logs" && this.logs) return;
		const top = this.drawnTab === this.tab ? this.body.scrollTop : 0;
		const focused = this.body.contains(document.activeElement) ? document.activeElement.dataset.focus : "";
		put(this.body, draw());
		this.body.setAttribute("aria-labelledby", "tab-" + this.tab);
		this.drawnTab = this.tab;
		this.body.scrollTop = top;
		const here = this.found !== this.pos && this.body.querySelector("li.here");
		if (here) { this.found = this.pos; here.scrollIntoView({ block: "nearest" }); }
		if (focused) this.body.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus();
	}

	// part shows a part that loads or failed, or f of it.
	part(name, f, what) {
		const d = this.data[name];
		if (!d) return h("div", { class: "loading" }, h("div", { class: "progress" }, h("span")), h("p", { class: "quiet" }, "Loading"));
		if (!d.failed) return f(d);
		const e = d.failed;
		if (e.reason === "notfound" || e.status === 404) {
			const then = this.at && (this.data.history?.uids || []).find(x => x.uid !== this.of.uid && x.from <= this.at && x.to > this.at);
			return [sheet("gap", this.at ? "It did not exist at this moment" : "It does not exist", [e.message]), then ? h("ol", { class: "story" }, this.namesake(then, false)) : null];
		}
		if (e.status === 410) return sheet("gap", "This is not kept", [e.message]);
		if (e.status === 403) return sheet("forbidden", "You may not see " + what, [e.message]);
		return sheet("error", what + " cannot be shown", [e.message], button("Try again", () => { this.forget(name); this.load(); this.draw(); }));
	}

	summary() {
		const d = this.data.object, now = d?.exists === false && d.at ? d.at : this.hooks.now();
		return this.part("object", d => [
			d.exists === false ? this.last() : null,
			d.facts?.length ? h("table", { class: "facts" }, d.facts.map(f => h("tr", {}, h("th", { scope: "row" }, f.name), h("td", { dir: "auto" }, counted(f.text, Math.max(1, now - d.at)))))) : null,
			d.conditions?.length ? [h("h2", {}, "Conditions"), h("table", { class: "facts" }, [...d.conditions].sort((a, b) => a.good - b.good).map(c => h("tr", {},
				h("td", { dir: "auto" }, h("b", { class: c.good ? "good" : "bad" }, `${c.type} ${c.status}`), c.reason || c.message ? h("div", {}, [c.reason, c.message].filter(Boolean).join(": ")) : null),
				h("td", { class: "when" }, c.since ? age(now - c.since) : ""))))] : null,
			d.containers?.length ? [h("h2", {}, "Containers"), h("table", { class: "facts" }, d.containers.map(c => h("tr", {},
				h("td", { dir: "auto" }, h("b", {}, c.name), c.init ? " init" : "", h("div", { class: /waiting|terminated/.test(c.state) && !/Completed/.test(c.state) ? "bad" : "" }, c.state),
					c.message ? h("div", {}, c.message) : null, c.last ? h("div", {}, "before: " + c.last) : null, c.lastMessage ? h("div", {}, c.lastMessage) : null, c.image ? h("div", { class: "quiet" }, c.image) : null),
				h("td", { class: "when" }, plural(c.restarts || 0, "restart")))))] : null,
			this.data.tree?.root ? [h("h2", {}, "Owners and owned", d.exists === false ? " when it was deleted" : ""), this.treeOf(this.data.tree.root)] : null,
			this.content(d),
			d.labels && Object.keys(d.labels).length ? [h("h2", {}, "Labels"), h("pre", {}, Object.entries(d.labels).map(([k, v]) => `${k}=${v}`).sort().join("\n"))] : null,
			this.recent(),
			d.commands?.length && !this.at && d.exists !== false ? [h("h2", {}, "Commands to copy"), d.commands.map(c => [h("p", { class: "quiet" }, c.title), command(c.text)])] : null,
		], "this object");
	}

	last() { return h("p", { class: "note" }, "This object was deleted. What is shown is its last state."); }

	recent() {
		const states = this.before(this.data.history?.states || []).slice(0, 3);
		if (!states?.length) return null;
		return [h("h2", {}, "Last changes"), h("ol", { class: "story" }, states.map(x => this.state(x.changes?.length > 4 ? { ...x, changes: x.changes.slice(0, 4), more: (x.more || 0) + x.changes.length - 4 } : x, false))), button("Whole history", () => this.hooks.go({ tab: "history" }))];
	}

	// before leaves out what is later than the moment that is shown.
	before(states) { return states.filter(x => !this.at || (x.at || x.from) <= this.at); }

	history() {
		if (this.compare?.b) return this.difference();
		return this.part("history", d => {
			const states = this.before(d.states), later = d.states.filter(x => x.op !== "GAP" && !states.includes(x)).length;
			const items = [...states.map(x => [x.at || x.to || this.hooks.now(), this.state(x, true)])];
			for (const e of this.data.events?.events || []) items.push([e.at % 1000 ? e.at : e.at + 999, this.event(e)]); // of whole seconds: what led to one comes before it
			const uid = this.data.object?.uid || this.of.uid || d.uids?.at(-1)?.uid, own = (d.uids || []).findIndex(x => x.uid === uid); // the oldest is the first
			(d.uids || []).forEach((x, i) => i !== own && (!this.at || x.from <= this.at) && items.push([i > own ? Math.max(x.from, d.uids[own]?.to || 0) + 1 : x.to, this.namesake(x, i > own)]));
			items.sort((a, b) => b[0] - a[0]);
			const since = this.hooks.type(this.of.type)?.since || 0, from = Math.max(d.from || this.hooks.from() || 0, since);
			if (this.at && !items.length) return since > this.at ? sheet("gap", "Not known at this moment", [["Its type was not watched before ", when(since, this.hooks.now()), "."]]) : this.absent() || sheet("gap", "No state at this moment is kept", []);
			return [
				h("div", { class: "tools" }, h("span", {}, this.compare ? "Choose the state to compare with." : "Choose two states to compare them."), this.compare ? button("Cancel", () => { this.compare = null; this.draw(); }) : null),
				later ? h("div", { class: "tools" }, h("span", {}, plural(later, "later state")), button("Show all, and return to live", () => this.hooks.go({ at: 0 }))) : null,
				items.length ? null : sheet("", "No change was seen", ["Changes of this object appear here from now on."]),
				h("ol", { class: "story" }, items.map(x => x[1]),
					h("li", { class: "begin" }, h("p", { class: "quiet" }, d.dropped ? `${plural(d.dropped, "older state")} dropped by the budget. ` : "", states.at(-1)?.first ? ["It existed before. Its type was not watched before ", when(states.at(-1).at, this.hooks.now()), "."] : from ? ["No state before ", when(from, this.hooks.now()), " is kept."] : ""))),
			];
		}, "its history");
	}

	// absent says that there was no object at the moment that is shown.
	absent() { return this.at && this.data.object?.failed ? this.part("object", () => null, "this object") : null; }

	// namesake is another object that has the name, later, or had it before.
	namesake(x, later) {
		const o = { ...this.of, uid: x.uid };
		return h("li", { class: "begin" }, h("p", {}, h("a", { href: this.hooks.href({ object: o, tab: "history" }) }, "Another object of this name"), later ? ` was created at ${clock(x.from)}` : this.at && x.to > this.at ? " existed at this moment" : ` was deleted at ${clock(x.to)}`));
	}

	state(x, tools) {
		const now = this.hooks.now();
		if (x.op === "GAP") {
			return h("li", { class: "gap" }, h("b", {}, "Gap "), h("time", {}, during(x)), h("p", { dir: "auto" }, x.idle && x.to ? "" : "States in between are not known: ", x.reason));
		}
		const title = x.headline || { ADDED: x.first ? "First seen" : "Created", DELETED: "Deleted", MODIFIED: "Changed" }[x.op] || x.op;
		const picked = this.compare?.a === x.pos;
		const here = tools && x.pos === this.pos;
		return h("li", { class: (({ ADDED: "added", DELETED: "deleted" })[x.op] || "") + (here ? " here" : ""), "aria-current": here ? "true" : null, "data-pos": x.pos },
			h("div", { class: "head-line" }, h("b", { dir: "auto" }, title), tools ? h("span", { class: "pick" },
				h("button", { type: "button", "data-focus": "v" + x.pos, onclick: () => this.hooks.go({ tab: "yaml", pos: x.pos }) }, "YAML"),
				h("button", { type: "button", "data-focus": "c" + x.pos, "aria-pressed": String(picked), onclick: () => this.pick(x.pos) }, picked ? "chosen" : "compare")) : null),
			h("time", { datetime: new Date(x.at).toISOString(), title: new Date(x.at).toISOString() }, clock(x.at)), h("time", {}, x.by && !x.first ? ` by ${x.by}` : "", x.inferred ? ", found by comparing after a gap" : "", Math.abs(now - x.at) < 3600e3 ? `, ${ago(Math.abs(now - x.at))} ${this.at && x.at > now ? "later" : "ago"}` : "", x.by && x.first ? `, last written before that, by ${x.by}` : ""),
			x.changes?.length ? h("pre", { dir: "ltr" }, differences(x.changes), x.more ? h("span", { class: "c" }, `\nand ${number(x.more) + " more"}`) : "") : null);
	}

	event(e) {
		return h("li", { class: "event" }, h("time", {}, clock(e.at) + " Event "), h("p", { dir: "auto" }, h("b", { class: e.type === "Warning" ? "bad" : "" }, e.reason), " ", e.message, repeated(e), e.gone ? ", gone since " + clock(e.gone) : ""));
	}

	// content is what somebody wants of the object, or keeps in it: all but its metadata and status.
	content(d) {
		const lines = contentOf(d.yaml), more = lines.length - CONTENT;
		if (d.redacted || !lines.length) return null;
		return [h("h2", {}, "Content"), h("pre", { class: "yaml", dir: "ltr" }, yaml(lines.slice(0, more > 3 ? CONTENT : lines.length).join("\n"))), more > 3 ? button(`${number(more)} more lines`, () => this.hooks.go({ tab: "yaml" })) : null];
	}

	pick(pos) {
		if (!this.compare) this.compare = { a: pos };
		else if (this.compare.a === pos) this.compare = null;
		else return this.hooks.go({ diff: [this.compare.a, pos].sort((a, b) => a - b).join("-") });
		this.draw();
	}

	// pair compares the two states that the URL names, or ends it.
	pair(diff) {
		this.diff = diff;
		const [a, b] = diff.split("-").map(Number);
		this.compare = diff ? { a, b } : null;
		if (!diff) return;
		this.forget("diff");
		this.ask("diff", "api/diff", this.query({ at: undefined, a, b }));
	}

	difference() {
		return [h("div", { class: "tools" }, button("Back to the history", () => this.hooks.go({ diff: "" }))),
			this.part("diff", d => [
				h("h2", {}, `${clock(d.a.at)} to ${clock(d.b.at)}: ${plural(d.changes.length, "difference")}`),
				d.changes.length ? h("pre", { class: "diff", dir: "ltr" }, differences(d.changes)) : sheet("", "The two states are equal", []),
				d.truncated ? h("p", { class: "note" }, "There are more differences than are shown.") : null,
			], "the difference")];
	}

	yaml() {
		const past = this.pos !== null && this.pos !== this.data.object?.pos, at = this.data.state?.at;
		return [
			past ? h("div", { class: "tools" }, h("span", {}, "A state of the past", at ? [", of ", when(at, this.hooks.now())] : "", "."), button(this.at ? "The state of this moment" : this.data.object?.exists === false ? "The last state" : "The current state", () => this.hooks.go({ pos: null }))) : null,
			this.part(past ? "state" : "object", d => [
				d.redacted ? h("p", { class: "note plain" }, "The values of this Secret were replaced before they were kept.", this.hooks.follow() ? " The mark of a key changes with its value; marks of different keys say nothing about each other." : "") : null,
				d.truncated ? h("p", { class: "note" }, "The object is larger than 1 MiB: its end is not shown.") : null,
				past ? null : d.exists === false ? this.last() : this.hooks.follow() ? this.managers() : null,
				h("pre", { class: "yaml", dir: "ltr" }, yaml(d.yaml)),
			], "the YAML")];
	}

	// managers says who wrote which field. The server is asked when it is unfolded.
	managers() {
		return h("details", { class: "managers", open: this.unfolded ? "" : null, ontoggle: e => {
			if (e.target.open === this.unfolded) return;
			this.unfolded = e.target.open;
			if (this.unfolded) this.ask("managers", "api/managers", this.query());
			this.draw();
		} }, h("summary", { "data-focus": "managers" }, "Managed fields: who wrote which field"),
		this.unfolded ? this.part("managers", d => d.managers.length ? d.managers.map(m => [
			h("h2", {}, h("b", { dir: "auto" }, m.manager || "(no name)"), ` ${m.operation}${m.subresource ? " of " + m.subresource : ""}`, m.at ? [", ", when(m.at, this.hooks.now())] : ""),
			h("pre", { dir: "ltr" }, m.fields.join("\n") || "(no field)", m.more ? `\nand ${number(m.more)} more` : ""),
		]) : h("p", { class: "quiet" }, "No manager is noted."), "the managed fields") : null);
	}

	events() {
		const now = this.hooks.now();
		return this.part("events", d => [
			d.state && !["live", "loading"].includes(d.state) ? h("p", { class: "note" }, d.reason || d.state) : null,
			d.events.length ? h("table", { class: "facts" }, d.events.map(e => h("tr", {},
				h("td", { dir: "auto" }, h("b", { class: e.type === "Warning" ? "bad" : "" }, e.reason), repeated(e), h("div", {}, e.message), h("div", { class: "quiet" }, [e.from, e.gone ? "gone since " + clock(e.gone) : ""].filter(Boolean).join(", "))),
				h("td", { class: "when" }, age(now - e.at))))) : sheet("", d.state === "loading" ? "Events are loading" : "No events", [this.at ? "There was none at this moment, as far as history knows." : "The cluster keeps events for an hour, unless it is set otherwise."]),
		], "its events");
	}

	related() {
		return this.absent() || this.part("tree", d => {
			const more = (d.unsearched || []).filter(t => t !== "secrets").length; // those are not read for this
			return [
			d.at && d.at !== this.at ? h("p", { class: "note" }, `As of ${clock(d.at)}, when it was deleted.`) : null,
			this.treeOf(d.root),
			this.refs("Uses", d.names),
			this.refs("Used by", d.named),
			d.unread ? h("p", { class: "quiet" }, `${plural(d.unread, "object")} more were not read.`) : null,
			d.loading?.length ? h("p", { class: "quiet" }, "Searching " + d.loading.join(", ")) : null,
			d.unsearched?.length ? [h("h2", {}, "Not searched"), d.at || !more ? null : button(`Search ${plural(more, "more type")}`, () => this.search()),
				h("details", { class: "managers", open: this.listed ? "" : null, ontoggle: e => { this.listed = e.target.open; } }, h("summary", { "data-focus": "unsearched" }, plural(d.unsearched.length, "type")), h("p", { class: "quiet" }, d.unsearched.join(", ")))] : h("p", { class: "quiet" }, "All types were searched."),
			];
		}, "owners");
	}

	// refs lists objects that are named, or that name this one.
	refs(title, list) {
		return list?.length ? [h("h2", {}, title), h("ul", { class: "tree" }, list.map(r => {
			const t = this.hooks.type(r.type), o = { type: r.type, ns: r.ns || "", name: r.name };
			return h("li", {}, t ? h("a", { href: this.hooks.href({ object: o }), dir: "auto" }, r.name) : h("span", { dir: "auto" }, r.name),
				h("small", {}, ` ${t?.kind || r.type}, ${r.as}`, r.ns && r.ns !== this.of.ns ? ` in ${r.ns}` : ""));
		}))] : null;
	}

	// search starts to search all types, and asks until they are there.
	async search(times = 0) {
		const of = this.of;
		await this.owners({ search: 1 });
		if (of === this.of && this.data.tree?.loading?.length && times < 30) setTimeout(() => of === this.of && this.search(times + 1), 500);
	}

	treeOf(root) {
		const draw = n => h("li", {},
			n.self ? h("span", { "aria-current": "true", dir: "auto" }, n.name) : n.missing ? h("span", { class: n.unknown ? null : "gone", dir: "auto" }, n.name)
				: h("a", { href: this.hooks.href({ object: { type: n.type, ns: n.ns || "", name: n.name, uid: n.uid } }), dir: "auto" }, n.name),
			h("small", {}, ` ${n.kind || n.type} `, h("span", { class: meaning(n.status || "") }, n.status || ""), n.self || !n.missing ? "" : n.unknown ? "of a type that is not watched" : this.data.tree.at ? "was not there" : "is not there"),
			n.children?.length || n.more ? h("ul", {}, (n.children || []).map(draw), n.more ? h("li", {}, h("small", {}, `and ${number(n.more)} more`)) : null) : null);
		return h("ul", { class: "tree" }, draw(root));
	}

	log() {
		const d = this.data.object;
		if (!d || d.failed) return this.part("object", () => null, "the log");
		if (d.exists === false) return sheet("gap", "The pod was deleted", ["Its logs went with it. The page does not keep logs."]);
		if (this.at) return sheet("gap", "Logs are of the present", ["The page does not keep logs. Return to live to read them."]);
		const names = (d.containers || []).map(c => c.name);
		this.container = names.includes(this.container) ? this.container : names[0] || "";
		const state = h("span", { role: "status" });
		const out = h("pre", { class: "log", dir: "ltr", tabindex: "0", "aria-label": "Log" });
		const previous = h("input", { type: "checkbox" }), choose = h("select", { "aria-label": "Container" }, names.map(n => h("option", { value: n }, n)));
		choose.value = this.container;
		const start = () => { this.container = choose.value; this.follow(out, state, previous.checked); };
		choose.addEventListener("change", start);
		previous.addEventListener("change", start);
		this.logs = new AbortController();
		queueMicrotask(start);
		return [h("div", { class: "tools" }, choose, h("label", {}, previous, "previous container"), state), out];
	}

	async follow(out, state, previous) {
		this.logs?.abort();
		const stop = this.logs = new AbortController();
		put(out);
		text(state, "connecting");
		try {
			const r = (await streamOf("api/logs", { ns: this.of.ns, name: this.of.name, container: this.container, previous: previous ? 1 : "", follow: previous ? "" : 1, tail: 500 }, stop.signal)).pipeThrough(new TextDecoderStream()).getReader();
			text(state, previous ? "" : "following");
			let lines = 0, rest = "";
			for (;;) {
				const { value, done } = await r.read();
				if (stop.signal.aborted) return;
				if (done) break;
				const bottom = this.body.scrollTop + this.body.clientHeight >= this.body.scrollHeight - 40;
				const parts = (rest + value).split("\n");
				rest = parts.pop().slice(-65536);
				for (const line of parts.slice(-LINES)) { out.append(logged(line.slice(0, 8192) + "\n")); lines++; }
				while (lines > LINES) { out.firstChild.remove(); lines--; }
				if (bottom) this.body.scrollTop = this.body.scrollHeight;
			}
			if (rest) out.append(logged(rest));
			text(state, lines || rest ? "the log ended" : "the log is empty");
		} catch (e) {
			if (!stop.signal.aborted) text(state, e.message);
		}
	}
}

// meaning is the class of a status such as "0/1 ContainerCreating".
function meaning(status) {
	const ready = /^(\d+)\/(\d+)/.exec(status);
	return /BackOff|Err|Failed|OOM|Evicted|Unknown|NotReady/.test(status) ? "bad" : /Pending|Creating|Terminating|Init/.test(status) || ready && Number(ready[1]) < Number(ready[2]) ? "wait" : "";
}

// logged is a line of a log without the colours that it has in a terminal.
const logged = line => document.createTextNode(plain(line.replace(/\u001b\[[0-9;]*m/g, "").replace(/\r\n?/g, "\n")));

export const icon = path => {
	const ns = "http://www.w3.org/2000/svg", svg = document.createElementNS(ns, "svg"), p = document.createElementNS(ns, "path");
	svg.setAttribute("viewBox", "0 0 16 16");
	svg.setAttribute("aria-hidden", "true");
	p.setAttribute("d", path);
	svg.append(p);
	return svg;
};

// differences writes paths that share a parent under it, as the mock does.
function differences(changes) {
	const out = [];
	let parent = null;
	for (const c of changes) {
		const cut = split(c.path);
		const up = c.path.slice(0, cut), leaf = c.path.slice(cut).replace(/^\./, "");
		if (up !== parent) {
			parent = up;
			if (up) out.push(h("span", { class: "c" }, (out.length ? "\n" : "") + up + "\n"));
			else if (out.length) out.push("\n");
		} else out.push("\n");
		out.push((up ? "  " : "") + leaf + ": ");
		if (c.lines) { out.push(...unified(c.lines)); continue; }
		if (c.old !== undefined) out.push(h("del", {}, c.old === "" ? '""' : c.old));
		if (c.old !== undefined && c.new !== undefined) out.push(" → ");
		if (c.new !== undefined) out.push(h("ins", {}, c.new === "" ? '""' : c.new));
		if (c.old === undefined) out.push(h("span", { class: "c" }, " added"));
		if (c.new === undefined) out.push(h("span", { class: "c" }, " removed"));
	}
	return out;
}

// unified gives the lines of a unified diff the colours of what they are.
function unified(lines) {
	const kinds = { "+": "ins", "-": "del", "@": "span" }, cls = { "+": "add", "-": "del", "@": "at" };
	return lines.replace(/\n$/, "").split("\n").map(x => h(kinds[x[0]] || "span", { class: cls[x[0]] || "same" }, x || " "));
}

// split is where the last segment of a path begins: a dot within brackets is part of a name.
function split(path) {
	let depth = 0;
	for (let i = path.length - 1; i > 0; i--) {
		if (path[i] === "]") depth++;
		else if (path[i] === "[") { depth--; if (!depth && path[i - 1] !== undefined) return i; }
		else if (path[i] === "." && !depth) return i;
	}
	return 0;
}

// yaml gives keys and comments a class of their own.
function yaml(source) {
	const out = [];
	for (const line of String(source || "").split("\n")) {
		const m = /^(\s*(?:- )*)([\w./"'-][^:\s]*)(:)(?=\s|$)/.exec(line);
		if (m) out.push(m[1], h("span", { class: "k" }, m[2]), line.slice(m[1].length + m[2].length), "\n");
		else if (/^\s*#/.test(line)) out.push(h("span", { class: "c" }, line), "\n");
		else out.push(line, "\n");
	}
	return out;
}
