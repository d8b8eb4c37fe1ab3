// One stream of events from the server: read by fetch, resumed by Last-Event-ID, with
// the sum of all changes of each type. Runs in the shared worker, or in a page whose
// browser has none.

const SILENCE = 15000;        // the server pings every 5 s
const LONGEST = 16 << 20;     // characters of one event

// Refused is what a refused request throws: its status and the reason from the body.
export class Refused extends Error {
	constructor(status, body) {
		super(body.error || `the server answers with status ${status}`);
		this.status = status;
		this.reason = body.reason || "";
	}
}

// request asks the server, with the session's key, and throws Refused.
export async function request(key, path, init = {}) {
	const headers = { "Listwatch-Key": key, ...init.headers };
	if (init.body) headers["Content-Type"] = "application/json";
	const r = await fetch(path, { ...init, headers, credentials: "same-origin", cache: "no-store" });
	if (r.ok || r.status === 304) return r;
	let body = {};
	try { body = await r.json(); } catch { /* not one of ours: the status says it */ }
	throw new Refused(r.status, body);
}

// Stream keeps one stream open and calls emit(name, data) for each event.
export class Stream {
	constructor(emit) {
		this.emit = emit;
		this.client = Array.from(crypto.getRandomValues(new Uint8Array(12)), b => b.toString(16).padStart(2, "0")).join("");
		this.key = "";
		this.id = "";             // of the last event
		this.pos = 0;             // the changes up to it are counted
		this.totals = {};         // type: [added, modified, deleted]
		this.wanted = null;       // the subscription
		this.followed = "";       // the changes that the stream has, of those that are wanted
		this.running = false;
		this.turn = 0;            // a loop of another turn is over
		this.status = { state: "connecting", since: Date.now(), error: "" };
		this.heard = 0;
		this.delay = 0;
		this.attempt = null;      // AbortController of the stream that is open
	}

	// start opens the stream with this session, unless it is open.
	start(key) {
		this.key = key;
		if (this.running) return;
		this.running = true;
		this.delay = 0;
		this.loop(++this.turn);
	}

	stop() {
		this.running = false;
		this.turn++;
		this.attempt?.abort();
		this.wake?.();
	}

	// again ends the wait before the next attempt, and an attempt that is silent.
	again() {
		this.delay = 0;
		if (this.status.state === "live" && Date.now() - this.heard > SILENCE) this.attempt?.abort();
		this.wake?.();
	}

	set(state, error = "") {
		if (this.status.state !== state) this.status = { state, since: Date.now(), error };
		else this.status = { ...this.status, error };
		this.emit("status", this.status);
	}

	async loop(turn) {
		const over = () => !this.running || this.turn !== turn;
		while (!over()) {
			try {
				await this.read();
				if (over()) return;
				this.set("lost", "the stream ended");
			} catch (e) {
				if (over()) return;
				if (e instanceof Refused && (e.status === 401 || e.status === 403)) {
					this.running = false;
					this.set("ended", e.message);
					this.emit("unauthorized", { error: e.message });
					return;
				}
				this.set("lost", e.name === "AbortError" ? "nothing was heard for 15 seconds" : e.message);
			}
			const wait = this.delay * (.75 + Math.random() / 2);
			this.delay = Math.min(8000, Math.max(400, this.delay * 2));
			await new Promise(done => { this.wake = done; setTimeout(done, wait); });
		}
	}

	// subscribe replaces what the stream is about.
	async subscribe(wanted) {
		this.wanted = wanted;
		await this.post();
	}

	async post() {
		if (!this.key || !this.wanted) return;
		if (this.posting) { this.postAgain = true; return; }
		this.posting = true;
		try {
			do {
				this.postAgain = false;
				const { activity } = this.wanted, follows = JSON.stringify(activity);
				await request(this.key, "api/subscribe", { method: "POST", body: JSON.stringify({ client: this.client, ...this.wanted }) });
				if (activity && follows !== this.followed) this.emit("following");
				this.followed = follows;
			} while (this.postAgain);
		} catch (e) {
			// Without a connection the next hello posts again.
			if (e instanceof Refused && e.status !== 401) this.emit("refused", { status: e.status, reason: e.reason, error: e.message });
			if (e instanceof Refused && (e.status === 429 || e.status === 503)) setTimeout(() => this.post(), 2000);
		} finally { this.posting = false; }
	}

	async read() {
		const attempt = this.attempt = new AbortController();
		this.heard = Date.now();
		const watchdog = setInterval(() => { if (Date.now() - this.heard > SILENCE) attempt.abort(); }, 1000);
		try {
			const headers = this.id ? { "Last-Event-ID": this.id } : {};
			const r = await request(this.key, "api/stream?client=" + this.client, { headers, signal: attempt.signal });
			const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
			let rest = "", name = "", id = "", data = [];
			for (;;) {
				const { value, done } = await reader.read();
				if (done) return;
				if (Date.now() - this.heard > SILENCE) throw new Error("nothing was heard for 15 seconds"); // what lay in a buffer while the machine slept is old
				this.heard = Date.now();
				rest += value;
				if (rest.length > LONGEST) throw new Error("an event of the stream is longer than 16 MiB");
				let at = 0, end;
				while ((end = rest.indexOf("\n", at)) >= 0) {
					const line = rest.slice(at, rest[end - 1] === "\r" ? end - 1 : end);
					at = end + 1;
					if (line === "") {
						if (data.length) this.handle(name, id, JSON.parse(data.join("\n")));
						name = ""; id = ""; data = [];
					} else if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
					else if (line.startsWith("event:")) name = line.slice(6).trim();
					else if (line.startsWith("id:")) id = line.slice(3).trim();
				}
				rest = rest.slice(at);
			}
		} finally {
			clearInterval(watchdog);
			attempt.abort();
		}
	}

	// handle counts, and passes the event on. An event whose changes do not follow the last
	// one's is a loss that the server did not report: it is shown, never hidden.
	handle(name, id, data) {
		switch (name) {
			case "hello":
				this.delay = 0;
				this.followed = "";
				if (!data.resumed) this.restart(data);
				this.set("live");
				this.post();
				break;
			case "reset":
				this.restart(data, id);
				break;
			case "counts":
				if (this.pos && data.from !== this.pos) this.emit("loss", { from: this.pos, to: data.from });
				this.pos = data.to;
				for (const [type, c] of Object.entries(data.types)) {
					const t = this.totals[type] ||= [0, 0, 0];
					for (let i = 0; i < 3; i++) t[i] += c[i];
				}
				data = { ...data, totals: this.totals };
				break;
			case "end":
				this.running = false;
				this.set("ended", data.error || data.reason);
				break;
		}
		if (id) this.id = id;
		this.emit(name, data);
	}

	restart(data, id) {
		this.totals = data.totals || {};
		const pos = data.pos ?? Number(String(id || "").split(".").pop());
		this.pos = Number.isFinite(pos) ? pos : 0;
	}
}
