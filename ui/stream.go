package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/listwatch/listwatch/ui/internal/history"
	"github.com/listwatch/listwatch/ui/internal/rates"
	"github.com/listwatch/listwatch/ui/internal/refusal"
	"github.com/listwatch/listwatch/ui/internal/review"
)

const (
	flushEvery = 50 * time.Millisecond // at most
	pingEvery  = 5 * time.Second
	typesEvery = time.Second

	// pace is how many bytes a second a stream has, and burst how many it may save up.
	pace  = 40 << 10
	burst = 96 << 10

	// writeTime is how long a reader may take nothing; then it has to connect again.
	writeTime = 2 * time.Minute
)

// stream is what is sent to one viewer. It is for one goroutine.
type stream struct {
	u       *UI
	v       *viewer
	w       http.ResponseWriter
	control *http.ResponseController
	cancel  context.CancelFunc

	buf   bytes.Buffer
	last  int64 // position up to which all changes were counted
	saved int64 // bytes that may be sent at once
	fresh bool  // windows are sent as a whole

	sight   *sight // what the session may see
	sighted time.Time

	types, pinged, paced time.Time
	versions             map[string]int64 // of the types, as they were sent
}

// stream serves GET api/stream.
func (u *UI) stream(w http.ResponseWriter, r *http.Request) {
	s, err := u.session(r, r.Header.Get(header))
	var v *viewer
	if err == nil {
		v, err = u.viewer(s, r.URL.Query().Get("client"))
	}
	if err != nil {
		refusal.Write(w, err)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	st := &stream{u: u, v: v, w: w, control: http.NewResponseController(w), cancel: cancel, saved: burst, fresh: true, paced: time.Now(), versions: map[string]int64{}}
	v.connect(st)
	defer v.leave(st)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no")
	if st.sight, err = s.sight(ctx, u); err != nil {
		refusal.Write(w, err)
		return
	}
	st.sighted = time.Now()
	st.begin(r.Header.Get("Last-Event-ID"))
	st.run(ctx, s)
}

// connect makes st the one stream of v.
func (v *viewer) connect(st *stream) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.stream != nil {
		v.stream.cancel()
	}
	v.stream, v.left = st, 0
}

func (v *viewer) leave(st *stream) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.stream == st {
		v.stream, v.left = nil, now()
	}
}

// begin says whether the stream continues where another one ended, and, if it cannot, why.
func (st *stream) begin(id string) {
	pos, totals := st.totals()
	hello := map[string]any{"epoch": st.u.log.epoch, "pos": pos, "now": now(), "resumed": false, "totals": totals}
	st.last = pos
	why := ""
	if id != "" {
		epoch, at, _ := strings.Cut(id, ".")
		n, err := strconv.ParseInt(at, 10, 64)
		_, _, kept := st.u.log.after(n)
		switch {
		case err != nil:
			why = "id"
		case epoch != st.u.log.epoch:
			why = "epoch"
		case !kept:
			why = "log"
		default:
			st.last, hello["resumed"] = n, true
			hello["pos"] = n
			delete(hello, "totals")
		}
	}
	st.event("hello", st.last, hello)
	if why != "" {
		st.reset(why, pos, totals)
	}
}

// reset says that the page counts anew, from pos on, and why.
func (st *stream) reset(why string, pos int64, totals map[string]rates.Counts) {
	st.event("reset", pos, map[string]any{"epoch": st.u.log.epoch, "pos": pos, "now": now(), "why": why, "totals": totals})
}

// event appends one to the buffer; with a position where all changes up to it are reported.
func (st *stream) event(name string, pos int64, data any) {
	b, err := json.Marshal(data)
	if err != nil {
		return
	}
	st.buf.WriteString("event: " + name + "\n")
	if pos >= 0 {
		st.buf.WriteString("id: " + st.u.log.epoch + "." + strconv.FormatInt(pos, 10) + "\n")
	}
	st.buf.WriteString("data: ")
	st.buf.Write(b)
	st.buf.WriteString("\n\n")
}

