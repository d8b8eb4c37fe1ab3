package cache_test

import (
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/kube"
)

// TestJournalNotesWhatComesToBeSelected: objects that a snapshot has came to be selected
// after it, the process was killed, they went or ceased to be selected, and history with
// them. Each handler gets the end of what it was called with.
func TestJournalNotesWhatComesToBeSelected(t *testing.T) {
	dir := t.TempDir()
	inWorld(t, func(t *testing.T, w *world) {
		// One handler is for "on", one for "off", and one for all.
		life := func(dir string) (on, off, all *view, stop func()) {
			on, off, all = newView(t), newView(t), newView(t)
			i := cache.New(w.maps, options{
				Snapshot: cache.Snapshot{Path: filepath.Join(dir, "maps"), Cluster: "c1", Every: time.Hour},
				OnError:  func(err error) { t.Error(err) },
			})
			of := func(v string) func(kube.Partial) bool {
				return func(o kube.Partial) bool { return o.Labels["v"] == v }
			}
			i.HandleSelected(of("on"), on.take)
			i.HandleSelected(of("off"), off.take)
			i.Handle(all.take)
			stop = w.start(i)
			synctest.Wait()
			return on, off, all, stop
		}
		w.put("a", "deleted", "off")
		w.put("a", "left", "off")
		w.put("a", "passed", "else")
		_, _, _, stop := life(dir)
		stop()
		on, off, _, stop := life(dir)
		w.put("a", "deleted", "on")
		w.put("a", "left", "on")
		for _, v := range []string{"on", "off", "else"} {
			w.put("a", "passed", v)
		}
		synctest.Wait()
		on.delivered("ADDED a/deleted", "ADDED a/left", "ADDED a/passed", "DELETED a/passed")
		off.log = off.log[2:]
		off.delivered("DELETED a/deleted", "DELETED a/left", "ADDED a/passed", "DELETED a/passed")
		left := crashed(t, dir)
		stop()
		w.delete("a", "deleted")
		w.put("a", "left", "else")
		w.srv.Expire()

		on, off, all, stop := life(left)
		w.pass(time.Minute)
		for _, v := range []*view{on, off} {
			v.is(nil)
			slices.Sort(v.log)
		}
		on.delivered("ADDED a/deleted initial", "ADDED a/left initial", "ADDED a/passed initial",
			"DELETED a/deleted inferred", "DELETED a/left inferred", "DELETED a/passed")
		off.delivered("ADDED a/deleted initial", "ADDED a/left initial", "ADDED a/passed initial",
			"DELETED a/deleted", "DELETED a/left", "DELETED a/passed inferred")
		all.is(w.truth())
		stop()
	})
}
