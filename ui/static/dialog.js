// Dialogs: a choice with a search, the keys, and others that show something.
import { $, h, put, when } from "./dom.js";
import { icon } from "./object.js";

// dialog shows nodes under a title until it is closed.
export function dialog(title, ...nodes) {
	const d = $("dialog");
	put(d, h("h2", { id: "dialog-title" }, title), h("button", { type: "button", class: "icon shut", "aria-label": "Close", onclick: () => d.close() }, icon("M4 4l8 8M12 4l-8 8")), h("div", { class: "pad" }, nodes));
	d.classList.toggle("broad", nodes.flat().some(n => n?.tagName === "TABLE"));
	d.onclick = e => { if (e.target === d) d.close(); };
	if (!d.open) d.showModal();
}

// choose shows options that match what is typed. An option is {label, note, words, exact, pick(more)}.
// It returns what replaces them.
export function choose(title, hint, options) {
	const d = $("dialog"), input = h("input", { type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "options", "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false", placeholder: hint, "aria-label": title });
	d.classList.remove("broad");
	const ul = h("ul", { class: "options", role: "listbox", id: "options" });
	let shown = [], at = 0;
	const draw = () => {
		const q = input.value.trim().toLowerCase();
		const score = o => o.exact?.includes(q) ? 0 : o.label.toLowerCase().startsWith(q) ? 1 : (o.words + " " + o.label.toLowerCase()).includes(q) ? 2 : 9;
		shown = options.map(o => [score(o), o]).filter(x => !q || x[0] < 9).sort((a, b) => q ? a[0] - b[0] : 0).map(x => x[1]).slice(0, 200);
		at = Math.max(0, Math.min(at, shown.length - 1));
		put(ul, shown.map((o, i) => h("li", { role: "option", id: "option-" + i, "aria-selected": String(i === at), onclick: e => pick(o, e.ctrlKey || e.metaKey) }, h("span", { dir: "auto" }, o.label), h("small", {}, o.note || ""))), shown.length ? "" : h("li", { "aria-disabled": "true" }, "No match"));
		if (shown.length) input.setAttribute("aria-activedescendant", "option-" + at); else input.removeAttribute("aria-activedescendant");
		ul.children[at]?.scrollIntoView({ block: "nearest" });
	};
	const pick = (o, more) => { d.close(); o.pick(more); };
	input.addEventListener("input", () => { at = 0; draw(); });
	input.addEventListener("keydown", e => {
		if (e.key === "ArrowDown" || e.key === "ArrowUp") { at = (at + (e.key === "ArrowDown" ? 1 : -1) + shown.length) % (shown.length || 1); draw(); e.preventDefault(); }
		else if (e.key === "Enter") { e.preventDefault(); if (shown[at]) pick(shown[at], e.ctrlKey || e.metaKey); }
	});
	put(d, h("h2", { id: "dialog-title" }, title), input, ul);
	d.onclick = e => { if (e.target === d) d.close(); };
	draw();
	if (!d.open) d.showModal();
	input.focus();
	return all => { options = all; draw(); };
}

// timeOf reads a time as people write it: 14:03, 14:03:20, 2026-11-22 14:03, 10m or "10m ago",
// and "live". It returns milliseconds, 0 for live, or NaN. A time of day is the last one
// before end.
export function timeOf(typed, end) {
	const t = typed.trim().toLowerCase();
	if (t === "" || t === "live" || t === "now") return 0;
	const span = /^-?((?:\d+\s*[smhd]\s*)+)(ago)?$/.exec(t);
	if (span) return end - [...span[1].matchAll(/(\d+)\s*([smhd])/g)].reduce((sum, [, n, unit]) => sum + n * { s: 1e3, m: 60e3, h: 3600e3, d: 86400e3 }[unit], 0);
	const at = /^(?:(\d{4})-(\d\d?)-(\d\d?)[t ]\s*)?(\d\d?):(\d\d)(?::(\d\d))?$/.exec(t);
	if (!at || at[4] > 23 || at[5] > 59 || (at[6] || 0) > 59) return NaN;
	const d = at[1] ? new Date(at[1], at[2] - 1, at[3]) : new Date(end);
	if (at[1] && d.getMonth() !== at[2] - 1) return NaN;
	d.setHours(at[4], at[5], at[6] || 0, 999); // what happened in this second has happened
	if (!at[1] && d > end) d.setDate(d.getDate() - 1);
	return d.getTime();
}

// moment asks for a time, and calls go with it. kept is since when history is, end its end.
export function moment(kept, end, go) {
	const input = h("input", { type: "text", autocomplete: "off", spellcheck: "false", maxlength: 40, placeholder: "14:03, 14:03:20, 2026-11-22 14:03, or 10m ago", "aria-label": "Time", "aria-describedby": "moment-note" });
	const note = h("p", { class: "quiet", id: "moment-note", role: "status" }, "The page shows what was known then. History begins at ", when(kept, end), ".");
	const form = h("form", { onsubmit: e => {
		e.preventDefault();
		const at = timeOf(input.value, end);
		if (Number.isNaN(at)) put(note, "This is not a time: try 14:03, or 10m ago.");
		else if (at > end) put(note, "This is in the future.");
		else if (at && at < kept) put(note, "Nothing is kept from before ", when(kept, end), ".");
		else { $("dialog").close(); go(at); }
	} }, input, h("div", { class: "pad" }, note));
	const d = $("dialog");
	put(d, h("h2", { id: "dialog-title" }, "Go to a time"), form);
	d.classList.remove("broad");
	d.onclick = e => { if (e.target === d) d.close(); };
	if (!d.open) d.showModal();
	input.focus();
}

const KEYS = [
	[":", "choose a type"], ["/", "filter: words, -word to leave out, app=web for labels, or jq and Enter"], ["n", "choose namespaces"], ["c", "choose a cluster, of several"], ["j k", "next and previous row; arrows, Page Up and Down, g and G too"], ["Enter", "open the row"], ["1 … 6", "the parts of an object"], ["o", "the object in the whole width"], ["Esc", "close, then back to live, then without a filter"],
	["← →", "a minute back and forward; with Shift a second"], ["t", "go to a time, such as 14:03 or 10m ago"], ["l", "return to live"], ["+ -", "a shorter and a longer range of time"], ["f", "mark the type as a favourite"], ["w", "show wide columns"], ["h", "how well each type is known"], ["?", "this page"],
];

export function help() {
	dialog("Keyboard", h("dl", {}, KEYS.map(([k, what]) => [h("dt", {}, k.split(" ").map(x => x === "…" ? " … " : [h("kbd", {}, x), " "])), h("dd", {}, what)])),
		h("h2", {}, "What is shown"), h("p", { class: "quiet" }, "A row that changed is marked for ten seconds, and its last column names the cells. A deleted row stays for ten seconds. Hatched purple is a gap: what happened then is not known. Counts in italics are of types that nobody watches, with their age. The mark of a value of a Secret, #67dd, is another one where the value is; those of two keys or two Secrets differ always."));
}
