// Activity as a list: changes of all types, the newest on top, as they come or as they were.
import { h, put, text, clock, day, stamp, during, when, number, plural, sheet, button } from "./dom.js";
import { get } from "./link.js";
import { LEASES, watched } from "./time.js";

const KEPT = 400, MOST = 5000;

// after is the place of a row below a change.
const after = c => ({ at: c.at, pos: c.pos - .5 });

// later orders changes by their arrival, the newest first: types are read side by side, and
// what arrived first may get the later position.
const later = (a, b) => b.at - a.at || b.pos - a.pos;

// whole reports whether a text has a word with no letter or digit beside it.
const whole = (text, word) => new RegExp(`(^|[^\\p{L}\\p{Nd}])${word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")}($|[^\\p{L}\\p{Nd}])`, "u").test(text);

// Changes fills the rows while the type is "activity". hooks: now(), href(patch), view(), state(), types(), clear(),
// head() draws what stands above.
export class Changes {
	constructor(hooks) {
		this.hooks = hooks;
		this.on = false;
		this.box = document.getElementById("rows");
	}

	show() {
		const v = this.hooks.view(), id = JSON.stringify([v.at, v.ns, v.filter]);
		this.on = true;
		if (this.id === id) return this.draw();
		this.id = id;
		this.rows = this.gaps = [];
		this.earlier = 0; // where those that are being read go on from
		this.settled = 0; // up to this position, no change is missing between the rows and MORE
		this.loaded = this.more = this.reading = false;
		this.failed = "";
		this.load(0);
		this.draw();
	}

	hide() {
		this.on = false;
		this.id = "";
		this.stop?.abort();
	}

	// load gets the newest changes, or those before a position. The newest interrupt those, which
	// are read after them if their row is still there.
	async load(before) {
		this.stop?.abort();
		const rest = this.earlier = before || this.earlier;
		const stop = this.stop = new AbortController(), v = this.hooks.view();
		const past = v.at || this.hooks.state()?.mode === "recording";
		this.reading = true;
		try {
			const d = await get("api/changes", { at: past ? Math.round(this.hooks.now()) : "", before, limit: 100, ns: (v.ns || []).join(","), text: v.filter }, stop.signal);
			if (stop.signal.aborted) return;
			const known = new Set(this.rows.map(c => c.pos)), oldest = Math.min(...d.changes.map(c => c.pos)), newest = Math.max(...d.changes.map(c => c.pos));
			if (!before && d.more && !d.changes.some(c => known.has(c.pos) && c.pos <= this.settled)) this.rows = this.rows.filter(c => c.pos > oldest); // there may be others between the older rows and these
			if (!before) this.settled = Math.max(this.settled, newest);
			const older = d.changes.length > 0 && this.rows.some(c => c.pos > 0 && c.pos < oldest);
			if (!older) this.more = d.more;
			// Rows MORE within what was read go, but for the rest of one that goes on below it.
			const read = this.rows.filter(c => c.op === "MORE" && c.pos > oldest && c.pos < (before || newest)), last = read.find(c => c.pos === Math.min(...read.map(c => c.pos)));
			this.rows = this.rows.filter(c => !read.includes(c));
			if (last && older && !this.rows.some(c => c.op !== "MORE" && c.pos < last.pos && c.pos >= oldest)) {
				this.rows.push({ ...last, ...after(d.changes.find(c => c.pos === oldest)), omitted: Math.max(1, last.omitted - d.changes.filter(c => c.pos < last.pos).length) });
			}
			this.rows.push(...d.changes.filter(c => !known.has(c.pos)));
			if (!before) this.gaps = d.gaps || [];
			if (v.at && !before) this.rows.push(...this.gaps.filter(g => g.type !== LEASES || this.lease()).map((g, i) => ({ ...g, op: "GAP", at: v.at, pos: -1 - i }))); // that the moment is in
			this.rows.sort(later);
			this.failed = "";
			this.loaded = true;
		} catch (e) {
			if (stop.signal.aborted) return;
			this.failed = e.message;
		}
		this.reading = false;
		this.earlier = 0;
		this.draw();
		if (!before && this.rows.some(c => c.pos === rest)) this.load(rest);
	}

