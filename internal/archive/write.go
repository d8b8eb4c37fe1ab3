package archive

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/listwatch/listwatch/internal/disk"
	"github.com/listwatch/listwatch/kube"
)

// ErrFull means that the objects that exist do not fit in the folder's budget.
var ErrFull = errors.New("the objects that exist do not fit: allow more bytes, or keep fewer types")

// Segment is the file that the states of a type are written to. It is for the goroutine
// of its Dir.
type Segment struct {
	d      *Dir
	f      *os.File
	number int
	header header
	buf    []byte
	begun  int64 // bytes of the objects that existed at first
	size   int64 // of the file
	at     int64 // of the last record

	next uint64
	last map[string]*written // by name and UID, of what exists
}

// written is the last state of an object.
type written struct {
	number uint64
	state  State
}

func identity(s *State) string { return s.Key.String() + "\x00" + s.UID }

// Begin starts a segment of a type, with all its objects. The reason says why what was
// before is not known.
func (d *Dir) Begin(r kube.Resource, cols []Column, at int64, reason string, objects iter.Seq[State]) (*Segment, error) {
	return d.begin(header{Format: format, Cluster: d.cluster, Resource: r, Columns: cols, At: at, Reason: reason}, objects)
}

func (d *Dir) begin(h header, objects iter.Seq[State]) (*Segment, error) {
	d.number++
	s := &Segment{d: d, number: d.number, header: h, at: h.At, last: map[string]*written{}}
	path := d.file(s.number)
	var err error
	if s.f, err = os.OpenFile(path+temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return nil, err
	}
	if err = s.first(objects); err == nil {
		err = os.Rename(path+temporary, path)
	}
	if err != nil {
		return nil, errors.Join(err, s.f.Close(), os.Remove(path+temporary))
	}
	d.open[s] = true
	if err := errors.Join(disk.SyncDir(d.path), d.prune(time.UnixMilli(h.At))); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// first writes the header and the objects that exist.
func (s *Segment) first(objects iter.Seq[State]) (err error) {
	if err = s.addJSON(recHeader, s.header); err != nil {
		return err
	}
	for o := range objects {
		o.First = true
		if err = s.Add(o); err != nil {
			return err
		}
		if len(s.buf) > 1<<20 {
			if err = s.write(); err != nil {
				return err
			}
		}
		if s.size > s.d.limits.Bytes {
			return ErrFull
		}
	}
	s.buf = frame(s.buf, recReady, nil)
	if err = s.write(); err != nil {
		return err
	}
	s.at, s.begun = s.header.At, s.size
	return s.f.Sync()
}

// Add appends a state, which Flush writes.
func (s *Segment) Add(st State) error {
	text, err := st.text()
	if err != nil {
		return err
	}
	if len(text) > maxText {
		return fmt.Errorf("%s has %d bytes, at most %d are kept", st.Key, len(text), maxText)
	}
	id, kind := identity(&st), byte(recWhole)
	w := s.last[id]
	if w == nil {
		s.next++
		w = &written{number: s.next}
		s.last[id] = w
	} else if before, err := w.state.text(); err != nil {
		return err
	} else if dict := dictionary(before); dict != nil {
		kind, text = recDelta, dict.Encode(nil, text)
	}
	if kind == recWhole {
		text = s2.Encode(nil, text)
	}
	s.buf = frame(s.buf, kind, append(binary.AppendUvarint(nil, w.number), text...))
	s.at = st.At
	if w.state = st; st.Op == Deleted {
		delete(s.last, id)
	}
	return nil
}

// dictionary returns one that a text is stored as a difference to, or nil.
func dictionary(text []byte) *s2.Dict {
	if len(text) < minDictionary || len(text) > maxDictionary {
		return nil
	}
	return s2.MakeDict(text, nil)
}

// Columns appends new columns.
func (s *Segment) Columns(cols []Column) error {
	s.header.Columns = cols
	return s.addJSON(recColumns, cols)
}

// Gap appends a gap that has ended.
func (s *Segment) Gap(g Gap) error {
	s.at = g.To
	return s.addJSON(recGap, g)
}

// Mark says that there was no change until at.
func (s *Segment) Mark(at int64) error {
	s.at = at
	return s.addJSON(recMark, at)
}

func (s *Segment) addJSON(kind byte, v any) (err error) {
	s.buf, err = frameJSON(s.buf, kind, v)
	return err
}

// Flush writes what was added, so that it survives this process. Where the segment is
// large or old, it ends, and the one that is returned continues it. After an error none
// does: the caller begins one with all objects, later.
func (s *Segment) Flush(now time.Time) (*Segment, error) {
	if err := s.write(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	large := s.size-s.begun > max(s.begun, s.d.limits.Bytes/parts)
	if old := now.UnixMilli()-s.header.At > (s.d.limits.Age / parts).Milliseconds(); !large && !old {
		if err := s.d.prune(now); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return s, nil
	}
	if err := s.Close(); err != nil { // before the next begins, so that it may be removed
		return nil, err
	}
	h := s.header
	h.At, h.Reason, h.Continues = max(s.at, now.UnixMilli()), "", true
	return s.d.begin(h, func(yield func(State) bool) {
		for _, w := range slices.SortedFunc(maps.Values(s.last), func(a, b *written) int { return cmp.Compare(a.number, b.number) }) {
			if !yield(w.state) {
				return
			}
		}
	})
}

// parts is how many segments of a type fill the folder, or its time, at least.
const parts = 8

func (s *Segment) write() error {
	n, err := s.f.Write(s.buf)
	s.size += int64(n)
	s.buf = s.buf[:0]
	return err
}

// Close ends the segment, so that it survives a power loss.
func (s *Segment) Close() error {
	err := errors.Join(s.write(), s.f.Sync(), s.f.Close())
	delete(s.d.open, s)
	s.d.closed = append(s.d.closed, closed{s.number, s.size, time.UnixMilli(s.at)})
	return err
}

// Dir is a folder of segments that this process writes. It is for one goroutine at a time.
type Dir struct {
	path    string
	cluster string
	limits  Limits
	number  int
	open    map[*Segment]bool
	closed  []closed // the oldest first
	aside   int64    // bytes of damaged files
	large   []*DamagedError
	release func()
}

// Limits of a Dir.
type Limits struct {
	Bytes int64         // of all files
	Age   time.Duration // of states that are not the newest of what exists
}

type closed struct {
	number int
	size   int64
	until  time.Time
}

const (
	suffix    = ".segment"
	temporary = ".new"
	damaged   = ".damaged"
	lockFile  = "lock"
)

func (d *Dir) file(number int) string {
	return filepath.Join(d.path, fmt.Sprintf("%010d", number)+suffix)
}

// prune removes the oldest segments until the limits hold. ErrFull is that those that are
// written exceed them alone.
func (d *Dir) prune(now time.Time) error {
	total := d.aside
	for s := range d.open {
		total += s.size
	}
	for _, c := range d.closed {
		total += c.size
	}
	oldest := now.Add(-d.limits.Age)
	for len(d.closed) > 0 && (total > d.limits.Bytes || d.closed[0].until.Before(oldest)) {
		if err := os.Remove(d.file(d.closed[0].number)); err != nil && !os.IsNotExist(err) {
			return err
		}
		total -= d.closed[0].size
		d.closed = d.closed[1:]
	}
	if total > d.limits.Bytes {
		return ErrFull
	}
	return nil
}

// Close ends all segments and lets other processes write.
func (d *Dir) Close() error {
	var errs []error
	for s := range d.open {
		errs = append(errs, s.Close())
	}
	d.release()
	return errors.Join(errs...)
}
