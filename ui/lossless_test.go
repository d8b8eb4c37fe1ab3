package ui

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/rates"
)

// TestNothingIsLost: the changes that a page counted are those that the server made,
// however often its stream is cut, however slowly it reads, and after resets; and its
// rows are the server's.
func TestNothingIsLost(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inWorld(t, Options{}, func(w *world) { lossless(w, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func lossless(w *world, r *rand.Rand) {
	w.ui.log.limit = 28_000 // some 200 changes, so that there are resets
	var want rates.Counts
	exists := map[string]int{}
	write := func(n int, pause time.Duration) {
		for range n {
			name := fmt.Sprint("pod-", r.IntN(60))
			version, ok := exists[name]
			switch {
			case ok && r.IntN(4) == 0:
				w.delete(name)
				delete(exists, name)
				want[2]++
			default:
				w.pod(name, fmt.Sprint("Phase", version+1))
				exists[name] = version + 1
				if ok {
					want[1]++
				} else {
					want[0]++
				}
			}
			if pause > 0 {
				<-time.After(pause)
			}
		}
	}
	p := w.open()
	p.post("api/subscribe", `{"client":"client-1","windows":[{"id":"w","type":"pods","sort":"-changed","rows":20},{"id":"all","type":"pods","rows":500}],"activity":{}}`)
	last, resets := "", 0
	sum := map[string]rates.Counts{}
	var s *tap
	for range 14 {
		s = p.stream("client-1", last)
		s.count = sum
		if r.IntN(3) == 0 {
			s.slow = 200 + r.IntN(2000)
		}
		writing, dur := make(chan struct{}), time.Duration(r.IntN(4000))*time.Millisecond
		go func() {
			defer close(writing)
			write(r.IntN(60), time.Duration(r.IntN(60))*time.Millisecond)
			if r.IntN(3) == 0 {
				w.srv.CutWatches()
			}
			write(r.IntN(60), 0)
		}()
		s.read(dur)
		<-writing
		if r.IntN(3) == 0 {
			write(150+r.IntN(150), 0) // more than the log keeps, now and then
		}
		last, sum = s.lastID, s.count
		if len(s.seen) > 0 && s.seen[0].name != "hello" {
			w.Errorf("a stream begins with %s, want hello", s.seen[0].name)
		}
		for _, e := range s.seen {
			if e.name == "reset" {
				resets++
			}
		}
	}
	w.pass(10 * time.Second) // until the connection to the server is there again
	s = p.stream("client-1", last)
	s.count = sum
	s.read(10 * time.Second)
	w.Logf("%v changes, %d resets", want, resets)
	if diff := cmp.Diff(want, s.count["pods"]); diff != "" {
		w.Errorf("changes (-made +counted):\n%s", diff)
	}
	wantRows := []string{}
	list, _ := w.srv.List(kube.Pods)
	for name, version := range exists {
		wantRows = append(wantRows, fmt.Sprint(name, " Phase", version))
	}
	slices.Sort(wantRows)
	rows := slices.DeleteFunc(s.names("all", 2), func(s string) bool { return len(s) > 5 && s[len(s)-4:] == "gone" })
	slices.Sort(rows)
	if diff := cmp.Diff(wantRows, rows); diff != "" || len(list) != len(rows) {
		w.Errorf("rows (-exist +shown):\n%s", diff)
	}
}
