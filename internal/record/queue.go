package record

// What waits between the streams and stdout is bounded in bytes: by RecordBuffer records
// of less than LargeRecord, one larger record of each stream, and a batch of BatchHeld.
const (
	RecordBuffer = 64        // records that may wait for the printer
	LargeRecord  = 128 << 10 // bytes; the stream of a record as large waits until it is taken
	BatchHeld    = 4 << 20   // bytes of the objects of a batch, which are kept until it is written
	MaxItem      = 4 << 20   // bytes of an object; etcd refuses 1.5 MiB by default
)

// Size is how many bytes of objects r holds.
func (r *Record) Size() int {
	return r.Object.MemorySize() + r.Complete.MemorySize() + r.Old.MemorySize()
}

// Enqueue sends r. Where r is large it returns when r was taken.
func Enqueue(records chan<- Record, r Record) {
	if r.Size() < LargeRecord {
		records <- r
		return
	}
	taken := make(chan struct{})
	r.taken = taken
	records <- r
	<-taken
}

// Arrived says that r is out of the queue.
func (r *Record) Arrived() {
	if r.taken != nil {
		close(r.taken)
		r.taken = nil
	}
}
