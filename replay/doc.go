// Package replay records list and watch traffic in a file, and plays it back: to a
// client as a server, to a loop as events, or into a fake API server.
//
// There are two levels, and a file may contain both. At the wire level, [Writer.Transport]
// and [Writer.Proxy] record requests and responses with the exact boundaries of each read
// and the end of each body; [Script] sends them in response to the same requests. At the
// event level, [Record] records the events of a watch that a loop receives; a [Source]
// delivers them again, a [State] applies them to an apitest server, and [Reader.At] returns
// the objects that existed at a time.
//
//	w, err := replay.Create("pods.lwrec.ndjson.gz", replay.Header{}, replay.Options{})
//	for ev, err := range replay.Record(w.Stream(replay.Target{Resource: kube.Pods}), watcher.Events(ctx)) {
//		...
//	}
//	err = w.Close()
//
// By default the Writer replaces the data of Secrets and the values of environment variables
// by as many other bytes, so that sizes and boundaries are unchanged; see [Options]. The
// format is one JSON object per line, described in FORMAT.md; a file that was truncated, by
// kill -9 or a full disk, plays up to that point.
//
// Replays wait only by package time: in testing/synctest they take no real time.
package replay
