package library_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// killedListing: there is no snapshot yet, and the journal knows what was delivered in
// part. Some of that goes before the next life.
func (h *lives) killedListing() {
	for i := range 3 {
		n := h.differences()
		n = []int{1, 1 + h.random.IntN(n-1), n - 1}[i]
		l := h.begin(cold, saveOften, "listed "+strconv.Itoa(n))
		l.cut = true
		l.held()
		l.kill()
		if h.stat() != nil {
			h.Error("a snapshot was saved before the first list was complete")
		}
		h.write(60)
	}
	l := h.begin(cold, saveOften, "")
	l.settle()
	l.replaced(nil)
}

// killedUnderLoad: at any delta, and the load goes on without it.
func (h *lives) killedUnderLoad() {
	for range 3 {
		l := h.now
		to := len(l.entries) + 1 + h.random.IntN(80)
		h.ledger.allow(100)
		l.until("some of the load", func() bool { return len(l.entries) >= to })
		l.kill()
		h.begin(served, saveOften, "").settle()
	}
}

// killedAfterSaving: the snapshot is the newest there can be.
func (h *lives) killedAfterSaving() {
	for range 3 {
		l := h.now
		before := l.stat()
		h.ledger.allow(40)
		l.replaced(before)
		l.kill()
		h.begin(served, saveOften, "").settle()
	}
}

// killedSaving: half a file is written, and handlers go on meanwhile.
func (h *lives) killedSaving() {
	l := h.now
	l.hold("save", 1+h.random.IntN(len(l.state)-1))
	h.ledger.allow(40)
	l.held()
	before := l.stat()
	h.must(h.ledger.left(0))
	now := h.ledger.now()
	l.until("the present state", func() bool { return maps.Equal(l.state, now) })
	l.kill()
	halves, err := filepath.Glob(filepath.Join(filepath.Dir(h.path), "."+filepath.Base(h.path)+".listwatch-*"))
	h.must(err)
	if len(halves) != 1 {
		h.Errorf("half-written snapshots: %q, want one", halves)
	}
	if after := h.stat(); !os.SameFile(before, after) {
		h.Error("the snapshot was replaced by one that is not complete")
	}
	l = h.begin(served, saveOften, "")
	l.settle()
	for _, half := range halves {
		if _, err := os.Stat(half); !os.IsNotExist(err) {
			h.Errorf("%s was left: %v", half, err)
		}
	}
}

// killedDropping: the snapshot is in its place, and the journal that it stands for
// is not yet gone. That moment is short, so the journal is put back.
func (h *lives) killedDropping() {
	h.now.stop()
	l := h.begin(served, saveNever, "")
	h.write(100)
	l.settle()
	names, err := filepath.Glob(h.path + ".journal-*")
	h.must(err)
	files := map[string][]byte{}
	for _, name := range names {
		files[name], err = os.ReadFile(name)
		h.must(err)
	}
	if len(files) == 0 {
		h.Error("there is no journal: this round shows nothing")
	}
	l.stop()
	h.account()
	for name, b := range files {
		h.must(os.WriteFile(name, b, 0o600))
	}
	h.begin(served, saveOften, "").settle()
}

// killedBefore: the store holds a change that no handler has acknowledged, and it
// must not get into a snapshot, however long that takes. An addition is in the
// journal by then.
func (h *lives) killedBefore() {
	for _, when := range []struct {
		what string
		n    int
	}{{"before", 5}, {"added", 1}} {
		l := h.now
		l.hold(when.what, when.n)
		h.ledger.allow(40)
		l.held()
		timer := time.NewTimer(20 * saveOften)
		select {
		case <-timer.C:
		case <-l.ended:
		}
		timer.Stop()
		l.noting = when.what == "added"
		l.kill()
		h.begin(served, saveOften, "").settle()
	}
}

// killedAfter: a change was acknowledged by its line, but the handler has not
// returned; it is delivered again.
func (h *lives) killedAfter() {
	l := h.now
	l.hold("after", 5)
	h.ledger.allow(10)
	l.held()
	l.kill()
	h.begin(served, saveOften, "").settle()
}

// killedDelivering: the snapshot is as good as before.
func (h *lives) killedDelivering() {
	h.now.kill()
	h.write(60)
	for _, n := range []int{1, 2 + h.random.IntN(100)} {
		l := h.begin(served, saveOften, "after "+strconv.Itoa(n))
		l.cut = true
		l.held()
		l.kill()
	}
	h.begin(served, saveOften, "").settle()
}

// serverKilled: under load, while the informer runs. It is stopped until the new
// apiserver has more events, so that nothing happens while it lists.
func (h *lives) serverKilled() {
	l := h.now
	l.restarted = true
	h.ledger.allow(200)
	h.must(h.ledger.left(100))
	h.must(h.cluster.KillAPIServer())
	h.must(l.cmd.Process.Signal(syscall.SIGSTOP))
	h.ledger.pause()
	h.restart()
	h.must(h.ledger.left(0))
	h.write(100)
	h.must(l.cmd.Process.Signal(syscall.SIGCONT))
	l.settle()
	h.write(40)
	l.settle()
}

// restart starts the apiserver, whose history begins after all that was seen.
func (h *lives) restart() {
	h.Helper()
	_, err := h.cluster.Advance(h.ctx)
	h.must(err)
	h.must(h.cluster.StartAPIServer(h.ctx))
	h.must(h.ledger.setup())
}

// expire restarts it, on an etcd without history.
func (h *lives) expire() {
	h.Helper()
	h.must(h.cluster.KillAPIServer())
	_, err := h.cluster.Compact(h.ctx)
	h.must(err)
	h.restart()
}