func (st *stream) run(ctx context.Context, s *session) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		now := time.Now()
		st.saved = min(burst, st.saved+int64(now.Sub(st.paced))*pace/int64(time.Second))
		st.paced = now
		if err := st.look(ctx, s); err != nil {
			r := refusal.Of(err)
			if r.Code == http.StatusServiceUnavailable {
				return // it is not known what may be seen: the page connects again
			}
			st.event("end", -1, map[string]string{"reason": r.Reason, "error": r.Text})
			_ = st.flush() // it is the last one
			return
		}
		if st.saved > 0 {
			st.fill(now)
		}
		if now.Sub(st.pinged) >= pingEvery {
			st.pinged = now
			st.event("ping", -1, map[string]int64{"now": now.UnixMilli()})
		}
		if err := st.flush(); err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-s.ended:
			st.event("end", -1, map[string]string{"reason": errSession.Reason, "error": errSession.Text})
			_ = st.flush() // it is the last one
			return
		case <-st.v.kick:
		case <-tick.C:
		}
	}
}

// flush sends the buffer.
func (st *stream) flush() error {
	if st.buf.Len() == 0 {
		return nil
	}
	st.saved -= int64(st.buf.Len())
	_ = st.control.SetWriteDeadline(time.Now().Add(writeTime)) // an error: there are no deadlines
	if _, err := st.w.Write(st.buf.Bytes()); err != nil {
		return err
	}
	st.buf.Reset()
	if st.buf.Cap() > 1<<20 {
		st.buf = bytes.Buffer{}
	}
	return st.control.Flush()
}

// fill appends all that is new. The counts come last, and have the id: whoever has seen
// it has seen all before.
func (st *stream) fill(at time.Time) {
	st.u.asked.Store(at.UnixMilli())
	changes, pos, kept := st.u.log.after(st.last)
	if !kept {
		var totals map[string]rates.Counts
		pos, totals = st.totals()
		st.reset("log", pos, totals)
		st.last, st.fresh, changes = pos, true, nil
	}
	if at.Sub(st.types) >= typesEvery {
		st.types = at
		st.changedTypes()
	}
	st.v.mu.Lock()
	if st.v.stream != st { // another one has taken its place, and what the page has
		st.v.mu.Unlock()
		return
	}
	for _, w := range st.v.windows {
		st.window(w)
	}
	for id, o := range st.v.objects {
		st.object(id, o)
	}
	act := st.v.activity
	st.v.mu.Unlock()
	st.fresh = false
	if len(changes) == 0 {
		return
	}
	if act != nil {
		st.sample(act, changes)
	}
	types := map[string]rates.Counts{}
	for e := range changes.All() {
		if e.op == history.Gap || !st.sight.sees(e) {
			continue
		}
		c := types[e.kind.id]
		c.Add(e.op)
		types[e.kind.id] = c
	}
	st.event("counts", pos, map[string]any{"from": st.last, "to": pos, "at": at.UnixMilli(), "types": types})
	st.last = pos
}

// totals are those of types that may be seen as a whole; of others changes are counted
// from here on.
func (st *stream) totals() (int64, map[string]rates.Counts) {
	pos, totals := st.u.log.state()
	maps.DeleteFunc(totals, func(id string, _ rates.Counts) bool { return !st.sight.whole(st.u.kind(id)) })
	return pos, totals
}

// look asks again what may be seen, now and then. What is shown and may not be seen any
// more ends the stream.
func (st *stream) look(ctx context.Context, s *session) error {
	if s.person == nil || time.Since(st.sighted) < review.For {
		return nil
	}
	st.sighted = time.Now()
	sight, err := s.sight(ctx, st.u)
	if err != nil {
		return err
	}
	st.v.mu.Lock()
	defer st.v.mu.Unlock()
	for _, w := range st.v.windows {
		if !sight.some(w.view.kind) {
			return errForbidden
		}
	}
	if sight.print != st.sight.print || sight.all != st.sight.all {
		for _, w := range st.v.windows {
			w.view.see(sight)
		}
		st.fresh, st.versions = true, map[string]int64{}
	}
	st.sight = sight
	return nil
}

