// Package watch follows a collection for ever: it lists, watches, resumes and
// lists again, and hands every change to a plain for-range loop.
//
//	w := watch.New(client.Of[Pod](c, kube.Pods), watch.Options{})
//	for ev, err := range w.Events(ctx) {
//		if err != nil {
//			log.Print(err) // a report: the watcher continues, unless the loop ends
//			continue
//		}
//		store.Apply(ev)
//	}
//
// What the loop sees: RESTART, ADDED for each object that exists, SYNCED, and
// from then on ADDED, MODIFIED and DELETED as they happen. A broken connection
// is resumed where it broke, without a second listing. Only when the server no
// longer has the history (410) is there another RESTART ... SYNCED, between
// which every object is delivered again: what is not has been deleted.
//
// Whatever a server answers, the requests have a limited rate, about one a second
// after a burst of thirty, pages of a list aside that bring objects, also where the
// loop is left and begun again; every pause is reported.
//
// The protocol is in machine.go, pure: a state, the outcome of one request, the
// next state. watcher.go does what the machine says, in the goroutine of the
// caller; no other is started. A slow loop slows the reading, which is TCP's
// business and then the server's.
//
// [Once] is a single WATCH request, for whoever wants to drive it otherwise.
package watch
