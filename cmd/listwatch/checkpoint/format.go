package checkpoint

import (
	"encoding/binary"
	"hash/crc32"
	"strconv"

	"github.com/listwatch/listwatch/codec"
)

// A checkpoint is
//
//	"listwatch checkpoint 1\n"
//	entries, the first of which is the header
//
// and an entry is
//
//	length of the payload (4 bytes), checksum of the length (4 bytes)
//	payload: a byte that says what it is, and what belongs to it
//	checksum of the payload (4 bytes)
//
// Numbers are little-endian; checksums are CRC-32C. The length has its
// own checksum: without it a damaged length would look like an incomplete end, and all
// entries after it would be ignored.
const (
	magic   = "listwatch checkpoint "
	version = 1
)

// Types of entries. Numbers in them are uvarints, a text follows its length, and a stream
// is its index in the header.
const (
	entryHeader = 'h' // JSON
	entryPut    = 'p' // stream, UID, revision, and the object in the form of codec.RawForm
	entryRemove = 'd' // stream, namespace, name, UID
	entryState  = 's' // stream, 1 if synced, revision
	entryCommit = 'c' // nothing; what stands before it counts
	entryOpened = 'o' // nothing; what stands before it without a commit never counts
)

const (
	entryHead  = 8
	entryFrame = entryHead + 4 // what is around a payload

	maxEntry = 8 * codec.DefaultMaxFrame // an object may grow when secrets are taken out
	maxText  = 4 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// entry appends an entry to the buffer.
func (f *File) entry(kind byte, fill func([]byte) []byte) { f.buf = appendEntry(f.buf, kind, fill) }

func appendEntry(b []byte, kind byte, fill func([]byte) []byte) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, kind)
	if fill != nil {
		b = fill(b)
	}
	payload := b[start+entryHead:]
	binary.LittleEndian.PutUint32(b[start:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(b[start+4:], sum(b[start:start+4]))
	return binary.LittleEndian.AppendUint32(b, sum(payload))
}

func appendNumber(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) }

func appendText(b []byte, s string) []byte { return append(appendNumber(b, len(s)), s...) }

func appendState(b []byte, i int, s *stream) []byte {
	synced := 0
	if s.synced {
		synced = 1
	}
	return appendText(appendNumber(appendNumber(b, i), synced), string(s.revision))
}

// header is the first entry.
type header struct {
	Identity
	Form string `json:"rawForm"` // codec.RawForm
}

func (h header) append(b []byte) ([]byte, error) {
	h.Form = codec.RawForm
	j, err := codec.Encode(h)
	if err != nil {
		return b, err
	}
	b = append(b, magic+strconv.Itoa(version)+"\n"...)
	return appendEntry(b, entryHeader, func(b []byte) []byte { return append(b, j...) }), nil
}

// fields reads the output of appendNumber and appendText.
type fields struct {
	b   []byte
	bad bool
}

func (f *fields) number(limit int) int {
	n, size := binary.Uvarint(f.b)
	if size <= 0 || n >= uint64(limit) {
		f.bad, f.b = true, nil
		return 0
	}
	f.b = f.b[size:]
	return int(n)
}

func (f *fields) text() string {
	n := f.number(maxText + 1)
	if n > len(f.b) {
		f.bad, f.b = true, nil
		return ""
	}
	s := string(f.b[:n])
	f.b = f.b[n:]
	return s
}
