// Package kafka is the sink for Apache Kafka, and other brokers with its protocol and
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
//	listwatch.positions  compacted: position/CLUSTER/GROUP/RESOURCE/SHARD, the position of a
//	                     scope; and gap/CLUSTER/GROUP/RESOURCE/SHARD/ID, the GAP records,
//	                     which are kept beyond the retention of the history
//
// A value is a sink.Record in JSON. The parts of keys are escaped as in the path of a URL.
// The UID is part of the table's key, so that a late deletion of an object does not remove a
// new object with the same name.
//
// A commit is one transaction over the three topics. Each scope has its own
// transactional.id, PREFIX/CLUSTER/GROUP/RESOURCE/SHARD, which fences: a process that opens the
// scope takes over the id, which ends the transactions of the previous owner. If two processes
// open two shards of a new resource at the same time with different numbers of shards, neither
// is refused.
//
// If the broker responds to the end of a transaction that the producer is fenced, the client
// may have sent the end twice, and the first one may have succeeded. This is the only case in
// which something may have been written despite sink.ErrFenced.
//
// The records of one object are in the order of their partition. If the history has several
// partitions, the headers sequence and index order the records of one shard.
package kafka
