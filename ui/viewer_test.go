package ui

import "testing"

// TestForgettingDoesNotWait: subscriptions are forgotten under the mutex of the UI, which
// a stream takes while it holds its own. It hangs where one waits for the other.
func TestForgettingDoesNotWait(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p := w.open()
		p.post("api/subscribe", `{"client":"client-1","windows":[{"id":"w","type":"pods"}]}`)
		for _, v := range w.ui.clients {
			v.mu.Lock()
			w.ui.reap()
			if w.ui.kind("pods") == nil {
				t.Error("no pods")
			}
			v.mu.Unlock()
		}
	})
}
