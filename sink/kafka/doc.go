// Package kafka is the sink for Apache Kafka and what speaks its protocol, with
// transactions.
//
//	s, err := kafka.Open(ctx, kafka.Options{}, kgo.SeedBrokers("127.0.0.1:9092"))
//
// There are three topics. Consumers read them with isolation.level=read_committed.
//
//	listwatch.history    every record; the key is the UID
//	listwatch.table      compacted: the last state of each object; the key is
//	                     CLUSTER/GROUP/RESOURCE/SHARD/NAMESPACE/NAME/UID, a deleted object
//	                     is a tombstone
//	listwatch.positions  compacted: position/CLUSTER/GROUP/RESOURCE/SHARD, how far a scope
//	                     is complete; and gap/CLUSTER/GROUP/RESOURCE/SHARD/ID, the GAP
//	                     records, which outlive the retention of the history
//
// A value is a sink.Record in JSON. The parts of keys are escaped as in the path of a URL.
// The UID is part of the table's key, so that the late deletion of an object spares its
// namesake.
//
// A commit is one transaction over the three topics. Each scope has its own
// transactional.id, PREFIX/CLUSTER/GROUP/RESOURCE/SHARD, which fences: whoever opens the
// scope takes over the id, which ends the transactions of the former possessor. Two
// processes that open two shards of a new resource at once, and disagree about the number
// of shards, are not refused.
//
// Where the broker answers to the end of a transaction that the producer is fenced, the
// client may have sent this end twice, and the first one may have succeeded: that is the one
// case in which sink.ErrFenced does not say that nothing was written.
//
// The order of the records of one object is that of the partition. Where the history has
// several partitions, the headers sequence and index order the records of one shard.
package kafka
