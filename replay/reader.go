package replay

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"os"
	"reflect"

	"github.com/listwatch/listwatch/codec"
)

// Limits for reading.
const (
	maxLine        = 40 << 20 // far more than an object that Kubernetes stores
	maxKinds       = 64       // of entries, known or unknown
	defaultMaxLoad = 80 << 20 // memory of a whole recording
	entrySize      = 512      // memory of an entry without its text
	headerFactor   = 16       // memory of headers, for each byte of text
	failureSize    = 512      // memory of a failure without its text and lists
	sentinelSize   = 32       // memory of an error in Failure.Is
	causeSize      = 64       // memory of a cause of a Status
)

// ErrVersion means that a recording has a newer version than this package supports.
var ErrVersion = errors.New("the recording is of a newer format")

// DamageError reports a line of a recording that cannot be read, and what to do. It does
// not quote the line.
type DamageError struct {
	Line   int // from 1
	Reason string
}

func (e *DamageError) Error() string {
	s := fmt.Sprintf("recording, line %d: %s", e.Line, e.Reason)
	if e.Line <= 1 {
		return s + ": this is not a recording, or its beginning is lost"
	}
	if e.Line == 2 {
		return s + "; to play the part before it, keep the first line"
	}
	return s + fmt.Sprintf("; to play the part before it, keep the first %d lines", e.Line-1)
}

// Reader reads a recording entry by entry, in the memory of one entry. It is for one
// goroutine.
type Reader struct {
	Header Header

	in        *bufio.Reader
	zipped    *members // nil = not compressed
	max       int      // bytes of a line
	line      int
	buf       []byte
	sum       hash.Hash
	counts    map[Kind]int
	truncated bool
}

// NewReader reads the header of a recording, compressed or not.
func NewReader(r io.Reader) (*Reader, error) { return newReader(r, maxLine) }

func newReader(r io.Reader, max int) (*Reader, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var zipped *members
	if magic, _ := in.Peek(2); string(magic) == "\x1f\x8b" {
		gz, err := gzip.NewReader(in)
		if err != nil {
			return nil, &DamageError{1, "it is neither text nor gzip"}
		}
		gz.Multistream(false)
		zipped = &members{in: in, gz: gz}
		in = bufio.NewReaderSize(zipped, 64<<10)
	}
	rd := &Reader{in: in, zipped: zipped, max: max, sum: sha256.New(), counts: map[Kind]int{}}
	line, err := rd.next()
	switch {
	case err != nil && err != io.EOF:
		return nil, err
	case len(line) == 0:
		return nil, &DamageError{1, "it is empty"}
	}
	v, err := codec.Decode[struct {
		T       string `json:"t"`
		Format  string `json:"format"`
		Version int    `json:"version"`
	}](line)
	if err != nil || v.T != "header" || v.Format != formatName || v.Version < 1 {
		return nil, &DamageError{1, "there is no header"}
	}
	if v.Version > formatVersion {
		return nil, fmt.Errorf("%w: version %d, this program supports up to %d; use a newer one", ErrVersion, v.Version, formatVersion)
	}
	if rd.Header, err = codec.Decode[Header](line); err != nil {
		return nil, &DamageError{1, "the header does not fit: " + err.Error()}
	}
	rd.sum.Write(line)
	return rd, nil
}

// Truncated reports, after all entries have been read, whether the recording was
// truncated: it has no footer.
func (r *Reader) Truncated() bool { return r.truncated }

// Entries yields the remaining entries, without the footer. Entries of an unknown kind
// are skipped. The only error is the last element: a *[DamageError], or that of the
// underlying reader. A truncated file, even within a line, is not an error.
func (r *Reader) Entries() iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		for {
			line, err := r.next()
			if err == io.EOF {
				r.truncated = true
				return
			}
			var e *Entry
			if err == nil {
				e, err = r.parse(line)
			}
			switch {
			case err != nil:
				yield(nil, err)
				return
			case e.Kind == KindFooter:
				if err := r.verify(e); err != nil {
					yield(nil, err)
				} else if err := r.ended(); err != nil {
					yield(nil, err)
				}
				return
			}
			r.sum.Write(line)
			r.counts[e.Kind]++
			if len(r.counts) > maxKinds {
				yield(nil, r.damage(fmt.Sprintf("there are more than %d kinds of entries", maxKinds)))
				return
			}
			if known(e.Kind) && !yield(e, nil) {
				return
			}
		}
	}
}

func known(k Kind) bool {
	switch k {
	case KindReq, KindResp, KindChunk, KindEnd, KindStream, KindPage, KindEvent, KindNote, KindMark:
		return true
	}
	return false
}

func (r *Reader) damage(reason string) error { return &DamageError{r.line, reason} }

