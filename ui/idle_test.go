package ui

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/describe"
	"github.com/listwatch/listwatch/ui/internal/gaps"
)

// accounts are of a type that is not watched always.
var accounts = kube.Resource{Version: "v1", Plural: "serviceaccounts", Kind: "ServiceAccount"}

// TestATypeIsWatchedWhileSomebodyLooks: some minutes after the last one left its watch
// ends, and the next one goes on where it ended: no change is missed, and that it is not
// known when they happened is a gap.
func TestATypeIsWatchedWhileSomebodyLooks(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		put := func(value string) {
			w.srv.Put(accounts, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"a","labels":{"k":%q}}}`, value))
		}
		put("1")
		p := w.open()
		state := func() wireType {
			var types struct{ Types []wireType }
			p.get("api/types", &types)
			for _, k := range types.Types {
				if k.Type == "serviceaccounts" {
					return k
				}
			}
			t.Fatal("no serviceaccounts")
			return wireType{}
		}
		var l wireWindow
		p.get("api/list?type=serviceaccounts", &l)
		w.pass(time.Second)
		first := state()
		if first.State != stateLive || first.Count != 1 {
			t.Errorf("while somebody looks: %+v", first)
		}
		watched := now()
		w.pass(idleAfter + time.Minute)
		if got := state(); got.State != stateIdle || got.Count != 1 {
			t.Errorf("when nobody does: %+v", got)
		}
		put("2")
		p.get("api/list?type=serviceaccounts", &l)
		w.pass(time.Second)
		if got := state(); got.State != stateLive || got.Modified != 1 || got.Gaps != 1 || got.Relists != 0 || got.Since != first.Since {
			t.Errorf("when somebody looks again: %+v", got)
		}
		if p.get(fmt.Sprintf("api/list?type=serviceaccounts&at=%d", watched), &l); l.Approximate || l.Total != 1 {
			t.Errorf("when somebody looked first: %+v", l)
		}
		// Related has searched it as of then, and not as of when nobody looked.
		w.pass(idleAfter + time.Minute)
		for at, want := range map[int64]bool{watched: true, now(): false} {
			var tree struct{ Searched, Unsearched []string }
			p.get(fmt.Sprintf("api/tree?type=serviceaccounts&ns=shop&name=a&at=%d", at), &tree)
			if slices.Contains(tree.Searched, "serviceaccounts") != want || slices.Contains(tree.Unsearched, "serviceaccounts") == want {
				t.Errorf("Related at %d: searched %q, not %q", at, tree.Searched, tree.Unsearched)
			}
		}
	})
}

// TestAGapThatLasts: a moment of a type that is not watched any more is in a gap, wherever the
// moment is shown; and still when the type is watched again.
func TestAGapThatLasts(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.srv.Put(accounts, `{"metadata":{"namespace":"shop","name":"a","labels":{"k":"1"}}}`)
		p := w.open()
		p.get("api/list?type=serviceaccounts", new(wireWindow))
		w.pass(idleAfter + 5*time.Minute)
		moment := now() - time.Minute.Milliseconds()
		look := func(lasts bool) {
			t.Helper()
			var activity, changes struct{ Gaps gaps.List }
			p.get("api/activity", &activity)
			p.get(fmt.Sprintf("api/changes?at=%d", moment), &changes)
			var past struct{ States []describe.State }
			p.get("api/history?type=serviceaccounts&ns=shop&name=a", &past)
			for what, list := range map[string]gaps.List{"activity": activity.Gaps, "changes": changes.Gaps} {
				if len(list) != 1 || !list[0].Has(moment) || (list[0].To == 0) != lasts {
					t.Errorf("%s: %+v", what, list)
				}
			}
			if g := past.States[0]; g.Op != "GAP" || g.From > moment || (g.To == 0) != lasts {
				t.Errorf("history: %+v", g)
			}
			var list wireWindow // somebody looks, so that the type is watched again
			p.get(fmt.Sprintf("api/list?type=serviceaccounts&at=%d", moment), &list)
			if g := list.Gaps; len(g) != 1 || !g[0].Has(moment) {
				t.Errorf("list: %+v", g)
			}
		}
		look(true)
		w.pass(time.Second)
		look(false)
	})
}

// TestATypeIsWatchedWhileAnObjectIsOpen, although no list shows it.
func TestATypeIsWatchedWhileAnObjectIsOpen(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		w.srv.Put(accounts, `{"metadata":{"namespace":"shop","name":"a","labels":{"k":"1"}}}`)
		p := w.open()
		tap := p.stream("client-1", "")
		p.post("api/subscribe", `{"client":"client-1","objects":[{"id":"o","type":"serviceaccounts","ns":"shop","name":"a"}]}`)
		tap.read(3 * idleAfter)
		w.srv.Put(accounts, `{"metadata":{"namespace":"shop","name":"a","labels":{"k":"2"}}}`)
		w.pass(time.Second)
		var o wireObject
		if p.get("api/object?type=serviceaccounts&ns=shop&name=a", &o); !strings.Contains(o.YAML, `k: "2"`) {
			t.Errorf("%s", o.YAML)
		}
	})
}

// TestSettingsLeaveMemoryToOthers: they are watched always while half of the memory is free, and
// then while somebody looks.
func TestSettingsLeaveMemoryToOthers(t *testing.T) {
	inWorld(t, Options{Limits: Limits{Objects: 1 << 20}}, func(w *world) {
		w.pod("a", "Running")
		state := func(id string) string {
			k := w.ui.kind(id)
			k.mu.Lock()
			defer k.mu.Unlock()
			return k.state
		}
		if got := state("configmaps"); got != stateLive {
			t.Errorf("at first: %s", got)
		}
		noise := rand.New(rand.NewPCG(1, 2))
		for n := range 20 {
			w.srv.Put(kube.ConfigMaps, fmt.Sprintf(`{"metadata":{"namespace":"shop","name":"c-%d"},"data":{"k":%q}}`, n, dense(noise, 40<<10)))
		}
		w.pass(time.Second)
		if got := state("configmaps"); got != stateBudget {
			t.Errorf("with three quarters of the memory: %s", got)
		}
		if got := state("pods"); got != stateLive {
			t.Errorf("pods: %s", got)
		}
		p := w.open()
		p.post("api/subscribe", `{"client":"client-1","windows":[{"id":"w","type":"configmaps"}]}`)
		p.stream("client-1", "").read(5 * time.Second)
		if got := state("configmaps"); got != stateLive {
			t.Errorf("when somebody looks: %s", got)
		}
	})
}

// dense is a text that cannot be compressed.
func dense(r *rand.Rand, size int) string {
	b := make([]byte, size/2)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return hex.EncodeToString(b)
}
