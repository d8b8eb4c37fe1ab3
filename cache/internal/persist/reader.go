package persist

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

// A reader computes and verifies checksums.
type reader struct {
	r     *bufio.Reader
	sum   uint32
	magic string
	known int // version
}

func newReader(r io.Reader) *reader {
	return &reader{r: bufio.NewReaderSize(r, chunk), magic: magic, known: version}
}

// cut is the Reason of an Error for a file that ends too early.
const cut = "it is truncated"

func isCut(err error) bool {
	var bad *Error
	return errors.As(err, &bad) && bad.Reason == cut
}

// take returns the next n bytes, valid until the next call. It allocates memory as they
// arrive: n may be wrong.
func (r *reader) take(n int) ([]byte, error) {
	var b []byte
	var err error
	if n <= chunk {
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

// length reads a number and checks it against a limit.
func (r *reader) length(limit int) (int, error) {
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

func (r *reader) checksum() error {
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

func (r *reader) header() (Header, error) {
	if b, err := r.take(len(r.magic)); err != nil {
		return Header{}, err
	} else if string(b) != r.magic {
		return Header{}, damaged("it is no snapshot")
	}
	v, err := r.version()
	switch {
	case err != nil:
		return Header{}, err
	case v > r.known:
		return Header{}, &Error{Kind: ErrNewer, Reason: fmt.Sprintf("its version is %d, the supported one is %d", v, r.known)}
	case v < r.known:
		return Header{}, damaged("there is no such version")
	}
	n, err := r.length(maxHeader)
	if err != nil {
		return Header{}, err
	}
	b, err := r.take(n)
	if err != nil {
		return Header{}, err
	}
	b = bytes.Clone(b)
	if err := r.checksum(); err != nil {
		return Header{}, err
	}
	h, err := codec.Decode[Header](b)
	switch {
	case err != nil:
		return Header{}, &Error{Kind: ErrDamaged, Reason: "its header cannot be read", Err: err}
	case h.Objects < 0 || h.Unacked < 0 || h.Revision == "" && r.magic == magic:
		return Header{}, damaged("its header has no revision or no count")
	}
	return h, nil
}

// version reads a decimal number and a newline.
func (r *reader) version() (int, error) {
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

// record returns the parts of the next record, valid until the next call.
func (r *reader) record() (parts [recordFields][]byte, err error) {
	lengths, err := r.take(4 * recordFields)
	if err != nil {
		return parts, err
	}
	var ends [recordFields]int
	total := 0
	for i := range recordFields {
		n, limit := binary.LittleEndian.Uint32(lengths[4*i:]), uint32(maxField)
		if i == fieldObject {
			limit = maxObject
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
func (r *reader) end() error {
	if err := r.checksum(); err != nil {
		return err
	}
	switch _, err := r.r.ReadByte(); {
	case err == nil:
		return damaged("there is data after its end")
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}