// see makes the rows those that may be seen.
func (v *view) see(s *sight) {
	v.kind.mu.Lock()
	defer v.kind.mu.Unlock()
	v.sees, v.built = s.types[v.kind.id], false
}

// changedTypes sends the types that are not as they were sent.
func (st *stream) changedTypes() {
	_, totals := st.u.log.state()
	var list []wireType
	for _, k := range st.u.types() {
		k.mu.Lock()
		// Everything that is shown moves with one of these, but for the last contact.
		version := k.version<<20 ^ totals[k.id].Sum() ^ int64(k.store.Len())<<40 ^ k.contact()/30_000<<8
		if old, ok := st.versions[k.id]; !ok || old != version {
			st.versions[k.id] = version
			list = append(list, st.sight.mask(k, k.wire(totals[k.id])))
		}
		k.mu.Unlock()
	}
	if list != nil {
		st.event("types", -1, map[string]any{"types": list})
	}
}

// contact is when the server last sent anything. Holds k.mu.
func (k *kind) contact() int64 {
	if k.watcher == nil {
		return k.heard
	}
	return max(k.heard, millis(k.watcher.LastContact()))
}

type wireRows struct {
	ID      string      `json:"id"`
	Total   int         `json:"total"`
	Matched int         `json:"matched"`
	From    int         `json:"from"`
	Order   []int64     `json:"order,omitempty"`
	Set     []wireRow   `json:"set,omitempty"`
	Folded  int         `json:"folded,omitempty"`
	State   string      `json:"state"`
	Reason  string      `json:"reason,omitempty"`
	Filter  *wireFilter `json:"filter,omitempty"`
}

// window sends one as a whole, or what changed in it.
func (st *stream) window(w *window) {
	v := w.view
	v.kind.mu.Lock()
	defer v.kind.mu.Unlock()
	if v.query.At > 0 {
		if st.fresh || w.sent == nil {
			past := v.rewind()
			past.ID = w.id
			st.event("window", -1, past)
			w.remember(v.window())
		}
		return
	}
	state := v.kind.state + v.kind.reason + strconv.Itoa(len(v.kind.gaps)) + strconv.FormatInt(v.kind.relists, 10)
	if st.fresh || w.sent == nil || !v.built || state != w.state || v.kind.state == stateLoading && v.changes > 0 {
		full := v.full()
		full.ID = w.id
		st.event("window", -1, full)
		w.state = state
		w.remember(v.window())
		return
	}
	changes := v.changes
	scanned := v.scan.moved()
	v.refresh()
	v.changes = 0
	rows := v.window()
	out := wireRows{ID: w.id, Total: v.total(), Matched: v.matched, From: v.query.From, State: v.kind.state, Reason: v.kind.reason}
	same := len(rows) == len(w.order)
	for n, i := range rows {
		same = same && w.order[n] == i.n
		if w.sent[i.n] != i {
			out.Set = append(out.Set, i.wire())
		}
	}
	if changes == 0 && same && len(out.Set) == 0 && !scanned {
		return
	}
	if w.remember(rows); !same {
		out.Order = w.order
	}
	if v.scan != nil {
		out.Filter = v.scan.wire()
	}
	out.Folded = max(0, changes-len(out.Set))
	st.event("rows", -1, out)
}

func (w *window) remember(rows []*item) {
	w.sent, w.order = make(map[int64]*item, len(rows)), make([]int64, 0, len(rows))
	for _, i := range rows {
		w.sent[i.n] = i
		w.order = append(w.order, i.n)
	}
}
