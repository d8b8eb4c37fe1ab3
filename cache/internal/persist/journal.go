package persist

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// A Journal holds the states since the last snapshot in which an object became new to a
// handler, because it was added or became selected. Each is written before the handler
// is called with it. Otherwise an object that was delivered, then lost with the
// process, then deleted, then removed from the server's history, would disappear
// without a deletion. The journal lies beside the snapshot, in one file for each
// snapshot:
//
//	"listwatch journal 1\n"
//	header  as in a snapshot
//	records as in a snapshot, each behind its length (4 bytes) and the checksum of
//	        that (4 bytes, CRC-32C), and before its own checksum
//
// A file may end anywhere: what follows the last whole record was not delivered. It is
// not synced to the disk, so it survives a crash of the process but not of the machine;
// the snapshot survives both.
//
// It is for one goroutine at a time.
type Journal[T kube.Object] struct {
	path     string // of the snapshot
	identity Identity
	Header   Header   // set before reading or writing
	Number   int      // of the current or next file
	file     *os.File // nil = no record yet
	encode   func(o *T, b []byte) ([]byte, error)
	buf      []byte
	failed   bool // a write failed, which was returned; the next snapshot begins another file
	lost     bool // the current or next file says that the snapshot is of a lost history
	losses   int  // number of calls of Lose that needed a new file
	pending  bool // the last of them is not written yet
}

const (
	journalMagic   = "listwatch journal "
	journalVersion = 1
	journalInfix   = ".journal-"
	journalLengths = 8 // bytes before a record

	maxJournalRecord = maxObject + recordFields*(maxField+4)
)

// NewJournal returns the journal beside the snapshot at path.
func NewJournal[T kube.Object](path string, b Identity) *Journal[T] {
	return &Journal[T]{path: path, identity: b, Number: 1, encode: formOf[T]().encode}
}

// Write appends records in one write. It returns an error once for each file. Before that,
// also without records, it tries again to write what [Journal.Lose] could not.
func (j *Journal[T]) Write(records []Record[T]) error {
	if j.pending {
		_ = j.mark() // Lose returned the first error
	}
	if j.failed || len(records) == 0 {
		return nil
	}
	j.buf = j.buf[:0]
	for _, r := range records {
		if err := j.add(r); err != nil {
			return j.fail(err)
		}
	}
	if err := j.open(); err != nil {
		return j.fail(err)
	}
	if _, err := j.file.Write(j.buf); err != nil {
		return j.fail(err)
	}
	if cap(j.buf) > 8*chunk { // after a very large object
		j.buf = nil
	}
	return nil
}

func (j *Journal[T]) add(r Record[T]) (err error) {
	length := len(j.buf)
	j.buf = append(j.buf, make([]byte, journalLengths)...)
	from := len(j.buf)
	if j.buf, err = r.append(j.buf, j.encode); err != nil {
		return err
	}
	binary.LittleEndian.PutUint32(j.buf[length:], uint32(len(j.buf)-from))
	binary.LittleEndian.PutUint32(j.buf[length+4:], crc32.Checksum(j.buf[length:length+4], castagnoli))
	j.buf = binary.LittleEndian.AppendUint32(j.buf, crc32.Checksum(j.buf[from:], castagnoli))
	return nil
}

// Lose notes that the server was restored to an earlier state: it assigns the revision of
// the snapshot, or one before it, again. A watch from there would miss changes. If that
// cannot be written, each call of Write tries it again, until a snapshot of the new history
// is saved.
func (j *Journal[T]) Lose() error {
	if j.lost && j.file != nil && !j.failed {
		return nil
	}
	j.losses++
	j.pending = true
	return j.mark()
}

// mark begins a file that says what Lose notes.
func (j *Journal[T]) mark() error {
	if j.file != nil {
		j.Number++
	}
	j.End()
	j.lost = true
	if err := j.open(); err != nil {
		return j.fail(err)
	}
	j.pending = false
	return nil
}

func (j *Journal[T]) fail(err error) error {
	j.failed = true
	return fmt.Errorf("journal of %s: objects that are new to handlers are not written until the next snapshot: %w", j.identity.Resource, err)
}

// open creates the file, if there is none. It leaves no part of one.
func (j *Journal[T]) open() error {
	if j.file != nil {
		return nil
	}
	head := j.Header
	head.Time, head.Lost = time.Now().UTC(), j.lost
	b, err := codec.Encode(head)
	if err != nil {
		return err
	}
	out := append([]byte(journalMagic), strconv.Itoa(journalVersion)+"\n"...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(b)))
	out = append(out, b...)
	out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
	f, err := os.OpenFile(j.name(j.Number), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(out); err != nil {
		_ = f.Close() // the first error is returned
		if os.Remove(f.Name()) != nil {
			j.Number++
		}
		return err
	}
	j.file = f
	return nil
}