	// reread gets the newest changes once the stream has all that follow: those that came after the
	// page had read them, and before the stream had them, are in neither otherwise.
	reread() { if (this.on && !this.hooks.view().at) this.load(0); }

	// add takes an event "activity".
	add(d) {
		if (!this.on || this.hooks.view().at) return;
		const known = new Set(this.rows.map(c => c.pos)), fresh = d.changes.filter(c => !known.has(c.pos) && this.match(c));
		const now = Date.now();
		for (const c of fresh) c.fresh = now;
		const most = this.reading ? Infinity : Math.max(KEPT, this.rows.length); // what is read goes on from the last row
		const all = d.changes.filter(c => c.op !== "GAP"), oldest = all.find(c => c.pos === Math.min(...all.map(c => c.pos)));
		if (d.omitted && oldest) fresh.push({ op: "MORE", ...after(oldest), omitted: d.omitted });
		this.rows = [...fresh, ...this.rows].sort(later);
		this.more ||= this.rows.length > most;
		this.rows.length = Math.min(most, this.rows.length);
		this.draw();
	}

	match(c) {
		const v = this.hooks.view(), gap = c.op === "GAP";
		if (!gap && v.ns?.length && !v.ns.includes(c.ns)) return false;
		const all = [c.type, c.op, c.what, c.by, c.ns ? c.ns + "/" + c.name : c.name].join(" ").toLowerCase(); // as the server has it
		return v.filter.toLowerCase().split(/\s+/).filter(Boolean).every(w => w[0] === "-" && w.length > 1 ? !whole(all, w.slice(1)) : gap || all.includes(w));
	}

	// watched are the types that are watched, or were at the moment that is shown.
	watched() { return watched(this.hooks.types(), this.hooks.view().at, this.gaps); }

	// unwatched are the types that are not watched, or were not at the moment that is shown.
	unwatched() {
		const seen = this.watched();
		return this.hooks.types().filter(t => !seen.includes(t));
	}

	// late names the types that were not watched from the beginning.
	late() {
		const v = this.hooks.view(), from = this.hooks.state()?.from || 0;
		const all = this.watched().filter(t => t.since > from + 5000 && (t.type !== LEASES || this.lease())).sort((a, b) => a.since - b.since);
		return all.length ? `Not watched from the beginning: ${all.slice(0, 8).map(t => `${t.type} since ${clock(t.since)}`).join(", ")}${all.length > 8 ? ` and ${number(all.length - 8)} more` : ""}.` : "";
	}

	// missing names the types whose changes are searched for, and not watched.
	missing() {
		const words = this.hooks.view().filter.toLowerCase().split(/\s+/).filter(w => w.length > 2 && w[0] !== "-");
		const all = this.unwatched().map(t => t.type).filter(t => words.some(w => t.includes(w) || w.startsWith(t)));
		return all.length ? `Not watched${this.hooks.view().at ? " then" : ""}: ${all.slice(0, 8).join(", ")}${all.length > 8 ? ` and ${number(all.length - 8)} more` : ""}.` : "";
	}

	// idle says how many types are not watched, and whose changes are not shown therefore.
	idle() {
		const all = this.unwatched().length;
		return all ? `${plural(all, "type")} ${all === 1 ? "is" : "are"} not watched: nothing is known of their changes.` : "";
	}

	// lease reports whether Leases are searched for.
	lease() { return this.hooks.view().filter.toLowerCase().split(/\s+/).some(w => w[0] !== "-" && w.includes("lease")); }

	// leases reports whether Leases are watched, and left out.
	leases() { return !this.lease() && this.watched().some(t => t.type === LEASES); }

