// The shared worker: one stream for all tabs of this page. It merges what the tabs look
// at into one subscription, and passes each tab the events of its own windows. Ids carry
// the tab's number: t2-w1.
import { Stream } from "./stream.js";

const tabs = new Map();       // number: {port, wanted}
let last = 0, key = "", ended = null;
const stream = new Stream(emit);

function emit(name, data) {
	if (name === "end" || name === "unauthorized") { key = ""; ended = { name, data }; }
	const id = data && data.id;
	if (typeof id === "string" && /^t\d+-/.test(id)) {
		const cut = id.indexOf("-");
		tabs.get(Number(id.slice(1, cut)))?.port.postMessage({ name, data: { ...data, id: id.slice(cut + 1) } });
		return;
	}
	for (const t of tabs.values()) t.port.postMessage({ name, data });
}

// merge makes one subscription of those of all tabs. When two tabs look at different
// activity, the stream has all of it, and each tab filters.
function merge() {
	const all = { windows: [], objects: [], activity: null };
	for (const [n, t] of tabs) {
		if (!t.wanted) continue;
		for (const w of t.wanted.windows) all.windows.push({ ...w, id: `t${n}-${w.id}` });
		for (const o of t.wanted.objects) all.objects.push({ ...o, id: `t${n}-${o.id}` });
		if (t.wanted.activity) all.activity = all.activity === null || same(all.activity, t.wanted.activity) ? t.wanted.activity : { ns: "", text: "" };
	}
	stream.subscribe(all);
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function drop(n) {
	if (!tabs.delete(n)) return;
	merge();
}

self.onconnect = e => {
	const port = e.ports[0], n = ++last;
	tabs.set(n, { port, wanted: null });
	port.onmessage = ({ data }) => {
		switch (data.do) {
			case "join":
				// The tab holds a lock with this name as long as it lives: a tab that crashed lets go too.
				navigator.locks?.request(data.lock, () => drop(n));
				if (data.key && data.key !== key) { key = data.key; ended = null; stream.stop(); stream.id = ""; }
				port.postMessage({ name: "welcome", data: { key, ended, tabs: tabs.size, status: stream.status, totals: stream.totals } });
				if (key) stream.start(key);
				break;
			case "want": {
				const t = tabs.get(n);
				if (!t || same(t.wanted, data.wanted)) break;
				t.wanted = data.wanted;
				merge();
				break;
			}
			case "again": stream.again(); break;
			case "bye": drop(n); break;
		}
	};
	port.start();
};
