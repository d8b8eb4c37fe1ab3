// Package sink writes a Kubernetes collection into another system: a table of the current objects
// and a history of their changes. In one epoch (see [Position]) no change is recorded twice (HTTP
// may send it twice, with one id). Every deletion of a recorded object is found, also after
// restarts, failover and loss of history (410), except after an undetected restore: see below.
//
//	db, err := sqlite.Open(ctx, "cluster.db", sqlite.Options{})
//	...
//	r, err := sink.NewRunner(sink.Options{
//		Client: c,
//		Sink:   db,
//		Scope:  sink.Scope{Cluster: id, Resource: kube.Pods},
//	})
//	...
//	err = r.Run(ctx)
//
// A [Sink] commits records together with the position that follows them. There is no other state: a
// process that starts reads the position from the sink and continues there. After a 410 the
// [Runner] lists the collection, compares the list with the table of the sink ([Known]), and
// commits the differences, deletions included. Changes in between that no list shows are lost; a
// record of type GAP names the range of revisions.
//
// Each Open increases the generation of the position in the sink, and a Commit with an older
// generation fails with [ErrFenced]. So a former leader cannot write, even if it was frozen and
// continues later.
//
// The Runner detects that the server was restored from a backup if the server's revision is behind
// the position, or if objects are older than in the table. It cannot detect a restored server that
// passes the position before the next check ([watch.Options.Idle]). Therefore restore etcd with
// --bump-revision and --mark-compacted, as its manual recommends: that causes a 410.
//
// Package sinktest is a test suite for sinks. The sinks are in packages sqlite, postgres,
// jetstream, kafka, file and cloudevents. The program is cmd/listwatch-sink.
package sink
