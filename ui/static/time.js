// Activity: changes over time as bars, which are the slider of time too.
import { $, h, s, put, text, clock, minute, day, number, plural, ago, covers } from "./dom.js";
import { get } from "./link.js";

const BUCKETS = 120;

// LEASES are written every few seconds by each node and each leader: the bars and Activity
// leave them out.
export const LEASES = "leases.coordination.k8s.io";

// STEPS are between two times that the axis may name.
const DAY = 86400e3, STEPS = [1e3, 2e3, 5e3, 10e3, 30e3, 60e3, 120e3, 300e3, 600e3, 1800e3, 3600e3, 7200e3, 3 * 3600e3, 6 * 3600e3, 12 * 3600e3, DAY];

// watched are the types that are watched now, or were at a time that is not 0, and so in none of the
// gaps in which nobody showed them.
export const watched = (types, at, gaps) => types.filter(t => at ? t.since && t.since <= at && !gaps?.some(g => g.type === t.type && g.idle && covers(g, at)) : ["live", "stale", "loading", "error"].includes(t.state));

// Time draws the bar. hooks: now(), at() (0 = live), go(ms), read() after it was read, state() of the
// server, types(), type() that is shown, "" for all, all() namespaces are shown.
export class Time {
	constructor(hooks) {
		this.hooks = hooks;
		this.box = $("bars");
		this.reach = 300e3;
		this.chosen = false;      // by a person, not by how much is kept
		this.data = null;
		this.turn = 0;            // of the last request
		this.newest = 0;          // the turn of the answer that is shown
		this.tip = h("div", { class: "tip", hidden: true });
		this.box.tabIndex = 0;
		this.box.setAttribute("role", "slider");
		this.box.setAttribute("aria-label", "Moment");
		this.box.addEventListener("pointerdown", e => this.down(e));
		this.box.addEventListener("pointermove", e => this.hover(e));
		this.box.addEventListener("pointerleave", () => { this.tip.hidden = true; this.at = null; this.cursor(); });
		this.box.addEventListener("keydown", e => this.key(e));
		new ResizeObserver(() => this.draw()).observe(this.box);
		$("live").addEventListener("click", () => hooks.go(0));
		this.span = h("button", { type: "button", title: "Change the range (+ and -)", onclick: () => this.zoom(1, true) });
		put($("span"), this.span);
	}

	// ranges that can be chosen: minutes, hours, and all that is kept.
	ranges() {
		const st = this.hooks.state();
		const all = st?.from ? Math.max(60e3, this.end() - st.from) : 3600e3;
		if (st?.mode === "recording") return [all];
		return [...[300e3, 900e3, 3600e3, 6 * 3600e3, 24 * 3600e3].filter(x => x <= Math.max(all, 3600e3)), ...(all > 24 * 3600e3 ? [all] : [])];
	}

	zoom(by, around) {
		const r = this.ranges(), at = r.findIndex(x => x >= this.reach);
		const to = around ? (at + by + r.length) % r.length : Math.max(0, Math.min(r.length - 1, at + by));
		this.reach = r[to] || r[0];
		this.chosen = true;
		this.load();
	}

	end() {
		const st = this.hooks.state();
		return st?.mode === "recording" ? st.to : this.hooks.now(true);
	}

	range() {
		const st = this.hooks.state();
		if (st?.mode === "recording") return [st.from, Math.max(st.to, st.from + 1000)];
		let to = this.end();
		const at = this.hooks.at();
		if (at && at < to - this.reach) to = at + this.reach / 2;
		return [to - this.reach, to];
	}

	async load() {
		const from = this.hooks.state()?.from;
		if (!this.chosen && from) this.reach = [300e3, 900e3].find(x => x >= this.end() - from) || 3600e3;
		return this.fetch();
	}

	async fetch() {
		const [from, to] = this.range(), turn = ++this.turn;
		const step = (to - from) / BUCKETS, low = Math.floor(from / step) * step;
		try {
			const data = await get("api/activity", { from: Math.round(low), to: Math.round(low + step * BUCKETS + step), buckets: BUCKETS + 1 });
			if (turn < this.newest) return;
			this.data = data;
			this.failed = "";
			this.hooks.read();
		} catch (e) {
			if (turn < this.newest) return;
			this.failed = e.message;
		}
		this.newest = turn;
		this.draw();
	}

	// counts adds changes that just happened to the last bar, which tick draws.
	counts(d) {
		const a = this.data;
		if (!a || this.hooks.state()?.mode === "recording") return;
		const step = (a.to - a.from) / a.buckets.length;
		let i = Math.floor((d.at - a.from) / step);
		while (i >= a.buckets.length && a.buckets.length < 4 * BUCKETS) { a.buckets.push([0, 0, 0]); a.to += step; }
		if (i < 0 || i >= a.buckets.length) return;
		for (const [t, c] of Object.entries(d.types)) if (t !== LEASES) for (let k = 0; k < 3; k++) a.buckets[i][k] += c[k];
		this.late = true;
	}

	draw() {
		if (this.due) return;
		this.due = true;
		requestAnimationFrame(() => { this.due = false; this.render(); });
	}

