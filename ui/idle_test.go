package ui

import (
	"fmt"
	"testing"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// TestATypeIsWatchedWhileSomebodyLooks: some minutes after the last one left its watch
// ends, and the next one goes on where it ended, without a gap.
func TestATypeIsWatchedWhileSomebodyLooks(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		put := func(value string) {
			w.srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"a"},"data":{"k":%q}}`, value))
		}
		put("1")
		p := w.open()
		state := func() wireType {
			var types struct{ Types []wireType }
			p.get("api/types", &types)
			for _, k := range types.Types {
				if k.Type == "configmaps" {
					return k
				}
			}
			t.Fatal("no configmaps")
			return wireType{}
		}
		var l wireWindow
		p.get("api/list?type=configmaps", &l)
		w.pass(time.Second)
		if got := state(); got.State != stateLive || got.Count != 1 {
			t.Errorf("while somebody looks: %+v", got)
		}
		w.pass(idleAfter + time.Minute)
		if got := state(); got.State != stateIdle || got.Count != 1 {
			t.Errorf("when nobody does: %+v", got)
		}
		put("2")
		p.get("api/list?type=configmaps", &l)
		w.pass(time.Second)
		if got := state(); got.State != stateLive || got.Modified != 1 || got.Gaps != 0 {
			t.Errorf("when somebody looks again: %+v", got)
		}
	})
}
