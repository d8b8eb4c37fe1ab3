package history

import (
	"encoding/binary"
	"iter"
	"slices"

	"github.com/klauspost/compress/s2"

	"github.com/listwatch/listwatch/codec/compressed"
	"github.com/listwatch/listwatch/internal/archive"
	"github.com/listwatch/listwatch/ui/internal/delta"
)

// record is a state that is not the newest, with its JSON, as differences to the state
// after it: text without pointers, as there are hundred thousands. It has a byte of flags;
// as varints the time, the position and the numbers of cells; texts with their length in
// front; and the JSON, packed, as the rest.
type record string

// records are those of one object, the oldest first, each with its length in front. They
// are in pages, which are allocated and freed as one.
type records []string

// pageSize is how many bytes a page has at most, or it has one record.
const pageSize = 1 << 10

func (p *records) add(r record) {
	text := string(appendText(nil, string(r)))
	if end := len(*p) - 1; end >= 0 && len((*p)[end])+len(text) <= pageSize {
		(*p)[end] += text
		return
	}
	*p = append(*p, text)
}

// drop removes the oldest, and returns it.
func (p *records) drop() record {
	r, rest := cutRecord((*p)[0])
	if (*p)[0] = rest; rest == "" {
		*p = (*p)[1:]
	}
	return r
}

// backward yields them, the newest first.
func (p records) backward() iter.Seq[record] {
	return func(yield func(record) bool) {
		for _, page := range slices.Backward(p) {
			var list []record
			for page != "" {
				var r record
				r, page = cutRecord(page)
				list = append(list, r)
			}
			for _, r := range slices.Backward(list) {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// cutRecord returns the first record of a page, and what is behind it.
func cutRecord(page string) (r record, rest string) {
	n, width := binary.Uvarint([]byte(page[:min(len(page), binary.MaxVarintLen64)]))
	end := width + int(n)
	return record(page[width:end]), page[end:]
}

// Flags of a record.
const (
	flagFirst = 1 << iota
	flagInferred
	flagAlone // the JSON is no difference
	flagBy    // By is the same

	opShift = 5 // the Op is above
)

func (r record) size() int64 { return int64(overhead + len(r)) }

// at returns the time of the state.
func (r record) at() int64 {
	head := reader{[]byte(r[1:min(len(r), 1+binary.MaxVarintLen64)])}
	return int64(head.number())
}

// recordOf returns the record of a state, given the one after it and its packed JSON.
func recordOf(st, next *State, packed []byte, alone bool) record {
	flags := byte(st.Op) << opShift
	set := func(flag byte, on bool) {
		if on {
			flags |= flag
		}
	}
	set(flagFirst, st.First)
	set(flagInferred, st.Inferred)
	set(flagAlone, alone)
	set(flagBy, st.By == next.By)
	b := binary.AppendUvarint([]byte{flags}, uint64(st.At))
	b = binary.AppendUvarint(b, uint64(st.Pos))
	b = appendText(b, st.Revision)
	if flags&flagBy == 0 {
		b = appendText(b, st.By)
	}
	b = appendCells(b, st.Cells, next.Cells)
	return record(append(b, packed...))
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendCells appends the number of cells, and those that differ from the cells of the
// state after: how many cells after the last one, and the text. 0 is the end.
func appendCells(b []byte, cells, next archive.Row) []byte {
	b = binary.AppendUvarint(b, uint64(cells.Len()))
	last := -1
	if cells != next {
		for i, c := range cells.All() {
			if i >= next.Len() || next.Cell(i) != c {
				b = appendText(binary.AppendUvarint(b, uint64(i-last)), c)
				last = i
			}
		}
	}
	return append(b, 0)
}

// state returns the state and its packed JSON, given the state after it.
func (r record) state(next *State) (st State, packed []byte, alone bool) {
	b := reader{[]byte(r[1:])}
	flags := r[0]
	st = State{At: int64(b.number()), Pos: int64(b.number()), Revision: b.text(), Op: Op(flags >> opShift), By: next.By, First: flags&flagFirst != 0, Inferred: flags&flagInferred != 0}
	if flags&flagBy == 0 {
		st.By = b.text()
	}
	st.Cells = b.cells(next.Cells)
	return st, b.rest, flags&flagAlone != 0
}

// reader reads what recordOf wrote.
type reader struct{ rest []byte }

func (r *reader) number() uint64 {
	v, n := binary.Uvarint(r.rest)
	r.rest = r.rest[max(n, 0):]
	return v
}

func (r *reader) text() string {
	n := int(r.number())
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

// cells reads what appendCells wrote.
func (r *reader) cells(next archive.Row) archive.Row {
	n, own := int(r.number()), map[int]string{}
	for i := -1; ; {
		skip := int(r.number())
		if skip == 0 {
			break
		}
		i += skip
		own[i] = r.text()
	}
	if len(own) == 0 && n == next.Len() {
		return next
	}
	cells := make([]string, n)
	for i := range cells {
		text, ok := own[i]
		if !ok {
			text = next.Cell(i)
		}
		cells[i] = text
	}
	return archive.RowOf(cells...)
}

// link has the JSON of a state, as a difference to that of the state after it unless it is
// alone.
type link struct {
	newest compressed.Raw
	packed []byte // of one that is not the newest
	alone  bool
}

// all yields the states of l, the newest first.
func (l *Life) all() iter.Seq2[State, link] {
	return func(yield func(State, link) bool) {
		if !l.any || !yield(l.state, link{newest: l.newest, alone: true}) {
			return
		}
		next := l.state
		for r := range l.older.backward() {
			st, packed, alone := r.state(&next)
			if !yield(st, link{packed: packed, alone: alone}) {
				return
			}
			next = st
		}
	}
}

// pack compresses a JSON: alone, or as the difference to that of the state after it. The
// result is valid until the next call.
func (s *Store) pack(before, next string, alone bool) []byte {
	if cap(s.packed) > maxBuffer {
		s.packed = nil // one large object has left it
	}
	if alone {
		s.packed = s2.Encode(s.packed[:cap(s.packed)], []byte(before))
	} else {
		s.packed = s.encoder.Encode(s.packed[:0], next, before)
	}
	return s.packed
}

// maxBuffer is how many bytes the buffer for what is packed keeps.
const maxBuffer = 1 << 20

// unpack returns the JSON, given that of the state after it.
func (l link) unpack(next string) (string, error) {
	switch {
	case l.packed == nil:
		r, err := l.newest.Raw()
		return r.JSON(), err
	case l.alone:
		b, err := s2.Decode(nil, l.packed)
		return string(b), err
	}
	return delta.Decode(next, l.packed)
}

// unpack returns the JSON of the last of a chain, of which the first is alone.
func unpack(chain []link) (text string, err error) {
	for _, l := range chain {
		if text, err = l.unpack(text); err != nil {
			return "", err
		}
	}
	return text, nil
}