	x(ms) { return (ms - this.low) / (this.high - this.low) * this.width; }

	render() {
		const a = this.data, now = this.end();
		this.late = false;
		[this.low, this.high] = this.range();
		this.width = this.box.clientWidth || 600;
		const H = Math.max(20, this.box.clientHeight - 16), svg = s("svg", { viewBox: `0 0 ${this.width} ${H}`, "aria-hidden": "true" },
			s("defs", {}, s("pattern", { id: "hatch", width: 8, height: 8, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, s("rect", { class: "hatch", width: 8, height: 8 }), s("path", { class: "hatch-line", d: "M0 0V8" }))));
		if (a) {
			const step = (a.to - a.from) / a.buckets.length;
			const kept = a.kept?.from || this.hooks.state()?.from || 0;
			if (kept > this.low) svg.append(s("rect", { class: "unknown", x: 0, y: 0, width: Math.min(this.width, this.x(kept)), height: H }));
			let most = 4;
			for (const b of a.buckets) most = Math.max(most, b[0] + b[1] + b[2]);
			const common = new Set(this.hooks.type() ? [] : this.common());
			for (const g of this.gaps()) {
				const x = Math.max(0, this.x(g.from)), w = Math.max(3, this.x(g.to || now) - x);
				const low = common.has(g) || this.concerns(g) && !(g.idle && g.type !== this.hooks.type()) ? 0 : H - 6; // of another type: a strip below
				if (x <= this.width && x + w >= 0) svg.append(s("rect", { class: "g", x, y: low, width: w, height: H - low }));
			}
			const high = n => n ? Math.max(3, n / most * (H - 6)) : 0;
			a.buckets.forEach((b, i) => {
				const from = a.from + i * step, x = this.x(from), w = Math.max(1, this.x(from + step) - x - 1.5);
				if (x + w < 0 || x > this.width) return;
				let y = H;
				for (const [k, cls] of [[1, "m"], [0, "a"], [2, "d"]]) {
					const px = high(b[k]);
					if (!px) continue;
					y -= px;
					svg.append(s("rect", { class: cls, x: x.toFixed(1), y: y.toFixed(1), width: w.toFixed(1), height: px.toFixed(1) }));
				}
			});
		}
		svg.append(s("path", { class: "base", d: `M0 ${H - .5}H${this.width}` }));
		this.line = s("path", { class: "at" });
		this.ghost = s("path", { class: "hover" });
		svg.append(this.ghost, this.line);
		put(this.box, svg, this.axis(), this.before(), this.tip);
		this.H = H;
		this.cursor();
		this.words();
	}

	// gaps are those of all types, and of the one that is shown the time before it was watched. Leases,
	// which no bar has, only have gaps where they are shown.
	gaps() {
		const a = this.data, t = this.hooks.types().find(x => x.type === this.hooks.type()), kept = a.kept?.from || this.hooks.state()?.from || 0;
		const list = (a.gaps || []).filter(g => g.type !== LEASES || this.hooks.type() === LEASES);
		return t?.since > kept + 5000 ? [...list, { type: t.type, from: kept, to: t.since }] : list;
	}

	// common are the gaps that several types have alike, once each, the oldest first: the process
	// stood still.
	common() {
		const all = new Map(), id = g => [g.from, g.to, g.reason].join();
		for (const g of this.data ? this.gaps() : []) if (g.to) all.set(id(g), [...(all.get(id(g)) || []), g]);
		return [...all.values()].filter(x => x.length > 1).map(x => x[0]).sort((a, b) => a.from - b.from);
	}

	// concerns reports whether a gap is of the type that is shown.
	concerns(g) { return [g.type, ""].includes(this.hooks.type()); }

	// before says that nothing is kept of the part that is grey.
	before() {
		const kept = this.data?.kept?.from || this.hooks.state()?.from || 0;
		if (kept <= this.low || this.x(kept) < 160) return "";
		const width = Math.min(this.width, this.x(kept)), e = h("div", { class: "before", "aria-hidden": "true" }, `${width < 260 ? "nothing" : "nothing is kept from"} before ${clock(Math.min(kept, this.end()))}`);
		e.style.width = width + "px";
		return e;
	}

	// axis names round times, which move with the bars. What is at an edge is left out.
	axis() {
		const [low, high] = [this.low, this.high], most = Math.max(2, this.width / 120), step = STEPS.find(x => (high - low) / x <= most) || Math.ceil((high - low) / most / DAY) * DAY;
		const zone = new Date(high).getTimezoneOffset() * 60e3, marks = [];
		for (let ms = Math.ceil((low - zone) / step) * step + zone; ms <= high; ms += step) {
			const x = this.x(ms), word = step >= DAY ? day(ms, 0).slice(5) : step < 60e3 ? clock(ms) : high - low > DAY / 2 ? day(ms, high).slice(5) + minute(ms) : minute(ms);
			if (x < 36 || x > this.width - 36) continue;
			const m = h("span", {}, word);
			m.style.left = 100 * x / this.width + "%";
			marks.push(m);
		}
		return h("div", { class: "axis", "aria-hidden": "true" }, marks);
	}

	cursor() {
		if (!this.line) return;
		const at = this.hooks.at() || this.end(), x = Math.max(1, Math.min(this.width - 1, this.x(at)));
		this.line.setAttribute("d", `M${x} 0V${this.H}`);
		this.line.setAttribute("class", this.hooks.at() || !this.hooks.live() ? "at" : "at live");
		this.ghost.setAttribute("d", this.at ? `M${this.x(this.at)} 0V${this.H}` : "M0 0");
	}

	// words says where time stands.
	words() {
		const at = this.hooks.at(), now = this.end(), st = this.hooks.state(), rec = st?.mode === "recording";
		const seen = watched(this.hooks.types(), at, this.data?.gaps).filter(t => t.type !== LEASES);
		this.span.title = "Change the range (+ and -)" + (rec ? "" : ".\nChanges without Leases of: " + seen.map(t => `${t.type} since ${clock(t.since)}`).join(", "));
		text(this.span, rec ? "a recording of " + ago(st.to - st.from) : this.failed ? "not known: " + this.failed : plural(seen.length, "watched type") + (this.hooks.all() ? ", " : ", all namespaces, ") + { 300000: "5 minutes", 900000: "15 minutes", 3600000: "an hour", 21600000: "6 hours", 86400000: "a day" }[this.reach] || ago(this.reach));
		const live = $("live");
		text(live, at ? (rec ? "to the end" : "to live") : rec ? "the end" : this.hooks.live() ? "live" : "not live");
		live.classList.toggle("live", !at && !rec && this.hooks.live());
		live.classList.toggle("lost", !at && !rec && !this.hooks.live());
		text($("clock"), clock(at || now));
		this.box.setAttribute("aria-valuemin", Math.round(this.low / 1000));
		this.box.setAttribute("aria-valuemax", Math.round(this.high / 1000));
		this.box.setAttribute("aria-valuenow", Math.round((at || now) / 1000));
		this.box.setAttribute("aria-valuetext", at ? `${clock(at)}, ${ago(now - at)} ago` : "live");
	}

	// tick is called once a second.
	tick() {
		if (this.late) this.draw();
		else if (!this.hooks.at() && this.hooks.state()?.mode !== "recording") {
			const [low] = this.range();
			if (this.low && this.width && (low - this.low) / (this.high - this.low) * this.width >= 1) this.draw();
		}
		this.words();
	}

	ms(e) {
		const r = this.box.getBoundingClientRect();
		return this.low + (this.high - this.low) * Math.max(0, Math.min(1, (e.clientX - r.left) / r.width));
	}

	down(e) {
		if (e.button) return;
		this.dragging = true;
		this.box.setPointerCapture(e.pointerId);
		this.seek(this.ms(e));
		this.box.addEventListener("pointerup", () => { this.dragging = false; }, { once: true });
	}

	hover(e) {
		if (!this.low) return;
		this.at = this.ms(e);
		this.cursor();
		const a = this.data;
		let what = "";
		if (a) {
			const b = a.buckets[Math.floor((this.at - a.from) / (a.to - a.from) * a.buckets.length)];
			const gaps = [...new Set(this.gaps().filter(x => covers(x, this.at)).map(x => x.type))];
			what = gaps.length ? ` gap of ${gaps.slice(0, 3).join(", ")}${gaps.length > 3 ? ` and ${plural(gaps.length - 3, "more type")}` : ""}: what happened in it is not known` : b ? ` ${plural(b[0] + b[1] + b[2], "change")}` + (b[0] + b[1] + b[2] ? `: ${number(b[0])} added, ${number(b[1])} modified, ${number(b[2])} deleted` : "") : "";
		}
		text(this.tip, clock(this.at) + what);
		this.tip.hidden = false;
		const half = this.tip.offsetWidth / 2;
		this.tip.style.left = Math.max(half, Math.min(this.width - half, this.x(this.at))) + "px";
		if (this.dragging) this.seek(this.at);
	}

	// seek goes to a moment, at most ten times a second while the pointer moves.
	seek(ms) {
		const st = this.hooks.state();
		const to = Math.round(Math.max(st?.from || 0, ms));
		this.target = this.end() - to < (this.high - this.low) / this.width * 2 ? 0 : to;
		if (this.seeking) return;
		this.seeking = setTimeout(() => { this.seeking = 0; this.hooks.go(this.target); }, 100);
	}

	// step moves by so many milliseconds; past the end is live again.
	step(ms) {
		const now = this.end(), at = (this.hooks.at() || now) + ms;
		this.hooks.go(at >= now ? 0 : Math.max(this.hooks.state()?.from || 0, at));
	}

	key(e) {
		const by = { ArrowLeft: -60e3, ArrowRight: 60e3, ArrowDown: -60e3, ArrowUp: 60e3, PageDown: -600e3, PageUp: 600e3 }[e.key];
		if (by) this.step(e.shiftKey ? by / 60 : by);
		else if (e.key === "End") this.hooks.go(0);
		else if (e.key === "Home") this.hooks.go(this.hooks.state()?.from || this.low);
		else return;
		e.preventDefault();
		e.stopPropagation();
	}
}
