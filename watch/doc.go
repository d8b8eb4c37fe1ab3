// Package watch follows a collection continuously: it lists, watches, resumes and lists
// again, and delivers every change to a plain for-range loop.
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
// The loop receives RESTART, ADDED for each existing object, SYNCED, and from then on
// ADDED, MODIFIED and DELETED as they happen. A watch whose connection breaks is
// resumed from its last revision, without another list. Only if the server no longer
// has that history (410) does another RESTART ... SYNCED follow, with every object in
// between: objects that are missing have been deleted.
//
// Whatever a server responds, requests are limited to about one a second after a burst
// of thirty. Pages of a list that contain objects are exempt. The limit also holds if
// the loop is left and begun again, and every pause is reported.
//
// The protocol is in machine.go, without I/O: a state and the outcome of one request
// give the next state. watcher.go sends the requests in the goroutine of the caller and
// starts no other. A slow loop slows the reading of the connection, and thereby the
// server.
//
// [Once] is a single WATCH request, for programs that implement their own loop.
package watch
