package replay

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/disk"
)

// Options set how a recording is written. The zero value is the recommended setting;
// for large recordings set Gzip.
type Options struct {
	// Gzip compresses. Requests, parts of bodies and events are flushed before the recorded program
	// waits for the server; the events of a list, when it ends. So a truncated file still plays.
	Gzip bool

	// MaxBytes limits the size of a recording, uncompressed: later entries are dropped,
	// and Err returns ErrFull. 0 = 1 GiB, negative = no limit.
	MaxBytes int64

	// IncludeSecrets keeps the data of Secrets, for everyone who can read the file, and, together
	// with IncludeEnv, last-applied annotations. Tokens, and credentials of requests, are never
	// kept.
	IncludeSecrets bool

	// IncludeEnv keeps the values of environment variables of containers, which are often
	// credentials, and, together with IncludeSecrets, last-applied annotations.
	IncludeEnv bool

	// Conceal, if set, overwrites in b the credentials that the server repeats, by as many bytes.
	// b is a part of a response, or a line of the recording. If last is false, more of the response
	// follows, and Conceal returns how many bytes at the end of b may begin another credential. Use
	// [client.Client.ConcealIn]. Calls may be concurrent.
	Conceal func(b []byte, last bool) (open int)
}

const defaultMaxBytes = 1 << 30

// ErrFull means that a recording has reached Options.MaxBytes.
var ErrFull = errors.New("the recording has reached its size limit")

// ErrLost means that the path of Create no longer names the file that is written.
var ErrLost = errors.New("removed or replaced by somebody else, while in use")

var (
	errClosed    = errors.New("the recording is closed")
	errLargeLine = errors.New("an entry is larger than a recording can hold")
)

// Writer writes a recording. It is safe for concurrent use. Entries are written to the
// underlying writer as they are recorded, each in one piece; with Gzip, they are flushed as
// Options.Gzip says. So a program that is killed leaves a file that plays: a line that was cut off
// is no error.
//
// If recording fails, the recorded traffic continues: Err and Close return the first
// failure, or ErrLost.
type Writer struct {
	rules   Redaction
	conceal func(b []byte, last bool) (open int)
	max     int64
	base    time.Time
	file    *os.File // nil = the caller owns the writer
	ids     atomic.Int64

	// Used by the goroutine that has set writing.
	out io.Writer
	gz  *gzip.Writer // nil = no compression

	mu      sync.Mutex
	ready   *sync.Cond // writing ended
	writing bool       // a goroutine is writing, and will write pending too
	pending []byte
	spare   []byte
	flush   bool // flush gz after pending
	dirty   bool // gz has data that was not flushed
	size    int64
	counts  map[Kind]int
	sum     hash.Hash
	full    bool
	closed  bool
	broken  bool // a write failed: nothing may follow its partial output
	err     error
}

// NewWriter writes a header to out and returns a Writer, which the caller must Close;
// out is not closed. Of h, only Tool, Origin and Cluster are used.
func NewWriter(out io.Writer, h Header, o Options) (*Writer, error) {
	now := time.Now()
	h.Format, h.Version = formatName, formatVersion
	h.Created, h.TimeBase = now.UTC(), now.UTC()
	h.Redaction = Redaction{Secrets: !o.IncludeSecrets, Env: !o.IncludeEnv}
	h.Cluster.Server = cleanURL(h.Cluster.Server)
	if h.Tool == "" {
		h.Tool = "listwatch"
	}
	w := &Writer{rules: h.Redaction, conceal: o.Conceal, max: o.MaxBytes, base: now, out: out, counts: map[Kind]int{}, sum: sha256.New()}
	w.ready = sync.NewCond(&w.mu)
	if w.max == 0 {
		w.max = defaultMaxBytes
	}
	if o.Gzip {
		w.gz = gzip.NewWriter(out)
	}
	if w.conceal == nil {
		w.conceal = func([]byte, bool) int { return 0 }
	}
	line, err := codec.Encode(struct {
		T string `json:"t"`
		Header
	}{"header", h})
	if err != nil {
		return nil, err
	}
	w.conceal(line, true)
	w.append(append(line, '\n'))
	return w, w.drain(true)
}

// Create creates a file and returns a Writer to it, whose Close closes the file. It
// compresses if the name ends in .gz; a name should end in .lwrec.ndjson or
// .lwrec.ndjson.gz. An existing file is not overwritten. Until Close the file is locked, by
// flock(2), where the system and the file system have that.
func Create(path string, h Header, o Options) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create a recording: %w", err)
	}
	_ = disk.Flock(f) // without a lock, Flush still notices that somebody has replaced the file
	o.Gzip = o.Gzip || strings.HasSuffix(path, ".gz")
	w, err := NewWriter(f, h, o)
	if err != nil {
		f.Close()
		os.Remove(path) // otherwise a second attempt would fail
		return nil, err
	}
	w.file = f
	return w, nil
}

