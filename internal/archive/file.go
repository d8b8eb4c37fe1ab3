package archive

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/klauspost/compress/s2"

	"github.com/listwatch/listwatch/kube"
)

// Kinds of records. The payload of a state is its number in the segment and its text,
// compressed; that of others is JSON.
const (
	recHeader  = 'h'
	recReady   = 'r' // all objects that existed were written
	recWhole   = 's'
	recDelta   = 'd' // to the text of the same number before
	recColumns = 'c'
	recGap     = 'g'
	recMark    = 'm'
)

// header is the first record of a segment.
type header struct {
	Format    int           `json:"format"`
	Cluster   string        `json:"cluster"`
	Resource  kube.Resource `json:"resource"`
	Columns   []Column      `json:"columns"`
	At        int64         `json:"at"`
	Reason    string        `json:"reason,omitempty"`
	Continues bool          `json:"continues,omitempty"` // the segment of the type before it, without a gap
}

// format is that of the segments.
const format = 1

const (
	// maxRecord is how many bytes a record has, and maxText the text of a state.
	maxRecord = 8 << 20
	maxText   = 6 << 20

	// maxZeros is how many a power loss leaves at the end of a file, at most: of what the system
	// has not written.
	maxZeros = 64 << 20

	// minDictionary and maxDictionary are the sizes of a text that another is a
	// difference to.
	minDictionary, maxDictionary = 64, s2.MaxDictSize
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame appends a record to b: its length, its checksum, its kind and its payload.
func frame(b []byte, kind byte, payload []byte) []byte {
	sum := crc32.Update(crc32.Checksum([]byte{kind}, castagnoli), castagnoli, payload)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)+1))
	b = binary.LittleEndian.AppendUint32(b, sum)
	return append(append(b, kind), payload...)
}

func frameJSON(b []byte, kind byte, v any) ([]byte, error) {
	payload, err := json.Marshal(v)
	if err != nil {
		return b, err
	}
	return frame(b, kind, payload), nil
}

// errTorn is the end of a segment whose last write was not complete.
var errTorn = errors.New("the last record is not complete")

// DamagedError says that a segment is not as it was written.
type DamagedError struct {
	Path   string
	Offset int64
	Moved  string // where it was set aside; "" = it was not
	Err    error
}

func (e *DamagedError) Error() string {
	s := fmt.Sprintf("%s is damaged at byte %d: %v; what it has from there on is left out", e.Path, e.Offset, e.Err)
	if e.Moved != "" {
		s += ", and it was renamed to " + e.Moved
	}
	return s
}

func (e *DamagedError) Unwrap() error { return e.Err }

// setAside renames the segment.
func (e *DamagedError) setAside() {
	if os.Rename(e.Path, e.Path+damaged) == nil {
		e.Moved = e.Path + damaged
	}
}

// reader reads the records of a segment.
type reader struct {
	f      *os.File
	r      *bufio.Reader
	size   int64
	offset int64 // of the record that is read
	next   int64
}

// newReader opens a segment. It does not open what is no file: to open a pipe is to wait for
// somebody who writes.
func newReader(path string) (*reader, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, &DamagedError{Path: path, Err: errors.New("not a file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &reader{f: f, r: bufio.NewReaderSize(f, 64<<10), size: info.Size()}, nil
}

// record returns the next one. The error is io.EOF at the end, errTorn where a write was
// cut there, and another one where the file is damaged.
func (r *reader) record() (kind byte, payload []byte, err error) {
	r.offset = r.next
	var h [8]byte
	if left := r.size - r.offset; left == 0 {
		return 0, nil, io.EOF
	} else if left < int64(len(h)) {
		return 0, nil, errTorn
	}
	if _, err := io.ReadFull(r.r, h[:]); err != nil {
		return 0, nil, err
	}
	n := int64(binary.LittleEndian.Uint32(h[:]))
	switch left := r.size - r.offset - int64(len(h)); {
	case n == 0 && r.offset > 0 && r.size-r.offset <= maxZeros && r.empty():
		return 0, nil, errTorn // a power loss leaves zeros
	case n == 0 || n > maxRecord:
		return 0, nil, fmt.Errorf("a record of %d bytes", n)
	case n > left:
		return 0, nil, errTorn
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r.r, b); err != nil {
		return 0, nil, err
	}
	r.next = r.offset + int64(len(h)) + n
	if crc32.Checksum(b, castagnoli) != binary.LittleEndian.Uint32(h[4:]) {
		if r.next == r.size {
			return 0, nil, errTorn
		}
		return 0, nil, errors.New("a wrong checksum")
	}
	return b[0], b[1:], nil
}

// empty reports whether only zeros follow.
func (r *reader) empty() bool {
	for {
		c, err := r.r.ReadByte()
		if err != nil {
			return err == io.EOF
		}
		if c != 0 {
			return false
		}
	}
}

func (r *reader) close() { _ = r.f.Close() } // it is only read

// header reads the first record.
func (r *reader) header() (header, error) {
	kind, payload, err := r.record()
	var h header
	switch {
	case err == io.EOF || err == errTorn:
		return h, errors.New("it has no header") // a segment appears with all of it
	case err != nil:
		return h, err
	case kind != recHeader || json.Unmarshal(payload, &h) != nil:
		return h, errors.New("its first record is no header")
	case h.Format != format:
		return h, fmt.Errorf("format %d, this program reads %d", h.Format, format)
	}
	return h, nil
}