// name formats n so that names sort by number.
func (j *Journal[T]) name(n int) string { return fmt.Sprintf("%s%s%09d", j.path, journalInfix, n) }

// Rotate ends the file: later records are not in the snapshot that is being saved,
// which holds the number of the next file. drop removes the files that the snapshot
// replaces; call it when the snapshot is on the disk.
func (j *Journal[T]) Rotate() (drop func()) {
	j.End()
	old, losses := j.files(), j.losses
	j.Number++
	j.lost = false
	return func() {
		j.pending = j.pending && j.losses != losses
		for _, f := range old {
			_ = os.Remove(f.name) // the next call tries again
		}
	}
}

// End closes the file. The written records stay.
func (j *Journal[T]) End() {
	if j.file != nil {
		_ = j.file.Close() // each write was checked
	}
	j.file, j.failed = nil, false
}

// journalFile is an existing file and its number.
type journalFile struct {
	name   string
	number int
}

// files returns the files that were not set aside, the oldest first.
func (j *Journal[T]) files() (list []journalFile) {
	for _, name := range siblings(j.path, journalInfix) {
		if n, err := strconv.Atoi(strings.TrimPrefix(name, j.path+journalInfix)); err == nil {
			list = append(list, journalFile{name, n})
		}
	}
	return list
}

// Read returns the records of the files of earlier processes, the oldest first, whether
// [Journal.Lose] was called, and the errors of files that cannot be used. Those are set
// aside, after what could be read was copied to a new file; if it cannot be copied, the
// file stays for the next start. Files before number first are in the snapshot: the process
// was killed before it could remove them.
func (j *Journal[T]) Read(first int, decode func([]byte) (T, error)) (records []Record[T], lost bool, errs []error) {
	j.Number = max(j.Number, first)
	files := j.files()
	for _, f := range files {
		j.Number = max(j.Number, f.number+1)
	}
	for _, f := range files {
		if f.number < first {
			_ = os.Remove(f.name) // the next call tries again
			continue
		}
		some, loses, err := j.readFile(f.name, decode)
		records, lost = append(records, some...), lost || loses
		var bad *Error
		if errors.As(err, &bad) {
			if keep := j.copy(some, loses); keep != nil {
				errs = append(errs, keep)
			}
			if len(some) == 0 && !loses || !j.failed {
				bad.Aside, err = setAside(f.name, err)
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("read journal of %s from %s: %w", j.identity.Resource, f.name, err))
		}
	}
	return records, lost, errs
}

// copy writes what could be read from a damaged file.
func (j *Journal[T]) copy(records []Record[T], lost bool) error {
	if lost {
		if err := j.Lose(); err != nil {
			return err
		}
	}
	return j.Write(records)
}

func (j *Journal[T]) readFile(name string, decode func([]byte) (T, error)) (records []Record[T], lost bool, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer f.Close() // it is only read
	in := newReader(f)
	in.magic, in.known = journalMagic, journalVersion
	got, err := in.header()
	if isCut(err) {
		if headerIsWhole(f) {
			return nil, false, damaged("the length of its header is wrong")
		}
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if err := got.foreign(j.Header); err != nil {
		return nil, false, err
	}
	one := newReader(nil)
	for {
		b, err := in.journaled()
		if isCut(err) {
			return records, got.Lost, nil
		}
		if err != nil {
			return records, got.Lost, err
		}
		one.r.Reset(bytes.NewReader(b))
		rec, err := loadRecord(one, decode)
		if errors.Is(err, ErrLeftOut) {
			continue // the watch delivers it again
		}
		if err != nil {
			return records, got.Lost, err
		}
		records = append(records, rec)
	}
}

// headerIsWhole reports whether a journal has a header that is not cut, with its checksum: then
// its length made it look so.
func headerIsWhole(f *os.File) bool {
	b := make([]byte, maxHeader)
	n, _ := f.ReadAt(b, 0) // a file that cannot be read is cut there
	b, ok := bytes.CutPrefix(b[:n], []byte(journalMagic+strconv.Itoa(journalVersion)+"\n"))
	if !ok || len(b) < 4 {
		return false
	}
	dec := json.NewDecoder(bytes.NewReader(b[4:]))
	var head json.RawMessage
	return dec.Decode(&head) == nil && int64(len(b))-4-dec.InputOffset() >= 4
}

// journaled returns the bytes of the next record of a journal, valid until the next
// call. It is truncated only at the end of the file: a length has its own checksum.
func (r *reader) journaled() ([]byte, error) {
	r.sum = 0
	n, err := r.length(maxJournalRecord)
	if err == nil {
		err = r.checksum()
	}
	if err != nil {
		return nil, err
	}
	r.sum = 0
	b, err := r.take(n)
	if err != nil {
		return nil, err
	}
	b = bytes.Clone(b) // the checksum is read next
	return b, r.checksum()
}
