// Package replay records list and watch traffic in a file, and plays it again:
// to a client as a server, to a loop as events, or into a fake API server.
//
// There are two levels, and a file may hold both. At the wire, [Writer.Transport]
// and [Writer.Proxy] keep requests and answers with the exact boundaries of what
// was read and how each body ended; [Script] answers the same requests with
// them. Above it, [Record] keeps what a loop over watch events received; a [Source]
// delivers it again, and a [State] rebuilds the objects on an apitest server.
//
//	w, err := replay.Create("pods.lwrec.ndjson.gz", replay.Header{}, replay.Options{})
//	for ev, err := range replay.Record(w.Stream(replay.Target{Resource: kube.Pods}), watcher.Events(ctx)) {
//		...
//	}
//	err = w.Close()
//
// Secrets never reach the file: what is redacted is replaced while it is recorded,
// by as many bytes, so that sizes and boundaries stay true. The format is one
// JSON object a line, described in FORMAT.md; a file that was cut, by kill -9 or
// a full disk, plays as far as it goes.
//
// Replays wait in package time only, hence virtually in testing/synctest.
package replay
