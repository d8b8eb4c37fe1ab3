package main

// What waits between the streams and stdout is bounded in bytes: by recordBuffer records
// of less than largeRecord, one larger record of each stream, and a batch of batchHeld.
const (
	recordBuffer = 64        // records that may wait for the printer
	largeRecord  = 128 << 10 // bytes; the stream of a record as large waits until it is taken
	batchHeld    = 4 << 20   // bytes of the objects of a batch, which are kept until it is written
	maxItem      = 4 << 20   // bytes of an object; etcd refuses 1.5 MiB by default
)

// size is how many bytes of objects r holds.
func (r *record) size() int {
	return r.object.MemorySize() + r.complete.MemorySize() + r.old.MemorySize()
}

// enqueue sends r. Where r is large it returns when r was taken.
func enqueue(records chan<- record, r record) {
	if r.size() < largeRecord {
		records <- r
		return
	}
	taken := make(chan struct{})
	r.taken = taken
	records <- r
	<-taken
}

// arrived says that r is out of the queue.
func (r *record) arrived() {
	if r.taken != nil {
		close(r.taken)
		r.taken = nil
	}
}
