// Package watch follows a collection continuously: it lists, watches, resumes and lists
// again, and delivers every change to a plain for-range loop.
//
//	w := watch.New(client.Of[Pod](c, kube.Pods), watch.Options{})
//	for ev, err := range w.Events(ctx) {
//		if err != nil {
//			log.Print(err) // a report, or the last error: then the loop ends by itself
//			continue
//		}
//		store.Apply(ev)
//	}
//
// The loop receives RESTART, ADDED for each existing object, SYNCED, and from then on
// ADDED, MODIFIED and DELETED as they happen. A watch whose connection breaks is resumed
// from its last revision, without another list. If it cannot be resumed, usually because
// the server no longer has that history (410), another RESTART ... SYNCED follows. In between each
// existing object comes as ADDED, or with an error if it cannot be decoded. A known object that
// does not come was deleted.
//
// Requests are limited to about one a second after a burst of thirty, whatever the server responds.
// If the server ends connections without an answer, a single request opens at most 50. A page of a
// list, except the last one, counts as a fraction of a request; the more objects it contains, the
// smaller the fraction. A later loop over the same watcher shares the limit of the first. Pauses
// after a request are reported: see [Watcher.Events].
//
// The protocol is a function without I/O, in machine.go: it computes the next state from a state
// and the outcome of one request. watcher.go sends the requests in the goroutine of the caller
// and starts no other. A slow loop reads the connection slowly, and so slows the server.
//
// [Once] is a single WATCH request, for programs that implement their own loop.
package watch