	summary() {
		if (!this.rows?.length) return "";
		const seen = this.watched(), leases = this.leases(), omitted = this.rows.reduce((n, c) => n + (c.omitted || 0), 0);
		return (this.more ? "the newest " : "") + plural(this.rows.filter(c => c.op !== "GAP" && c.op !== "MORE").length, "change") + ` of ${plural(seen.length - (leases ? 1 : 0), "watched type")}` + (leases ? " without Leases" : "") + (omitted ? `, ${number(omitted)} more not listed` : "");
	}

	draw() {
		if (!this.on || this.due) return;
		this.due = true;
		requestAnimationFrame(() => { this.due = false; if (this.on) this.render(); });
	}

	render() {
		this.hooks.head();
		const v = this.hooks.view(), kept = this.hooks.state()?.from || 0;
		if (!this.rows.length) {
			put(this.box, this.failed ? sheet("error", "The activity cannot be shown", [this.failed]) : this.loaded && this.hooks.view().filter ? sheet("", "No change matches", [this.hooks.view().filter, "What is searched is what a row shows: type, object, change, by and what. Not whole objects, and not times.", this.missing(), this.late()], button("Clear the filter", this.hooks.clear)) : this.loaded && v.at && v.at < kept ? sheet("gap", "Not known", [["Nothing is kept from before ", when(kept, this.hooks.now()), "."]]) : this.loaded ? sheet("", "No changes", [["None since ", when(kept, this.hooks.now()), v.at ? "." : ". What changes in the watched types appears here."], this.leases() ? "Leases are left out: search for \"lease\"." : "", this.late(), this.idle()]) : sheet("", "Loading", []));
			return;
		}
		if (!this.body || !this.box.contains(this.body)) {
			this.body = h("tbody", { role: "rowgroup" });
			this.end = h("div", { class: "sheet" });
			this.made = new Map();
			const cols = ["time", "type", "op", "object", "by", ""].map(x => h("col", { class: x }));
			put(this.box, h("table", { class: "grid changes", role: "presentation" }, h("colgroup", {}, cols), h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, ["Time", "Type", "Change", "Object", "By", "What"].map(x => h("th", { role: "columnheader", title: x === "By" ? "The field manager of the write: the program, which may not be a person's name" : null }, h("button", { type: "button", tabindex: -1, disabled: true }, x))))), this.body), this.end);
		}
		const top = this.box.scrollTop, held = top > 0 && [...this.body.children].find(e => e.offsetTop + e.offsetHeight > top), y = held && held.offsetTop; // who has scrolled reads it
		const real = this.hooks.now(true), today = new Date(real).toDateString(); // rows of another day have their day
		if (today !== this.today) this.made.clear();
		this.today = today;
		this.body.parentNode.classList.toggle("dated", !!day(this.rows.at(-1).at, real));
		const shown = this.alike(), items = shown.map(c => this.made.get(c.pos) || this.row(c)), keep = new Set(items), pos = e => Number(e.dataset.pos);
		for (const e of [...this.body.children]) if (!keep.has(e)) { e.remove(); if (this.made.get(pos(e)) === e) this.made.delete(pos(e)); }
		let at = this.body.firstChild;
		items.forEach((e, i) => e.setAttribute("aria-selected", !!v.object?.uid && v.object.uid === shown[i].uid && (v.pos === null || v.pos === shown[i].pos)));
		for (const e of items) { if (e === at) at = at.nextSibling; else this.body.insertBefore(e, at); }
		if (held?.isConnected) this.box.scrollTop += held.offsetTop - y;
		this.box.setAttribute("aria-rowcount", this.more ? -1 : shown.length + 1);
		const chosen = items.find(e => e.getAttribute("aria-selected") === "true");
		if (chosen !== this.chosen) (chosen || this.chosen)?.scrollIntoView({ block: "nearest" }); // beside an open object the rows have other heights
		this.chosen = chosen;
		put(this.end, this.more && this.rows.length >= MOST ? h("p", {}, `${number(MOST)} changes are listed at most. Earlier ones are kept: choose a time below, or search.`) : this.more ? button("Earlier changes", () => this.load(Math.min(...this.rows.filter(c => c.pos > 0 && c.op !== "MORE").map(c => c.pos)))) : kept ? h("p", {}, "No change from before ", when(kept, this.hooks.now()), " is kept. ", this.late()) : "");
	}

	// move goes to the next row, or the one before.
	move(by) {
		const links = [...this.body?.querySelectorAll("td.n a") || []], at = links.indexOf(document.activeElement);
		links[Math.max(0, Math.min(links.length - 1, at < 0 ? 0 : at + by))]?.focus();
	}

	// ended returns a row of the types that are among the rows, and not watched any more.
	ended() {
		if (this.hooks.view().at || this.hooks.state()?.mode === "recording") return [];
		const of = this.hooks.types().filter(t => t.state === "idle" && t.since && this.rows.some(c => c.type === t.type));
		return of.length ? [{ op: "GAP", pos: 0, type: of.slice(0, 8).map(t => t.type).join(", "), types: Math.max(0, of.length - 8), from: Math.min(...of.map(t => t.heard)), to: 0, reason: "nobody looks at " + (of.length > 1 ? "them" : "it") }] : [];
	}

	// alike returns the rows with one for the gap of several types.
	alike() {
		const shown = this.ended();
		for (const c of this.rows) {
			const first = shown.at(-1);
			if (c.op === "GAP" && first?.op === "GAP" && c.from === first.from && c.to === first.to && c.reason === first.reason) first.types++;
			else shown.push(Object.assign(c, c.op === "GAP" ? { types: 0 } : null));
		}
		for (const c of shown) if (c.op === "GAP" && (!c.pos || this.made.get(c.pos)?.dataset.types !== String(c.types))) this.made.delete(c.pos);
		return shown;
	}

	row(c) {
		let tr;
		if (c.op === "MORE") tr = h("tr", { class: "gap", role: "row", "data-pos": c.pos }, h("td", { role: "gridcell", colspan: 6 }, `${plural(c.omitted, "change")} not listed here. `, button("Read them", () => this.load(c.pos + .5))));
		else if (c.op === "GAP") tr = h("tr", { class: "gap", role: "row", "data-pos": c.pos, "data-types": c.types }, h("td", { role: "gridcell", colspan: 6, dir: "auto" }, `${c.type}${c.types ? ` and ${plural(c.types, "more type")}` : ""}: ${during(c)}: ${c.reason || "the connection was lost"}.${c.idle && c.to ? "" : " What came and went in between is not known."}`));
		else {
			const of = (tab, pos) => this.hooks.href({ object: { type: c.type, ns: c.ns || "", name: c.name, uid: c.uid }, tab, pos });
			const change = c.type === "events" ? of("") : of("history", c.pos); // an Event has no story
			const td = (value, cls) => h("td", { role: "gridcell", class: cls, dir: "auto", title: String(value).length > 14 ? value : null }, value);
			tr = h("tr", { class: "change " + c.op.toLowerCase(), role: "row", "data-pos": c.pos, onclick: e => { if (!e.target.closest("a") && getSelection().isCollapsed) tr.querySelector("td.n a").click(); } }, h("td", { role: "gridcell" }, h("a", { href: this.hooks.href({ at: c.at }), title: "Show this moment" }, stamp(c.at, this.hooks.now(true)))), td(c.type), td({ ADDED: "added", MODIFIED: "changed", DELETED: "deleted" }[c.op] || c.op, { ADDED: "add", DELETED: "del" }[c.op]),
				h("td", { role: "gridcell", class: "n", dir: "auto" }, h("a", { href: change, title: c.name }, c.ns ? c.ns + "/" + c.name : c.name)), h("td", { role: "gridcell", class: "dim", dir: "auto", title: c.by || (c.op === "DELETED" ? "Not known: a deletion leaves no name" : "Not known") }, c.by || ""), h("td", { role: "gridcell", dir: "auto", title: c.what || null }, c.inferred ? "found by comparing. " : "", c.what ? h("a", { href: change, title: "Show this state" }, c.what) : ""));
		}
		this.made.set(c.pos, tr);
		return tr;
	}
}