// cleanURL returns a server's URL without secrets, "" if it is not a URL.
func cleanURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}

// Mark records a mark, such as "here I deleted the node". It is for people and must not
// contain secrets.
func (w *Writer) Mark(label string) error {
	w.add(&Entry{Kind: KindMark, At: w.now(), Label: label})
	return w.drain(true)
}

// Flush writes buffered entries to the underlying writer. It fails with ErrLost if the path of
// Create no longer names the file; later entries are dropped.
func (w *Writer) Flush() error {
	w.find()
	return w.drain(true)
}

// find looks whether the path of the file still names it.
func (w *Writer) find() {
	if w.file == nil {
		return
	}
	ours, err := w.file.Stat()
	if err != nil {
		return // it is closed
	}
	now, err := os.Stat(w.file.Name())
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(ours, now) {
		err = ErrLost
	}
	if err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.full, w.err = true, err // whatever else failed: this is worse
	}
}

// Err returns the first failure, such as ErrFull, or ErrLost; nil if there is none.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Count returns how many entries of a kind are recorded; those that were dropped are not.
func (w *Writer) Count(k Kind) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts[k]
}

// Close writes the footer and returns the first failure, or ErrLost. Later entries are dropped.
func (w *Writer) Close() error {
	w.find()
	w.mu.Lock()
	if w.closed {
		defer w.mu.Unlock()
		return errClosed
	}
	w.closed = true
	footer := &Entry{Kind: KindFooter, At: w.now(), Counts: w.counts, SHA256: hex.EncodeToString(w.sum.Sum(nil))}
	line, err := codec.Encode(footer)
	if err == nil {
		w.pending = append(append(w.pending, line...), '\n')
	}
	w.mu.Unlock()
	err = errors.Join(err, w.drain(true))
	w.mu.Lock()
	for w.writing {
		w.ready.Wait()
	}
	w.mu.Unlock()
	if w.gz != nil {
		err = errors.Join(err, w.gz.Close())
	}
	if w.file != nil {
		err = errors.Join(err, w.file.Sync(), disk.Funlock(w.file))
	}
	return err
}

func (w *Writer) now() time.Duration { return time.Since(w.base) }

func (w *Writer) nextID() int { return int(w.ids.Add(1)) }

// add appends an entry in memory; drain writes it.
func (w *Writer) add(e *Entry) {
	line, err := codec.Encode(e)
	if e.Kind != KindChunk { // whose body went through a concealer
		w.conceal(line, true)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed || w.full || err != nil:
	case len(line) >= maxLine:
		err = errLargeLine
	case w.max > 0 && w.size+int64(len(line)) >= w.max:
		w.full, err = true, ErrFull
		if line, _ = codec.Encode(&Entry{Kind: KindNote, At: e.At, Note: noteFull}); line != nil {
			w.counts[KindNote]++
			w.append(append(line, '\n'))
		}
	default:
		w.counts[e.Kind]++
		w.append(append(line, '\n'))
	}
	if w.err == nil {
		w.err = err
	}
}

// append adds a line. The caller holds mu, or has the only reference to w.
func (w *Writer) append(line []byte) {
	w.pending = append(w.pending, line...)
	w.size += int64(len(line))
	w.sum.Write(line) // never fails
}

// maxPending limits the bytes that may wait for a write in progress before further
// callers wait too.
const maxPending = 4 << 20

// drain writes the pending entries, unless another goroutine is writing, which then
// writes ours too. No lock is held during a write.
func (w *Writer) drain(flush bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush = w.flush || flush
	for w.writing {
		if len(w.pending) < maxPending {
			return w.err
		}
		w.ready.Wait()
	}
	w.writing = true
	for !w.broken && (len(w.pending) > 0 || w.flush && w.dirty) {
		b, flush := w.pending, w.flush
		w.pending, w.flush = w.spare[:0], false
		w.dirty = !flush
		w.mu.Unlock()
		err := w.write(b, flush)
		w.mu.Lock()
		if cap(b) <= maxPending {
			w.spare = b[:0]
		}
		if err != nil {
			w.broken, w.full = true, true
			if w.err == nil {
				w.err = fmt.Errorf("write a recording: %w", err)
			}
		}
	}
	if w.broken {
		w.pending = nil
	}
	w.flush, w.writing = false, false
	w.ready.Broadcast()
	return w.err
}

func (w *Writer) write(b []byte, flush bool) error {
	if w.gz == nil {
		if len(b) == 0 {
			return nil
		}
		_, err := w.out.Write(b)
		return err
	}
	if _, err := w.gz.Write(b); err != nil || !flush {
		return err
	}
	return w.gz.Flush()
}
