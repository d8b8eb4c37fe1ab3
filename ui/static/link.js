// What the page knows of the server: a session, requests, and the stream, held by the
// shared worker where there is one.
import { Stream, Refused, request } from "./stream.js";

export { Refused };

// A tab may show pages of several paths, each with a session of its own.
const KEY = "listwatch-key " + new URL(".", location.href).pathname;
const listeners = new Map();
let key = sessionStorage.getItem(KEY) || "";
let port = null, own = null;

// on calls f(data) for each event with this name.
export function on(name, f) { listeners.set(name, [...(listeners.get(name) || []), f]); }

function emit(name, data) { for (const f of listeners.get(name) || []) f(data); }

// begin exchanges a token of the URL for a session, connects to the worker, and resolves
// to whether there is a session.
export async function begin(token) {
	if (token) await login(token);
	const lock = "listwatch-tab-" + crypto.randomUUID();
	const held = new Promise(done => {
		if (!navigator.locks) return done();
		navigator.locks.request(lock, () => { done(); return new Promise(() => {}); });
	});
	await held;
	if (typeof SharedWorker === "function" && !new URLSearchParams(location.search).has("own")) {
		try { await connect(lock); } catch { port = null; }
	}
	if (!port) own = new Stream(emit);
	if (!port && key) own.start(key);
	return key !== "";
}

function connect(lock) {
	return new Promise((resolve, reject) => {
		const worker = new SharedWorker("worker.js", { type: "module", name: "listwatch" });
		const late = setTimeout(() => reject(new Error("the shared worker does not start")), 4000);
		worker.onerror = e => { clearTimeout(late); reject(e); };
		worker.port.onmessage = ({ data: { name, data } }) => {
			if (name !== "welcome") return emit(name, data);
			clearTimeout(late);
			port = worker.port;
			if (!key && data.key) keep(data.key);
			emit("status", data.status);
			if (Object.keys(data.totals).length) emit("totals", data.totals);
			resolve();
		};
		worker.port.start();
		worker.port.postMessage({ do: "join", lock, key });
		addEventListener("pagehide", e => { if (!e.persisted) worker.port.postMessage({ do: "bye" }); });
	});
}

function keep(k) {
	key = k;
	sessionStorage.setItem(KEY, k);
}

// login exchanges a token for a session. A token of Kubernetes is a bearer, which has two dots.
export async function login(token) {
	const body = /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token) ? { bearer: token } : { token };
	const r = await request("", "api/session", { method: "POST", body: JSON.stringify(body) });
	keep((await r.json()).key);
}

// forget drops a key that the server does not know any more.
export function forget() {
	key = "";
	sessionStorage.removeItem(KEY);
}

export async function logout() {
	try { await request(key, "api/session", { method: "DELETE" }); } finally { forget(); }
}

// want declares what this tab looks at.
export function want(wanted) {
	if (port) port.postMessage({ do: "want", wanted });
	else own?.subscribe(wanted);
}

// again connects now instead of after the wait.
export function again() {
	if (port) port.postMessage({ do: "again" });
	else own?.again();
}

const params = p => {
	const q = new URLSearchParams();
	for (const [k, v] of Object.entries(p || {})) if (v !== undefined && v !== null && v !== "") q.set(k, v);
	return q.toString();
};

// get asks for JSON: get("api/list", {type: "pods"}).
export async function get(path, query, signal) {
	const q = params(query);
	return (await call(q ? path + "?" + q : path, { signal })).json();
}

// body asks for a stream of text.
export async function body(path, query, signal) { return (await call(path + "?" + params(query), { signal })).body; }

export async function post(path, value) { return (await call(path, { method: "POST", body: JSON.stringify(value) })).json(); }

async function call(path, init) {
	try { return await request(key, path, init); } catch (e) {
		if (e instanceof Refused && e.status === 401) emit("unauthorized", { error: e.message });
		throw e;
	}
}
