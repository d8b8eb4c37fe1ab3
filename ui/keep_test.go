package ui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/internal/archive"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/describe"
)

// again ends the page's process, as it is, and starts another one with the same options.
func (w *world) again(o Options, meanwhile func()) {
	w.Helper()
	w.cancel()
	w.wg.Wait()
	meanwhile()
	w.start(o)
}

// TestHistoryOnDisk: the states of an earlier run, deleted objects among them, are there
// in the next one; the time between is a gap, whose changes are found by comparing.
func TestHistoryOnDisk(t *testing.T) {
	o := Options{History: filepath.Join(t.TempDir(), "history")}
	inWorld(t, o, func(w *world) {
		w.pod("a", "Pending")
		w.pod("b", "Running")
		w.pod("gone", "Running")
		w.srv.Put(kube.Secrets, `{"metadata":{"namespace":"shop","name":"s"},"data":{"password":"aHVudGVyMg=="}}`)
		w.pass(time.Second)
		pending := now()
		w.pass(time.Second)
		w.pod("a", "Running")
		w.delete("gone")
		w.pass(20 * time.Second)
		ended := now()
		w.again(o, func() {
			w.pass(time.Hour)
			w.pod("b", "Failed")
		})
		p := w.open()
		var l wireWindow
		p.get(fmt.Sprintf("api/list?type=pods&at=%d", pending), &l)
		if diff := cmp.Diff([]string{"a Pending", "b Running", "gone Running"}, rowsOf(l, 2)); diff != "" || l.Approximate {
			t.Errorf("the list in the earlier run, approximate: %v (-want +got):\n%s", l.Approximate, diff)
		}
		p.get("api/list?type=pods", &l)
		if diff := cmp.Diff([]string{"a Running", "b Failed"}, rowsOf(l, 2)); diff != "" || l.State != stateLive {
			t.Errorf("now, %s (-want +got):\n%s", l.State, diff)
		}
		if len(l.Gaps) != 1 || l.Gaps[0].Modified != 1 || l.Gaps[0].From > ended || l.Gaps[0].From < ended-20_000 || !strings.Contains(l.Gaps[0].Reason, "did not run") {
			t.Errorf("gaps: %+v, it ended at %d", l.Gaps, ended)
		}
		var got struct{ States []describe.State }
		p.get("api/history?type=pods&ns=shop&name=a", &got)
		var lines []string
		for _, s := range got.States {
			lines = append(lines, s.Headline)
		}
		if diff := cmp.Diff([]string{"Gap", "Running", "Created"}, lines); diff != "" {
			t.Errorf("states of a (-want +got):\n%s", diff)
		}
		p.get("api/history?type=pods&ns=shop&name=gone", &got)
		if len(got.States) == 0 || got.States[len(got.States)-1].Headline != "Created" {
			t.Errorf("states of an object that is gone: %+v", got.States)
		}
	})
	for e, err := range archive.Read(o.History) {
		if err != nil {
			t.Error(err)
		} else if e.Resource.Plural == "secrets" {
			t.Errorf("%+v", e)
		}
	}
}

// TestHistoryOfSeveralRuns: states of all of them, in the order of time, and
// the gaps between them.
func TestHistoryOfSeveralRuns(t *testing.T) {
	o := Options{History: t.TempDir(), Limits: Limits{Disk: 1 << 20}}
	inWorld(t, o, func(w *world) {
		var want []string
		for run := range 4 {
			for n := range 40 {
				phase := fmt.Sprint("Phase", run*100+n)
				w.pod("a", phase)
				want = append(want, phase)
				w.pass(time.Second)
			}
			w.again(o, func() { w.pass(time.Minute) })
			w.pass(time.Second)
		}
		p := w.open()
		var got struct{ States []describe.State }
		p.get("api/history?type=pods&ns=shop&name=a", &got)
		var phases []string
		for _, s := range got.States {
			if s.Op != "GAP" {
				phases = append([]string{s.Headline}, phases...)
			}
		}
		want[0] = "Created"
		if diff := cmp.Diff(want, phases); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		var c struct{ Changes []struct{ At int64 } }
		p.get("api/changes?limit=500", &c)
		for i := 1; i < len(c.Changes); i++ {
			if c.Changes[i].At > c.Changes[i-1].At {
				t.Fatalf("change %d is later than the one that is newer", i)
			}
		}
		if len(c.Changes) < 160 {
			t.Errorf("%d changes", len(c.Changes))
		}
		var l wireWindow
		p.get("api/list?type=pods", &l)
		if len(l.Gaps) != 4 {
			t.Errorf("%d gaps, want 4: %+v", len(l.Gaps), l.Gaps)
		}
		for _, g := range l.Gaps {
			if d := g.To - g.From; d < 60_000 || d > 80_000 {
				t.Errorf("a gap of %d ms between runs that were a minute apart", d)
			}
		}
	})
}

// TestHistoryThatCannotBeWritten: the page goes on and says why; once it can be written
// again, it is, with all objects.
func TestHistoryThatCannotBeWritten(t *testing.T) {
	var reports []string
	o := Options{History: t.TempDir(), Limits: Limits{Disk: 1}, HistoryFailed: func(err error) { reports = append(reports, fmt.Sprint(err)) }}
	inWorld(t, o, func(w *world) {
		w.pod("a", "Running")
		w.pass(time.Second)
		var st wireState
		w.open().get("api/state", &st)
		if !strings.Contains(strings.Join(st.Warnings, "\n"), "not written to the disk: the objects that exist do not fit") {
			t.Errorf("warnings: %q", st.Warnings)
		}
	})
	if diff := cmp.Diff([]string{"the objects that exist do not fit"}, reports, cmp.Comparer(func(a, b string) bool { return strings.Contains(a, b) || strings.Contains(b, a) })); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
	if _, err := New(Options{History: o.History, Recording: func(func(Recorded, error) bool) {}}); err == nil {
		t.Error("a recording with a history is accepted")
	}
}

// TestDamagedHistory: the page says which file is, and has what others have.
func TestDamagedHistory(t *testing.T) {
	o := Options{History: t.TempDir()}
	inWorld(t, o, func(w *world) {
		w.pod("a", "Running")
		w.pass(time.Second)
		w.again(o, func() {
			entries, err := os.ReadDir(o.History)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if path := filepath.Join(o.History, e.Name()); strings.HasSuffix(path, ".segment") {
					if err := os.WriteFile(path, []byte("no segment"), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
		p := w.open()
		var st wireState
		p.get("api/state", &st)
		if !strings.Contains(strings.Join(st.Warnings, "\n"), "is damaged at byte 0") {
			t.Errorf("warnings: %q", st.Warnings)
		}
		var l wireWindow
		p.get("api/list?type=pods", &l)
		if diff := cmp.Diff([]string{"a Running"}, rowsOf(l, 2)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestAnEarlierRunIsNotLive: while the history is read, what it has is not said to be live.
func TestAnEarlierRunIsNotLive(t *testing.T) {
	o := Options{History: filepath.Join(t.TempDir(), "history")}
	inWorld(t, o, func(w *world) {
		w.pod("a", "Pending")
		w.pass(20 * time.Second)
		w.cancel()
		w.wg.Wait()
		o.Client = w.client
		u, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range u.dir.Entries() {
			if err != nil {
				t.Fatal(err)
			}
			k := u.recordedKind(e.Resource)
			if k.restore(e); k.state == stateLive {
				t.Errorf("%s is live after %+v", k.id, e)
			}
		}
	})
}
