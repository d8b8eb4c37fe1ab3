package probe

// Result is what one run of one client measured.
type Result struct {
	Client    string // which
	Kind      string // plural of what it watched
	Initial   string // Stream or Paged
	Objects   int
	Events    int
	Rate      int // events a second; 0 = as fast as they are taken
	Handlers  int
	Informers int

	Sync Phase // from the start until the handler has seen every object
	Run  Phase // from the go until the handler has seen the last event

	HeapBase  uint64 // bytes of live heap before the start
	HeapSync  uint64 // live heap after Sync, beyond HeapBase
	Heap      uint64 // live heap after Run, beyond HeapBase
	HeapInuse uint64 // bytes of heap spans in use after Run

	PeakBase uint64 // peak resident set (VmHWM) before the start
	PeakSync uint64 // at the end of Sync
	Peak     uint64 // at the end of Run

	PeakServer uint64 // the server's

	Stored int // objects in the client's store at the end
	Calls  int // of all handlers, events only

	Lists   int // LIST requests, a page each
	Watches int // WATCH requests

	Latency *Latency `json:",omitempty"`
}

// Phase is a part of a run.
type Phase struct {
	Wall, User, System float64 // seconds
	Mallocs, Bytes     uint64  // allocated
	GCs                uint32
	Faults             int64 // pages that the kernel had to find: memory that is touched first
}

// CPU is the processor time, in seconds.
func (p Phase) CPU() float64 { return p.User + p.System }

// Latency is the time from the server's write to the handler's call, in
// microseconds.
type Latency struct{ P50, P90, P99, Max float64 }

// Info is what the server says of itself.
type Info struct {
	Path     string // of the collection
	Objects  int
	Events   int
	Revision int64 // of the collection before any event

	Lists, Watches int    // requests since the reset
	Peak           uint64 // resident set of the server, in bytes
}

// Ways to learn what exists.
const (
	Stream = "stream" // WATCH with sendInitialEvents
	Paged  = "paged"  // LIST, then WATCH
)

// Transports between the server and a client.
const (
	Plain = "http"
	HTTP1 = "https" // HTTP/1.1 over TLS
	HTTP2 = "h2"    // HTTP/2 over TLS
)

// Headers with the number of bytes, for a client that does not look at them.
const (
	InitialHeader  = "Bench-Initial-Bytes"
	EventsHeader   = "Bench-Events-Bytes"
	ContinueHeader = "Bench-Continue"
)
