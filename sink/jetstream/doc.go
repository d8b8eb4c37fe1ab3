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
// A message is a sink.Record in JSON. Subjects with "latest" are for sink.ModeTable and
// Reshard: the stream keeps only the last message of each. In the parts of a subject, bytes
// outside [A-Za-z0-9_-] are escaped as =XX, and "-" means empty: the core group, or an object
// without a namespace. [Subject] returns such subjects for consumers.
//
// A commit is one atomic batch. Its last message is the position, with the sequence of the
// previous position as Nats-Expected-Last-Subject-Sequence: that is the fence.
//
// The table is a key-value bucket, also "listwatch" by default, which sources the stream:
//
//	objects.CLUSTER.GROUP.RESOURCE.SHARD.NAMESPACE.NAME.UID
//	positions.CLUSTER.GROUP.RESOURCE.SHARD
//
// The UID is part of the key, so that a late deletion of an object does not remove a new
// object with the same name. A deleted object has the operation DEL, which is removed after
// Options.Retention. The previous key of an object or a position that was moved to another
// shard has it too, without data. The bucket follows the stream with a delay and in the same
// order: it has all records up to its own positions. [Sink] waits for them when it reads the
// table. Only the stream can write to the bucket.
//
// Read the stream and the bucket by consumers: a plain subscription to the subjects also gets
// the messages of batches that are never committed.
//
// A commit is as durable as the server makes it: with one replica, the server writes to
// the disk every two minutes unless sync_interval is "always"; with three replicas, a
// commit is on two of them.
package jetstream
