// Package sink writes a Kubernetes collection into another system as a table of what
// exists and a log of what changed: every change once, deletions exact, across
// restarts, failover and the loss of the server's history (410).
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
// A [Sink] commits records and the position they lead to in one step. There is no
// other state: a process that starts anywhere asks the sink for its position and goes
// on from there. After a 410 the Runner lists the collection, compares it with what the
// sink's own table holds ([Known]), and commits the differences, deletions included;
// what happened and vanished in between nobody can know, and a record of type GAP says
// from which revision to which.
//
// Each Open raises the generation of the position in the sink, and a Commit of an older
// generation fails with [ErrFenced]: a leader that was deposed, or froze and woke up,
// cannot write.
//
// A server that was restored from a backup is noticed by its revision, which is behind the
// position, or by objects that are older than in the table. One that has passed the
// position before it is asked looks as if nothing had happened: restore etcd with
// --bump-revision and --mark-compacted, as its manual advises, which shows as a 410.
//
// Package sinktest is the suite that every sink passes. Package sqlite is the sink that
// needs no server, packages jetstream and kafka are those for NATS and Kafka. The program
// is cmd/listwatch-sink.
package sink
