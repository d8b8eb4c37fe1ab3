// Package jetstream is the sink for NATS JetStream, server 2.12 or later.
//
//	js, err := jetstream.New(nc) // of github.com/nats-io/nats.go/jetstream
//	...
//	s, err := jetstream.Open(ctx, js, jetstream.Options{})
//
// One stream, "listwatch" by default, has the history and the positions:
//
//	listwatch.objects.CLUSTER.GROUP.RESOURCE.SHARD.NAMESPACE.NAME.UID
//	listwatch.latest.CLUSTER.GROUP.RESOURCE.SHARD.NAMESPACE.NAME.UID
//	listwatch.gaps.CLUSTER.GROUP.RESOURCE.SHARD
//	listwatch.positions.CLUSTER.GROUP.RESOURCE.SHARD
//
// A message is a sink.Record in JSON. Of "latest", which is used in sink.ModeTable, the
// stream keeps the last message of an object only. In the parts of a subject bytes
// outside [A-Za-z0-9_-] are escaped as =XX, "-" is empty: the core group, or an object
// without a namespace. [Subject] writes such subjects for consumers.
//
// A commit is one atomic batch, whose last message is the position, with the sequence of
// the position before as Nats-Expected-Last-Subject-Sequence: that is the fence.
//
// The table is a key-value bucket, also "listwatch" by default, which sources the stream:
//
//	objects.CLUSTER.GROUP.RESOURCE.SHARD.NAMESPACE.NAME.UID
//	positions.CLUSTER.GROUP.RESOURCE.SHARD
//
// The UID is part of the key, so that the late deletion of an object spares its namesake.
// A deleted object has the operation DEL, which vanishes after Options.Retention. The
// bucket lags behind the stream, in the stream's order: it holds all that its own
// positions cover. [Sink] waits for that where it reads the table. Nobody can write to
// the bucket but through the stream.
//
// Read stream and bucket through consumers: a plain subscription to the subjects also gets
// the messages of batches that are not committed in the end.
//
// A commit is as durable as the server makes it: with one replica, the server writes to
// the disk every two minutes unless sync_interval is "always"; with three replicas, a
// commit is on two of them.
package jetstream
