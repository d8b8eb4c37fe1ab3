package cache

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/listwatch/listwatch/codec"
)

// A snapshotReader checks what it reads.
type snapshotReader struct {
	r     *bufio.Reader
	sum   uint32
	magic string
	known int // version
}

func newSnapshotReader(r io.Reader) *snapshotReader {
	return &snapshotReader{r: bufio.NewReaderSize(r, snapshotChunk), magic: snapshotMagic, known: snapshotVersion}
}

// cut is the reason of an error about a file that ends before it should.
const cut = "it is cut"

func isCut(err error) bool {
	var bad *SnapshotError
	return errors.As(err, &bad) && bad.Reason == cut
}

// take returns the next n bytes, valid until the next call. Memory for them is
// taken as they come: n may be a lie.
func (r *snapshotReader) take(n int) ([]byte, error) {
	var b []byte
	var err error
	if n <= snapshotChunk {
		b, err = r.r.Peek(n)
		if err == nil {
			_, err = r.r.Discard(n)
		}
	} else {
		var all bytes.Buffer
		_, err = io.CopyN(&all, r.r, int64(n))
		b = all.Bytes()
	}
	switch {
	case errors.Is(err, io.EOF):
		return nil, damaged(cut)
	case err != nil:
		return nil, err
	}
	r.sum = crc32.Update(r.sum, castagnoli, b)
	return b, nil
}

// length takes a number and checks it against a limit.
func (r *snapshotReader) length(limit int) (int, error) {
	b, err := r.take(4)
	if err != nil {
		return 0, err
	}
	n := binary.LittleEndian.Uint32(b)
	if n > uint32(limit) {
		return 0, damaged("a length above the limit")
	}
	return int(n), nil
}

func (r *snapshotReader) checksum() error {
	want := r.sum
	b, err := r.take(4)
	if err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(b) != want {
		return damaged("the checksum is wrong")
	}
	return nil
}

func (r *snapshotReader) header() (snapshotHeader, error) {
	if b, err := r.take(len(r.magic)); err != nil {
		return snapshotHeader{}, err
	} else if string(b) != r.magic {
		return snapshotHeader{}, damaged("it is no snapshot")
	}
	v, err := r.version()
	switch {
	case err != nil:
		return snapshotHeader{}, err
	case v > r.known:
		return snapshotHeader{}, &SnapshotError{Kind: ErrSnapshotNewer, Reason: fmt.Sprintf("its version is %d, known is %d", v, r.known)}
	case v < r.known:
		return snapshotHeader{}, damaged("there is no such version")
	}
	n, err := r.length(maxSnapshotHeader)
	if err != nil {
		return snapshotHeader{}, err
	}
	b, err := r.take(n)
	if err != nil {
		return snapshotHeader{}, err
	}
	b = bytes.Clone(b)
	if err := r.checksum(); err != nil {
		return snapshotHeader{}, err
	}
	h, err := codec.Decode[snapshotHeader](b)
	switch {
	case err != nil:
		return snapshotHeader{}, &SnapshotError{Kind: ErrSnapshotDamaged, Reason: "its header cannot be read", Err: err}
	case h.Objects < 0 || h.Owed < 0 || h.Revision == "" && r.magic == snapshotMagic:
		return snapshotHeader{}, damaged("its header has no revision or no count")
	}
	return h, nil
}

// version reads a decimal number and the end of the line.
func (r *snapshotReader) version() (int, error) {
	v := 0
	for range 6 {
		b, err := r.take(1)
		switch {
		case err != nil:
			return 0, err
		case b[0] == '\n':
			return v, nil
		case b[0] < '0' || b[0] > '9':
			return 0, damaged("it is no snapshot")
		}
		v = 10*v + int(b[0]-'0')
	}
	return 0, damaged("it is no snapshot")
}

// record returns the parts of the next one, valid until the next call.
func (r *snapshotReader) record() (parts [recordFields][]byte, err error) {
	lengths, err := r.take(4 * recordFields)
	if err != nil {
		return parts, err
	}
	var ends [recordFields]int
	total := 0
	for i := range recordFields {
		n, limit := binary.LittleEndian.Uint32(lengths[4*i:]), uint32(maxSnapshotField)
		if i == fieldObject {
			limit = maxSnapshotObject
		}
		if n > limit {
			return parts, damaged("a length above the limit")
		}
		total += int(n)
		ends[i] = total
	}
	b, err := r.take(total)
	if err != nil {
		return parts, err
	}
	start := 0
	for i, end := range ends {
		parts[i], start = b[start:end], end
	}
	return parts, nil
}

// end reads the checksum and the end of the file.
func (r *snapshotReader) end() error {
	if err := r.checksum(); err != nil {
		return err
	}
	switch _, err := r.r.ReadByte(); {
	case err == nil:
		return damaged("there is more behind its end")
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}
