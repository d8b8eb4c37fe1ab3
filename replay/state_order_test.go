package replay_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
)

// TestStateKeepsRevisionsOfStreams: the first lists of two streams, and their events,
// are recorded as they arrive, which is not the order of their revisions. What arrives much
// later, or from a server that was restored, does not move.
func TestStateKeepsRevisionsOfStreams(t *testing.T) {
	text := `{"t":"header","format":"lwrec","version":1}
{"t":"stream","at":0,"id":1,"target":{"version":"v1","plural":"configmaps","kind":"ConfigMap","namespaced":true}}
{"t":"stream","at":0,"id":2,"target":{"version":"v1","plural":"secrets","kind":"Secret","namespaced":true}}
`
	ev := func(at time.Duration, stream int, typ, name, rev string) {
		object := ""
		if name != "" {
			object = fmt.Sprintf(`,"object":{"metadata":{"namespace":"a","name":%q,"uid":%[1]q,"resourceVersion":%q}}`, name, rev)
		}
		text += fmt.Sprintf(`{"t":"ev","at":%d,"id":%d,"type":%q,"rv":%q%s}`+"\n", at, stream, typ, rev, object)
	}
	ev(0, 1, "RESTART", "", "")
	ev(0, 1, "ADDED", "c1", "1002")
	ev(0, 1, "ADDED", "c2", "1004")
	ev(0, 1, "SYNCED", "", "1004")
	ev(time.Second, 2, "RESTART", "", "")
	ev(time.Second, 2, "ADDED", "s1", "1001")
	ev(time.Second, 2, "ADDED", "s2", "1003")
	ev(time.Second, 2, "SYNCED", "", "1004")
	ev(time.Minute, 1, "MODIFIED", "c1", "1006")
	ev(time.Minute+1, 2, "DELETED", "s1", "1005")
	ev(2*time.Minute, 1, "MODIFIED", "c1", "1008")
	ev(3*time.Minute, 2, "MODIFIED", "s2", "1007") // late
	ev(4*time.Minute, 1, "DELETED", "c1", "500")   // restored

	synctest.Test(t, func(t *testing.T) {
		srv := apitest.NewInMemory(t)
		s, err := replay.NewState(t.Context(), load(t, []byte(text)), srv)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if err := s.Play(t.Context(), replay.Pace{}); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); d < 4*time.Minute-time.Second || d > 4*time.Minute {
			t.Errorf("it took %v", d)
		}
		got := map[string]string{}
		for _, rev := range []string{"1001", "1002", "1003", "1004", "1005", "1006", "1008", "1007", "500"} {
			r, _ := s.Revision(kube.Revision(rev))
			got[rev] = string(r)
		}
		want := map[string]string{"1001": "1001", "1002": "1002", "1003": "1003", "1004": "1004", "1005": "1005",
			"1006": "1006", "1008": "1008", "1007": "1009", "500": "1010"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("revisions (-recorded +served)\n%s", d)
		}
	})
}
