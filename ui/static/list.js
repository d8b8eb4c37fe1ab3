// The list: a window of rows that the server sorted and filtered, in a table that is as
// high as all of them.
import { $, h, put, text, age, ago, number, sheet, button, covers } from "./dom.js";

const ROW = 32, SPARE = 20, FLASH = 10000, TALLEST = 16e6;
const BAD = /^(.*Error|Err.*|CrashLoopBackOff|.*BackOff|OOMKilled|Failed|Evicted|NotReady|Unknown|Lost|Warning|False|Degraded|.*:.*(Error|BackOff)|DeadlineExceeded|InvalidImageName|StartError|ContainerStatusUnknown)\b/;
const WAIT = /^(Pending|ContainerCreating|Terminating|Init:|PodInitializing|.*SchedulingDisabled|Released|Progressing|Waiting|NotTriggerable)/;
const LAST = /^last (seen|schedule)$/i, SPAN = /^(\d+[smhdy])+$/;
const STATUS = /^(status|phase|state|reason|type|condition|ready)$/i;

// List shows one window. Its owner gives the hooks: open(row), wish(from, rows) when
// other rows are needed, sort(key), now().
export class List {
	constructor(hooks) {
		this.hooks = hooks;
		this.box = $("rows");
		this.box.setAttribute("role", "grid");
		this.selected = "";       // key
		this.uid = "";            // of the object that is open: another one may have its name
		this.target = -1;         // place of the row to select when it comes
		this.drawn = new Map();   // n: {tr, cells, row}
		this.box.addEventListener("scroll", () => this.scrolled(), { passive: true });
		this.box.addEventListener("click", e => this.clicked(e));
		new ResizeObserver(() => this.resized()).observe(this.box);
		this.clear("", {});
	}

	// clear begins a list of a type with nothing in it.
	clear(type, view) {
		this.type = type;
		this.view = view;
		this.win = null;
		this.rows = new Map();
		this.columns = [];
		this.widths = [];
		this.drawn.clear();
		this.table = null;
		this.asked = { from: 0, rows: this.fit() };
		this.box.scrollTop = 0;
		this.box.scrollLeft = 0;
		put(this.box);
	}

	// refilter keeps the columns: other rows of the same type follow.
	refilter(view) {
		this.view = view;
		this.box.scrollTop = 0;
		this.asked = { from: 0, rows: this.fit() };
		this.fresh = true;
	}

	fit() { return Math.min(500, Math.ceil((this.box.clientHeight || 800) / ROW / 10) * 10 + 2 * SPARE); }

	// resized spreads the columns, or makes others: a telephone that is turned has fewer.
	resized() {
		if (this.table && this.win && this.names !== this.nameColumns()) {
			this.names = this.nameColumns();
			this.head();
			this.measure([...this.rows.values()]);
			this.draw();
		} else this.spread();
		this.scrolled();
	}

	nameColumns() { return JSON.stringify([this.win.columns, this.spaced(), this.view.sort, this.view.wide]); }

	// window takes a whole window of the server.
	window(win) {
		this.rows = new Map(win.rows.map(r => [r.n, r]));
		this.win = win;
		const names = this.nameColumns();
		if (this.fresh) { this.fresh = false; this.box.scrollTop = 0; }
		if (names !== this.names || !this.table) {
			this.names = names;
			this.head();
		}
		const target = this.rows.get(win.order[Math.min(this.target, win.matched - 1) - win.from]);
		if (this.target >= 0 && target) { this.selected = target.key; this.uid = ""; this.target = -1; }
		this.measure(win.rows);
		this.draw();
	}

	// change takes an event "rows".
	change(d) {
		if (!this.win) return;
		for (const r of d.set || []) this.rows.set(r.n, r);
		this.grow(d.set || []);
		for (const name of ["total", "matched", "from", "state", "reason", "filter", "loading"]) if (d[name] !== undefined) this.win[name] = d[name];
		if (d.order) {
			this.win.order = d.order;
			const kept = new Set(d.order);
			for (const n of this.rows.keys()) if (!kept.has(n)) this.rows.delete(n);
		}
		this.draw();
	}

	// say what stands where rows would.
	message(...nodes) {
		this.table = null;
		this.drawn.clear();
		put(this.box, ...nodes);
	}

	spaced() { return !this.narrow() && this.hooks.namespaced() && (this.view.ns || []).length !== 1; }

	// narrow is a telephone: the name and what follows it are seen without a namespace.
	narrow() { return this.box.clientWidth < 560; }

