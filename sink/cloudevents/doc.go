// Package cloudevents is the sink that posts records to an HTTP server, as batches of
// CloudEvents 1.0 in JSON. It sends each record at least once: a record that is sent again has
// the same id, by which a receiver can drop it.
//
//	db, err := sqlite.Open(ctx, "positions.db", sqlite.Options{})
//	...
//	s, err := cloudevents.New("https://events.example.com/", db, cloudevents.Options{})
//
// An HTTP server has no position and no table that could be asked for, so that another sink,
// the companion, keeps both: it commits what the server has acknowledged, and fences. A
// process that freezes between the two may send a batch that another has sent, too.
//
// A response of 429, 5xx, or none is followed by another attempt, not before Retry-After,
// until the time for the commit is over. After 413 a batch is divided, and an event that is
// too large alone is sent without its data.
package cloudevents
