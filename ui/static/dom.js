// Elements, and how times and numbers are written. Text reaches the page by textContent
// only, so that nothing that a cluster says can be markup.

const SVG = "http://www.w3.org/2000/svg";

// plain shows characters that would change how their neighbours are shown: controls, and
// those that turn the direction of text, as in \u202e.
export const plain = value => String(value).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));

function fill(e, props, children) {
	for (const [name, value] of Object.entries(props || {})) {
		if (value === undefined || value === null || value === false) continue;
		if (name === "class") e.setAttribute("class", value);
		else if (name === "data") Object.assign(e.dataset, value);
		else if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
		else e.setAttribute(name, value === true ? "" : name === "title" ? plain(value) : String(value));
	}
	for (const c of children.flat(Infinity)) {
		if (c === undefined || c === null || c === false) continue;
		e.append(c instanceof Node ? c : document.createTextNode(plain(c)));
	}
	return e;
}

// h makes an HTML element: h("a", {href: "#", onclick: f}, "text", child...).
export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);

// s makes an SVG element.
export const s = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);

export const $ = id => document.getElementById(id);

// covers says whether a time is in a gap, which has no end yet if it is open.
export const covers = (gap, at) => gap.from <= at && at < (gap.to || Infinity);

// put replaces what is in an element.
export function put(e, ...children) { e.replaceChildren(...children.flat(Infinity).filter(c => c !== undefined && c !== null && c !== false).map(c => c instanceof Node ? c : plain(c))); }

// update puts children in an element if their text is another one.
export function update(e, ...children) {
	if (e.textContent !== children.map(c => c.textContent ?? plain(c)).join("")) put(e, ...children);
}

// text changes the text of an element if it is another one: no work, and no mutation, else.
export function text(e, value) {
	value = plain(value);
	if (e.firstChild && e.firstChild === e.lastChild && e.firstChild.nodeType === 3) {
		if (e.firstChild.data !== value) e.firstChild.data = value;
	} else if (e.textContent !== value || e.firstChild) e.textContent = value;
}

const two = n => String(n).padStart(2, "0");

// clock writes a time of day: 14:03:10.
export function clock(ms) {
	const d = new Date(ms);
	return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

// during writes the time of a gap, which may last.
export const during = g => g.to ? `${clock(g.from)} to ${clock(g.to)}` : `${clock(g.from)} until now`;

// minute writes 14:03.
export const minute = ms => clock(ms).slice(0, 5);

// day writes 2026-11-22, and nothing for a day that is also the day of now.
export function day(ms, now) {
	const d = new Date(ms), n = new Date(now);
	if (d.toDateString() === n.toDateString()) return "";
	return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} `;
}

// stamp writes a time of day, and before it the month and day if it is not today: 11-22 14:03:10.
export const stamp = (ms, now) => day(ms, now).slice(5) + clock(ms);

// when is a <time> with the day if it is not today.
export const when = (ms, now) => h("time", { datetime: new Date(ms).toISOString(), title: new Date(ms).toISOString() }, day(ms, now) + clock(ms));

// age writes how long ago, as kubectl does: 12s, 3m4s, 5h, 12d.
export function age(ms) {
	if (!Number.isFinite(ms)) return "";
	const t = Math.max(0, Math.floor(ms / 1000));
	if (t < 120) return t + "s";
	const m = Math.floor(t / 60);
	if (m < 10) return t % 60 ? `${m}m${t % 60}s` : m + "m";
	if (m < 180) return m + "m";
	const hours = Math.floor(m / 60);
	if (hours < 8) return m % 60 ? `${hours}h${m % 60}m` : hours + "h";
	if (hours < 48) return hours + "h";
	const days = Math.floor(hours / 24);
	if (days < 8) return hours % 24 ? `${days}d${hours % 24}h` : days + "d";
	if (days < 730) return days + "d";
	return Math.floor(days / 365) + "y";
}

// ago writes an age in words for people: 1.2 s, 12 s, 1 m 04 s, 3 m, 5 h.
export function ago(ms) {
	const t = Math.max(0, ms) / 1000;
	if (t < 60) return Math.floor(t) + " s";
	const m = Math.floor(t / 60);
	if (m < 10) return `${m} m ${two(Math.floor(t % 60))} s`;
	if (m < 120) return m + " m";
	if (m < 2880) return Math.floor(m / 60) + " h";
	return Math.floor(m / 1440) + " d";
}

// number writes 12 831, with a narrow space that does not break.
export function number(n) { return String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f"); }

// plural writes "1 row", "2 rows".
export const plural = (n, one, many = one + "s") => `${number(n)} ${n === 1 ? one : many}`;

// sheet is what stands where rows would: a title, a sentence, and what can be done.
export function sheet(kind, title, lines, ...buttons) {
	return h("section", { class: "sheet " + kind }, h("span", { class: "mark", "aria-hidden": "true" }), h("h2", {}, title),
		lines.filter(Boolean).map(l => h("p", { dir: "auto" }, l)), buttons.length ? h("div", { class: "buttons" }, buttons) : null);
}

// button is a button that says what it does.
export const button = (label, onclick, cls = "button") => h("button", { type: "button", class: cls, onclick }, label);

// say speaks to screen readers, sparingly: the last message within half a second wins.
let saying = 0;
export function say(message) {
	clearTimeout(saying);
	saying = setTimeout(() => text($("said"), message), 400);
}

// copy puts text on the clipboard and says so on the button.
export async function copy(value, from) {
	let done = "copied";
	try { await navigator.clipboard.writeText(value); } catch { done = "select and copy it"; }
	const before = from.textContent;
	text(from, done);
	setTimeout(() => text(from, before), 1500);
}

// command is text to copy.
export function command(value) {
	const b = button("copy", () => copy(value, b));
	return h("div", { class: "copy" }, h("pre", {}, value), b);
}