	head() {
		const before = this.names && this.columns.map(c => c.cell).join();
		const cols = [];
		if (this.spaced()) cols.push({ name: "Namespace", sort: "name", cell: -1 });
		this.win.columns.forEach((c, i) => {
			if (c.wide && !this.view.wide) return;
			cols.push({ ...c, cell: i, sort: c.age ? "created" : /^name$/i.test(c.name) ? "name" : String(i), main: /^name$/i.test(c.name) });
		});
		cols.push({ name: "Changed", sort: "changed", cell: -2, last: true });
		this.columns = cols;
		const least = c => Math.max(64, c.name.length * 8 + 40, c.main ? 96 : 0);
		if (before !== cols.map(c => c.cell).join()) this.widths = cols.map(least);
		const rows = [...this.rows.values()], number = cols.map(c => c.cell >= 0 && rows.length > 0 && rows.every(r => /^-?\d+( \(.*\))?$/.test(r.cells[c.cell] ?? "")));
		cols.forEach((c, i) => { c.right = number[i] || c.last; });
		this.cols = cols.map(() => h("col"));
		this.body = h("tbody", { role: "rowgroup" });
		this.above = h("tr", { class: "space", "aria-hidden": "true" }, h("td", { colspan: cols.length }));
		this.below = h("tr", { class: "space", "aria-hidden": "true" }, h("td", { colspan: cols.length }));
		this.table = h("table", { class: "grid", role: "presentation" }, h("colgroup", {}, this.cols),
			h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, cols.map(c => this.headCell(c)))), this.body);
		this.drawn.clear();
		put(this.box, this.table);
	}

	headCell(c) {
		const sort = this.view.sort || "name", down = sort[0] === "-";
		const at = sort.replace(/^-/, "") === c.sort && !(c.cell === -1 && this.columns.some(x => x.main));
		const first = c.sort === "changed" ? "-changed" : c.sort === "created" ? "-created" : c.sort;
		const next = () => { const s = this.view.sort || "name"; return s.replace(/^-/, "") !== c.sort ? first : s[0] === "-" ? s.slice(1) : "-" + s; };
		return h("th", { role: "columnheader", scope: "col", class: [c.right && "r", c.main && "name", c.last && "last"].filter(Boolean).join(" ") || null,
			"aria-sort": at ? (down !== (c.age || c.last || false) ? "descending" : "ascending") : null },
			h("button", { type: "button", tabindex: "-1", title: c.name, onclick: () => this.hooks.sort(next()) }, c.name));
	}

	// measure makes columns as wide as what is in them. They grow with a new window, and do
	// not change while rows do.
	measure(rows) {
		this.columns.forEach((c, i) => {
			let most = 0;
			for (const r of rows) most = Math.max(most, (c.last ? "" : this.value(r, c)).length);
			const want = c.last ? 100 : Math.min(c.main ? (this.narrow() ? 216 : 440) : 320, most * (c.main ? 7.9 : STATUS.test(c.name) ? 8.8 : 7.6) + 18 + (i === 0 ? 8 : 0));
			this.widths[i] = Math.max(this.widths[i], Math.ceil(want));
		});
		this.spread();
	}

	// grow makes room for a status that is longer than those before: it must not be cut.
	grow(rows) {
		if (!this.table) return;
		let grew = false;
		this.columns.forEach((c, i) => {
			if (c.cell < 0 || !/^(status|phase|ready)$/i.test(c.name)) return;
			for (const r of rows) {
				const want = Math.min(240, Math.ceil((r.cells[c.cell] ?? "").length * 8.8 + 18));
				if (want > this.widths[i]) { this.widths[i] = want; grew = true; }
			}
		});
		if (grew) this.spread();
	}

	// spread gives the last column, which names what changed, the room that the others leave.
	spread() {
		if (!this.table) return;
		const room = this.box.clientWidth, all = roomy => this.columns.map((c, i) => c.last ? 0 : Math.max(this.widths[i], roomy && /^(status|phase)$/i.test(c.name) ? 152 : 0));
		const total = widths => widths.reduce((a, b) => a + b, 0);
		const widths = total(all(true)) + 200 <= room ? all(true) : all(false);
		const sum = total(widths), last = Math.max(76, Math.min(200, room - sum));
		this.terse = last < 150;
		this.columns.forEach((c, i) => { this.cols[i].style.width = (c.last ? last : widths[i]) + "px"; });
		this.table.style.width = sum + last + "px";
	}

	// value is what stands in a column: on a telephone the namespace stands before the name.
	value(row, c) {
		if (c.cell === -1) return row.ns;
		return c.main && this.narrow() && row.ns && (this.view.ns || []).length !== 1 ? `${row.ns}/${this.cell(row, c)}` : this.cell(row, c);
	}

	// cell is the text of a cell. Ages in it were true when the server wrote the row: those
	// that can be counted on are, as in "4 (12s ago)".
	cell(row, c) {
		const value = row.cells[c.cell] ?? "";
		if (c.age) return row.created ? age(this.hooks.now() - row.created) : value;
		const written = Math.max(row.changed || 0, this.hooks.since());
		if (LAST.test(c.name) && SPAN.test(value) && written) return age(this.hooks.now() - written + span(value));
		return counted(value, row.changed && this.hooks.now() - row.changed);
	}

	// scale is how many pixels a row has above and below the window: less than a row where
	// all of them would be higher than a browser allows.
	scale() { return Math.min(ROW, TALLEST / Math.max(1, this.win.matched)); }

	draw() {
		if (this.due) return;
		this.due = true;
		requestAnimationFrame(() => { this.due = false; this.render(); });
	}

	render() {
		const w = this.win;
		if (!w) return;
		const empty = this.hooks.empty(w);
		if (empty) {
			if (this.shown !== empty.id || !this.box.querySelector(".sheet")) { this.message(...empty.nodes); this.shown = empty.id; }
			return;
		}
		this.shown = "";
		if (!this.table) { this.head(); this.measure([...this.rows.values()]); }
		const scale = this.scale(), now = this.hooks.now(), seen = new Set(), items = [];
		const gaps = /changed$/.test(this.view.sort || "") ? (w.gaps || []).filter(g => g.from <= now).sort((a, b) => (b.to || Infinity) - (a.to || Infinity)) : [];
		w.order.forEach((n, i) => {
			const row = this.rows.get(n);
			if (!row) return;
			while (this.view.sort === "-changed" && gaps.length && (gaps[0].to || Infinity) >= (row.changed || 0)) items.push(this.gap(gaps.shift()));
			seen.add(n);
			items.push(this.row(row, w.from + i, now));
		});
		for (const [n] of this.drawn) if (!seen.has(n)) this.drawn.delete(n);
		const height = (tr, px) => { tr.firstChild.style.height = Math.max(0, Math.round(px)) + "px"; return tr; };
		const before = w.from * scale, after = (w.matched - w.from - w.order.length) * scale;
		this.place([...(before > 0 ? [height(this.above, before)] : []), ...items, ...(after > 0 ? [height(this.below, after)] : [])]);
		this.box.setAttribute("aria-rowcount", w.matched + 1);
		this.mark();
		this.ask();
	}

	// place puts the rows in order and touches only those that are elsewhere.
	place(items) {
		const keep = new Set(items);
		for (const c of [...this.body.children]) if (!keep.has(c)) c.remove();
		let at = this.body.firstChild;
		for (const item of items) {
			if (item === at) at = at.nextSibling;
			else this.body.insertBefore(item, at);
		}
	}

	gap(g) {
		return h("tr", { class: "gap", role: "row" }, h("td", { role: "gridcell", colspan: this.columns.length }, fit(h("div", { dir: "auto" }, this.hooks.gap(g)), this.box.clientWidth - 32)));
	}

	row(row, index, now) {
		let d = this.drawn.get(row.n);
		if (!d) {
			const cells = this.columns.map(c => h("td", { role: "gridcell", dir: c.last ? null : "auto", class: [c.main && "n name", c.right && "r", c.last && "last"].filter(Boolean).join(" ") || null }));
			const tr = h("tr", { role: "row", class: "row", id: "row-" + row.n, "data-n": row.n, "data-key": row.key, "aria-selected": "false" }, cells);
			d = { tr, cells, row: null };
			this.drawn.set(row.n, d);
		}
		if (d.row !== row) {
			this.columns.forEach((c, i) => {
				if (c.last) return;
				const value = this.value(row, c);
				text(d.cells[i], value);
				if (value.length > 12) d.cells[i].title = value; else d.cells[i].removeAttribute("title");
			});
			d.row = row;
			d.tr.dataset.key = row.key;
		}
		d.tr.setAttribute("aria-rowindex", index + 2);
		this.age(d, now);
		return d.tr;
	}

	// age writes what changes with time alone: ages, and what is marked for ten seconds.
	age(d, now) {
		const row = d.row, recent = row.changed && row.op && now - row.changed < FLASH && now - row.changed > -FLASH;
		const hits = recent && row.op === "MODIFIED" && !row.gone ? row.hits || [] : [];
		d.tr.classList.toggle("new", !!recent && row.op === "ADDED" && !row.gone);
		d.tr.classList.toggle("gone", !!row.gone);
		this.columns.forEach((c, i) => {
			const td = d.cells[i];
			if (c.last) return this.last(td, row, recent, now);
			if (c.age || c.cell >= 0 && (LAST.test(c.name) || row.cells[c.cell]?.endsWith(" ago)"))) text(td, this.cell(row, c));
			td.classList.toggle("hit", hits.includes(c.cell));
			if (c.cell >= 0) this.meaning(td, c, row.cells[c.cell] ?? "");
		});
	}

	last(td, row, recent, now) {
		if (!row.op || !row.changed) { text(td, ""); return; }
		const what = row.gone ? "deleted" : row.op === "ADDED" ? "added" : (row.hits || []).map(i => this.win.columns[i]?.name).filter(Boolean).join(", ");
		const since = ago(now - row.changed);
		if (what && !this.terse && (recent || row.gone)) {
			if (td.childElementCount !== 1) put(td, h("b"), document.createTextNode(""));
			text(td.firstChild, what);
			const t = "\u2002" + since;
			if (td.lastChild.data !== t) td.lastChild.data = t;
		} else text(td, since);
		if (td.title !== what) td.title = what;
	}

	meaning(td, c, value) {
		let cls = "";
		const ready = /^(\d+)\/(\d+)$/.exec(value);
		if (ready) cls = Number(ready[1]) < Number(ready[2]) ? "wait" : "";
		else if (STATUS.test(c.name)) cls = BAD.test(value) ? "bad" : WAIT.test(value) ? "wait" : /^(Completed|Succeeded)$/.test(value) ? "dim" : "";
		else if (value === "<none>" || value === "<unset>" || value === "<unknown>") cls = "dim";
		for (const k of ["bad", "wait", "dim"]) td.classList.toggle(k, k === cls);
	}

	// tick is called once a second.
	tick() {
		if (!this.win || !this.table) return;
		const now = this.hooks.now();
		for (const d of this.drawn.values()) this.age(d, now);
	}

	scrolled() {
		if (!this.win) return;
		clearTimeout(this.settle);
		this.settle = setTimeout(() => this.ask(), 40);
	}

	// ask wishes for other rows when those in view are not all there.
	ask() {
		const w = this.win;
		if (!w || !this.table) return;
		const scale = this.scale(), fit = this.fit(), top = Math.floor(this.box.scrollTop / scale);
		const low = Math.min(top, Math.max(0, w.matched - 1)), high = Math.min(w.matched, top + Math.ceil(this.box.clientHeight / ROW));
		const end = this.asked.from + this.asked.rows;
		if (low >= this.asked.from && high <= end && this.asked.rows >= fit - 10) return;
		const from = Math.max(0, Math.min(Math.floor((top - SPARE) / 10) * 10, w.matched - fit));
		if (from === this.asked.from && fit === this.asked.rows) return;
		this.asked = { from, rows: fit };
		this.hooks.wish(from, fit);
	}

	// index is the place of the selected row in all rows, or -1.
	index() {
		if (!this.win) return -1;
		const i = this.win.order.findIndex(n => this.rows.get(n)?.key === this.selected);
		return i < 0 ? -1 : this.win.from + i;
	}

	// move selects the row that is so many further.
	move(by) {
		const w = this.win;
		if (!w || !w.order.length) return;
		const at = this.index();
		let to = Math.abs(by) >= w.matched ? (by > 0 ? w.matched - 1 : 0) : at < 0 ? Math.round(this.box.scrollTop / this.scale()) + (by > 0 ? 0 : -1) : at + by;
		to = Math.max(0, Math.min(w.matched - 1, to));
		const y = to * this.scale(), box = this.box;
		if (y < box.scrollTop) box.scrollTop = y;
		else if (y + 2 * ROW > box.scrollTop + box.clientHeight) box.scrollTop = y + 2 * ROW - box.clientHeight;
		const row = this.rows.get(w.order[to - w.from]);
		this.target = row ? -1 : to; // it is selected when it comes
		if (row) { this.selected = row.key; this.uid = ""; this.mark(); } else this.ask();
	}

	mark() {
		let active = "";
		for (const d of this.drawn.values()) {
			const yes = d.row.key === this.selected && (!this.uid || d.row.uid === this.uid);
			if (yes) active = d.tr.id;
			if (d.tr.getAttribute("aria-selected") !== String(yes)) d.tr.setAttribute("aria-selected", yes);
		}
		if (active) this.box.setAttribute("aria-activedescendant", active); else this.box.removeAttribute("aria-activedescendant");
	}

	current() { return [...this.rows.values()].find(r => r.key === this.selected); }

	clicked(e) {
		const tr = e.target.closest?.("tr.row");
		if (!tr || String(getSelection()).length > 0) return;
		const row = this.rows.get(Number(tr.dataset.n));
		if (!row) return;
		this.selected = row.key;
		this.uid = row.uid;
		this.mark();
		this.hooks.open(row);
	}
}

