// Package cloudevents is the sink that posts records to an HTTP server, as batches of
// CloudEvents 1.0 in JSON. It sends each record at least once: a record that is sent again has
// the same id, by which a receiver can drop it.
//
//	db, err := sqlite.Open(ctx, "positions.db", sqlite.Options{})
//	...
//	s, err := cloudevents.New("https://events.example.com/", db, cloudevents.Options{})
//
// The position and the table cannot be read from an HTTP server. Therefore another sink, the
// companion, stores both, and fences. A commit is first one to the companion; then the records
// are posted from its history, and a mark says up to where. What a process has committed and not
// posted, because it ended, the next one posts at the start, in the order of the commits within
// a resource and shard. A process that freezes within a request may send that one after another
// process has taken over, also what was given up since; docs/sinks.md says what a receiver that
// keeps a table does about it.
//
// After a response of 429 or 5xx, or none, the request is retried, not before Retry-After,
// until the time for the commit has passed. After 413 the batch is divided, and a single event
// that is too large is sent without its data.
package cloudevents