// parse reads one line. An entry of an unknown kind may have any other fields.
func (r *Reader) parse(line []byte) (*Entry, error) {
	head, err := codec.Decode[struct {
		Kind Kind `json:"t"`
	}](line)
	if err != nil {
		return nil, r.damage(err.Error())
	}
	if head.Kind == kindHeader {
		return nil, r.damage("another recording begins here")
	}
	if head.Kind != "" && head.Kind != KindFooter && !known(head.Kind) {
		return &Entry{Kind: head.Kind}, nil
	}
	e, err := codec.Decode[Entry](line)
	if err != nil {
		return nil, r.damage(err.Error())
	}
	if reason := e.check(); reason != "" {
		return nil, r.damage(reason)
	}
	return &e, nil
}

func (r *Reader) verify(footer *Entry) error {
	if footer.SHA256 != "" && footer.SHA256 != hex.EncodeToString(r.sum.Sum(nil)) || footer.Counts != nil && !reflect.DeepEqual(footer.Counts, r.counts) {
		return r.damage("the lines before the footer have changed")
	}
	return nil
}

// ended returns an error unless the recording ends after its footer.
func (r *Reader) ended() error {
	line, err := r.next()
	switch {
	case err == io.EOF && len(r.buf) == 0 && !r.zipped.cutBehind():
		return nil
	case err != nil && err != io.EOF:
		return err
	}
	if head, err := codec.Decode[struct {
		Kind Kind `json:"t"`
	}](line); err == nil && head.Kind == kindHeader {
		return r.damage("another recording begins here")
	}
	return r.damage("there is data after the footer")
}

// next returns the next line with its newline; io.EOF at the end, and for a line that
// was truncated.
func (r *Reader) next() ([]byte, error) {
	r.line++
	r.buf = r.buf[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		r.buf = append(r.buf, part...)
		switch {
		case len(r.buf) > r.max:
			return nil, r.damage(fmt.Sprintf("it is longer than %d bytes", r.max))
		case err == nil:
			return r.buf, nil
		case err == bufio.ErrBufferFull:
		case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
			if len(bytes.TrimSpace(r.buf)) > 0 && err == io.EOF && json.Valid(r.buf) {
				return r.buf, nil
			}
			return nil, io.EOF
		case isCorrupt(err):
			return nil, r.damage("the compressed data is damaged")
		default:
			return nil, fmt.Errorf("read a recording, line %d: %w", r.line, err)
		}
	}
}

// members reads the members of a gzip file. Unlike gzip.Reader it reports data after a
// member that is not another one.
type members struct {
	in    *bufio.Reader
	gz    *gzip.Reader
	later bool // after the first member
	cut   bool // the current member was truncated
}

func (m *members) Read(b []byte) (int, error) {
	for {
		n, err := m.gz.Read(b)
		m.cut = errors.Is(err, io.ErrUnexpectedEOF)
		if n > 0 && err == io.EOF {
			return n, nil // io.EOF is returned again
		}
		if err != io.EOF {
			return n, err
		}
		if _, err := m.in.Peek(1); err != nil {
			return 0, err
		}
		m.later = true
		if err := m.gz.Reset(m.in); err != nil {
			m.cut = true
			return 0, err
		}
		m.gz.Multistream(false)
	}
}

// cutBehind reports whether a member after the first was truncated.
func (m *members) cutBehind() bool { return m != nil && m.later && m.cut }

func isCorrupt(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || errors.As(err, &corrupt)
}

// Recording is a whole recording in memory. Its entries must not be changed, so it may
// be shared.
type Recording struct {
	Header    Header
	Entries   []*Entry
	Truncated bool // it has no footer, and plays as far as it goes
}

// Load reads a recording into at most about max bytes of memory; 0 = 80 MiB. A line has at most a
// quarter of max, or 1 MiB if that is more. If the recording is damaged or larger, Load returns
// what it read before that, and the error.
func Load(r io.Reader, max int64) (*Recording, error) {
	if max <= 0 {
		max = defaultMaxLoad
	}
	rd, err := newReader(r, int(min(maxLine, cmp.Or(max/4>>20, 1)<<20)))
	if err != nil {
		return nil, err
	}
	rec := &Recording{Header: rd.Header}
	size := int64(0)
	for e, err := range rd.Entries() {
		if err != nil {
			return rec, err
		}
		size += entrySize + int64(len(rd.buf))
		if e.Header != nil {
			size += headerFactor * int64(len(rd.buf))
		}
		size += e.Failure.size()
		if size > max {
			return rec, fmt.Errorf("load a recording, line %d: %w", rd.line, &codec.LimitError{What: "memory for a recording", Limit: int(max)})
		}
		rec.Entries = append(rec.Entries, e)
	}
	rec.Truncated = rd.Truncated()
	return rec, nil
}

// Open loads the recording in a file, within the default limit of [Load].
func Open(path string) (*Recording, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Load(f, 0)
}