// historyExpired: the informer has saved all that it delivered, and delivers the exact
// differences, also where it was killed while it delivered them, and where the
// list broke off, so that it could save between RESTART and SYNCED.
func (h *lives) historyExpired() {
	h.now.stop()
	before := h.ledger.now()
	h.write(150)
	h.expire()
	differences := before.distance(h.ledger.now())

	h.proxy.CutEach(brokenList)
	l := h.begin(expired, saveOften, "")
	stopped := l.snapshot.revision
	l.brokenOff()
	l.kill()
	h.proxy.CutEach(0)
	for i := range 2 {
		n := h.differences()
		n = []int{1 + h.random.IntN(n-1), n - 1}[i]
		l := h.begin(expired, saveOften, "listed "+strconv.Itoa(n))
		l.held()
		l.kill()
	}
	h.proxy.CutEach(brokenList)
	l = h.begin(expired, saveOften, "")
	if l.snapshot.revision != stopped {
		h.Errorf("there is a snapshot at %s of an incomplete list, it had ended at %s", l.snapshot.revision, stopped)
	}
	l.brokenOff()
	h.proxy.CutEach(0)
	l.settle()
	h.Logf("%d differences", differences)
}

// brokenList is how much of a list gets through, compressed and with the handshake: some of
// its differences. (Of 5,000 bytes none, of 15,000 all.)
const brokenList = 8_000

// brokenOff waits until lists have broken off, and some differences were delivered.
func (l *life) brokenOff() {
	l.Helper()
	l.until("lists that break off", func() bool {
		requested := slices.IndexFunc(l.entries, func(e entry) bool { return e.Mark == "requested" })
		return l.lists() > 5 && slices.ContainsFunc(l.entries[requested:], func(e entry) bool { return e.Inferred })
	})
}

// allKilled: the informer delivers objects, and is killed before it could save
// them; they are deleted, and history expires. Only its journal knows of them. It
// begins before there is an apiserver.
func (h *lives) allKilled() {
	h.now.stop()
	l := h.begin(served, saveNever, "")
	h.write(100)
	l.settle()
	l.kill()
	young := h.writeOff(150)
	h.must(h.cluster.KillAPIServer())
	_, err := h.cluster.Compact(h.ctx)
	h.must(err)
	l = h.begin(expired, saveOften, "")
	l.marked("synced", 0)
	h.restart()
	l.settle()
	h.Logf("%d objects were delivered, not saved, deleted, and their history lost", young)
}

// writeOff lets n writes happen, and more until some objects are gone that the last
// life had delivered and not saved. It returns how many.
func (h *lives) writeOff(n int) (young int) {
	h.Helper()
	h.account()
	for young < 3 {
		h.write(n)
		young, n = 0, 20
		now := h.ledger.now()
		for _, o := range h.journal {
			uid := uidOf(o.Version)
			if uidOf(h.now.state[o.Key]) == uid && uidOf(now[o.Key]) != uid {
				young++
			}
		}
	}
	return young
}

// damaged: half of a snapshot is none. It is set aside, which is said, and the
// start is a cold one; but what was delivered since the snapshot is in the journal.
func (h *lives) damaged() {
	h.now.stop()
	l := h.begin(served, saveNever, "")
	h.write(100)
	l.settle()
	l.damaged = true
	l.kill()
	whole, err := os.ReadFile(h.path)
	h.must(err)
	half := whole[:len(whole)/2]
	h.must(os.Truncate(h.path, int64(len(half))))
	young := h.writeOff(100)
	now := h.ledger.now()
	var undelivered []string
	for key, version := range l.state {
		uid := uidOf(version)
		kept := slices.ContainsFunc(h.journal, func(o delivery) bool { return uidOf(o.Version) == uid })
		if uidOf(now[key]) != uid && !kept {
			undelivered = append(undelivered, uid)
		}
	}
	h.Logf("%d objects that only the journal knew were deleted, and %d that only the snapshot knew", young, len(undelivered))
	l = h.begin(cold, saveOften, "")
	l.settle(undelivered...)
	l.replaced(nil)
	l.stop()
	aside, err := filepath.Glob(h.path + ".bad-*")
	h.must(err)
	if len(aside) != 1 {
		h.Fatalf("files set aside: %q, want one", aside)
	}
	kept, err := os.ReadFile(aside[0])
	h.must(err)
	if !bytes.Equal(kept, half) {
		h.Error("the file that was set aside is not the damaged one")
	}
	if text := l.stderr.String(); !strings.Contains(text, "damaged snapshot") || !strings.Contains(text, h.path) || !strings.Contains(text, aside[0]) {
		h.Errorf("what is said does not name the damage and the files:\n%s", text)
	}
	h.begin(served, saveOften, "").settle()
}

// nothing happened since it ended: nothing is delivered but the beginning.
func (h *lives) nothing() {
	for range 3 {
		h.now.stop()
		l := h.begin(served, saveOften, "")
		l.settle()
		if len(l.state) != l.deltas() {
			h.Errorf("%d deltas, want the %d of the beginning", l.deltas(), len(l.state))
		}
	}
	h.now.stop()
	h.account()
}

// deltas returns how many deltas a life delivered.
func (l *life) deltas() int { return l.count(func(e *entry) bool { return e.Mark == "" }) }

// lists returns how many marks of requests for the collection a life made.
func (l *life) lists() int { return l.count((*entry).lists) }

func (l *life) count(what func(*entry) bool) (n int) {
	for i := range l.entries {
		if what(&l.entries[i]) {
			n++
		}
	}
	return n
}
