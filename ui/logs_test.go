package ui

import (
	"testing"
	"time"

	"github.com/listwatch/listwatch/kube"
)

// TestALogIsFollowedBeforeItsFirstLine: a kubelet sends no headers before that line.
func TestALogIsFollowedBeforeItsFirstLine(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		pod := kube.Key{Namespace: "shop", Name: "a"}
		w.pod("a", "Running")
		w.srv.WriteLog(pod, "app", "before\n")
		w.pass(time.Second)
		p := w.open()
		defer time.AfterFunc(time.Hour, func() {
			w.srv.WriteLog(pod, "app", "late\n")
			w.srv.EndLog(pod, "app")
		}).Stop()
		if rec := p.do("GET", "api/logs?ns=shop&name=a&follow=1&tail=0", ""); rec.Code != 200 || rec.Body.String() != "late\n" {
			t.Errorf("%d %q", rec.Code, rec.Body)
		}
	})
}