// counted is a cell such as "4 (12s ago)", which was true some time ago; 0 = not known.
export function counted(value, past) {
	const since = /^(\d+) \((\w+) ago\)$/.exec(value);
	if (!since) return value;
	return past ? `${since[1]} (${age(past + span(since[2]))} ago)` : since[1];
}

// span is how long an age of kubectl is: 3m4s.
function span(text) {
	let ms = 0;
	for (const [, n, unit] of text.matchAll(/(\d+)([smhdy])/g)) ms += n * { s: 1e3, m: 6e4, h: 36e5, d: 864e5, y: 31536e6 }[unit];
	return ms;
}

// fit keeps a text within the part of the row that is seen.
function fit(e, px) {
	e.style.maxWidth = Math.max(160, px) + "px";
	return e;
}

// nothing says why a list has no rows, or null when it has some.
export function nothing(w, type, view, actions) {
	const name = type?.plural || type?.type || "objects";
	const state = w.state || type?.state;
	const reason = w.reason || type?.reason || "";
	if (w.order.length) return null;
	const one = (id, ...nodes) => ({ id: [id, name, reason].join(), nodes });
	if (state === "forbidden") return one("forbidden", sheet("forbidden", `You may not list ${name}`, [reason, "Ask for the verbs list and watch on this resource, or choose a namespace in which you have them."], button("Choose a namespace", actions.namespace)));
	if (state === "error") return one("error", sheet("error", `${name} cannot be listed`, [reason, "It is tried again by itself."]));
	if (state === "budget") return one("budget", sheet("gap", `${name} are not watched: the memory budget is used`, [reason, "Close other lists, or start with a larger budget."]));
	if (state === "gone") return one("gone", sheet("gap", `${name} are not served any more`, [reason || "Its definition was deleted from the cluster. If it comes back, the list does too."]));
	if (w.matched > 0) return null;
	if (view.at && w.approximate && !w.total) return one("unknown", sheet("gap", `${name} of this moment are not known`, ["They were not watched then, or the history does not reach back so far."]));
	if (!view.at && (state === "loading" || state === "idle")) return one("loading" + (w.loading?.done ?? ""), ...loading(w, name));
	if (w.filter && (w.filter.done < w.filter.of)) return one("filter" + w.filter.done, sheet("", "Searching", [`${number(w.filter.done)} of ${number(w.filter.of)} objects searched, no match so far.`], button("Stop", actions.clear)));
	const earlier = button(`Changes of ${name}`, actions.changes);
	if (view.filter || (w.total > 0)) {
		return one("none" + view.filter + view.ns, sheet("", `No match among ${number(w.total)} ${name}`,
			[view.filter ? `Filter: ${view.filter}` : "", view.ns?.length ? `Namespace: ${view.ns.join(", ")}` : ""],
			view.filter ? button("Clear the filter", actions.clear) : null, view.ns?.length ? button("All namespaces", actions.everywhere) : null, view.filter ? null : earlier));
	}
	return one("empty", sheet(state === "stale" ? "gap" : "", state === "stale" ? `No ${name} when the connection was lost` : `No ${name}`, [view.at && (w.gaps || []).some(g => covers(g, view.at)) ? "None existed before the gap that this moment is in." : view.at ? "None existed at this moment, as far as history knows." : "A new one appears here when it is created."], earlier));
}

function loading(w, name) {
	const l = w.loading, bar = h("span");
	if (l?.of) bar.style.width = Math.min(100, 100 * l.done / l.of) + "%";
	return [h("div", { class: l?.of ? "known" : "loading" }, h("div", { class: "progress", role: "progressbar", "aria-label": "loading", "aria-valuenow": l?.of ? Math.round(100 * l.done / l.of) : null }, bar)),
		sheet("", `Loading ${name}`, [l?.of ? `${number(l.done)} of ${number(l.of)}` : l?.done ? `${number(l.done)} so far` : "The first list is running."])];
}
