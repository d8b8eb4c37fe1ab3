package archive

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/codec/compressed"
	"github.com/listwatch/listwatch/internal/disk"
)

// maxSegments is how many files a folder has.
const maxSegments = 100_000

// numbers returns those of the segments in a folder, sorted.
func numbers(path string) ([]int, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var list []int
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		if n, err := strconv.Atoi(name); ok && err == nil && n >= 0 {
			list = append(list, n)
		}
	}
	if len(list) > maxSegments {
		return nil, fmt.Errorf("%s has %d segments, at most %d are read", path, len(list), maxSegments)
	}
	slices.Sort(list)
	return list, nil
}

// Open locks a folder, which is made if there is none, to write the states of a cluster.
// It fails where another process writes, or where the folder is of another cluster.
func Open(path, cluster string, limits Limits) (_ *Dir, err error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	d := &Dir{path: path, cluster: cluster, limits: limits, open: map[*Segment]bool{}}
	if d.release, err = disk.Lock(filepath.Join(path, lockFile)); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			d.release()
		}
	}()
	for _, pattern := range []string{temporary, damaged} {
		if err := d.leftovers(pattern); err != nil {
			return nil, err
		}
	}
	list, err := numbers(path)
	if err != nil {
		return nil, err
	}
	for _, n := range list {
		d.number = n
		of, err := clusterOf(d.file(n))
		if err == nil && of != cluster {
			return nil, fmt.Errorf("%s has the history of %s, not of %s: name another folder", path, of, cluster)
		}
		info, err := os.Stat(d.file(n))
		if err != nil {
			return nil, err
		}
		if info.Size() > limits.Bytes { // prune would remove all others before it
			bad := &DamagedError{Path: d.file(n), Err: fmt.Errorf("it has %d bytes, and at most %d are kept", info.Size(), limits.Bytes)}
			if bad.setAside(); bad.Moved != "" {
				d.large = append(d.large, bad)
				continue
			}
		}
		d.closed = append(d.closed, closed{n, info.Size(), info.ModTime()})
	}
	if err := d.prune(time.Now()); err != nil && !errors.Is(err, ErrFull) {
		return nil, err
	}
	return d, nil
}

// leftovers removes files that were not completed, and damaged ones after a time.
func (d *Dir) leftovers(ending string) error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasSuffix(e.Name(), suffix+ending) {
			continue
		}
		if ending == temporary || d.aside+info.Size() > d.limits.Bytes/parts {
			if err := os.Remove(filepath.Join(d.path, e.Name())); err != nil {
				return err
			}
			continue
		}
		d.aside += info.Size()
	}
	return nil
}

func clusterOf(path string) (string, error) {
	r, err := newReader(path)
	if err != nil {
		return "", err
	}
	defer r.close()
	h, err := r.header()
	return h.Cluster, err
}

// Entries yields what the folder has, in the order of time, and sets damaged segments
// aside. It yields the error of a segment and continues. Call it before the first Begin.
func (d *Dir) Entries() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for _, bad := range d.large {
			if !yield(Entry{}, bad) {
				return
			}
		}
		for e, err := range Read(d.path) {
			var bad *DamagedError
			if errors.As(err, &bad) {
				bad.setAside()
				d.closed = slices.DeleteFunc(d.closed, func(c closed) bool {
					if d.file(c.number) == bad.Path {
						d.aside += c.size
						return true
					}
					return false
				})
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Read yields what a folder has, in the order of time, while another process may write.
// A *DamagedError is about one segment; others follow.
func Read(path string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		list, err := numbers(path)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		chains := map[string][]int{}
		var order []string
		for _, n := range list {
			h, err := headerOf(path, n)
			if errors.Is(err, fs.ErrNotExist) {
				continue // removed meanwhile
			}
			if err != nil {
				if !yield(Entry{}, err) {
					return
				}
				continue
			}
			id := h.Resource.GroupResource()
			if chains[id] == nil {
				order = append(order, id)
			}
			chains[id] = append(chains[id], n)
		}
		var all []iter.Seq2[Entry, error]
		for _, id := range order {
			all = append(all, chain(path, chains[id]))
		}
		merge(all, yield)
	}
}

func headerOf(path string, number int) (header, error) {
	p := (&Dir{path: path}).file(number)
	r, err := newReader(p)
	if err != nil {
		return header{}, err
	}
	defer r.close()
	h, err := r.header()
	if err != nil {
		return h, &DamagedError{Path: p, Offset: r.offset, Err: err}
	}
	return h, nil
}

// merge yields the entries of several sequences by their time.
func merge(all []iter.Seq2[Entry, error], yield func(Entry, error) bool) {
	type head struct {
		next func() (Entry, error, bool)
		e    Entry
		err  error
	}
	var heads []*head
	for _, s := range all {
		next, stop := iter.Pull2(s)
		defer stop()
		h := &head{next: next}
		var ok bool
		if h.e, h.err, ok = next(); ok {
			heads = append(heads, h)
		}
	}
	for len(heads) > 0 {
		first := 0
		for i, h := range heads {
			if h.err != nil || heads[first].err == nil && h.e.At < heads[first].e.At {
				first = i
			}
		}
		h := heads[first]
		if !yield(h.e, h.err) {
			return
		}
		var ok bool
		if h.e, h.err, ok = h.next(); !ok {
			heads = slices.Delete(heads, first, first+1)
		}
	}
}

// chain yields the entries of the segments of a type.
func chain(path string, list []int) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		complete := false // the segment before was read to its end
		for _, n := range list {
			p := (&Dir{path: path}).file(n)
			r, err := newReader(p)
			if errors.Is(err, fs.ErrNotExist) {
				complete = false
				continue
			}
			if err != nil {
				if complete = false; !yield(Entry{}, err) {
					return
				}
				continue
			}
			err = (&segmentReader{reader: r, quiet: complete, texts: map[uint64][]byte{}}).entries(yield)
			r.close()
			if err == errStopped {
				return
			}
			complete = err == nil
			if err != nil && !yield(Entry{}, &DamagedError{Path: p, Offset: r.offset, Err: err}) {
				return
			}
		}
	}
}

// errStopped means that no more entries are wanted.
var errStopped = errors.New("stopped")

// segmentReader reads the entries of a segment.
type segmentReader struct {
	*reader
	quiet bool              // what it begins with is known, if it continues
	texts map[uint64][]byte // of each object, compressed
}

// entries yields all of a segment. That its last write was cut is its end.
func (r *segmentReader) entries(yield func(Entry, error) bool) error {
	h, err := r.header()
	if err != nil {
		return err
	}
	r.quiet = r.quiet && h.Continues
	give := func(e Entry) bool {
		e.Resource = h.Resource
		return r.quiet || yield(e, nil)
	}
	at := h.At
	if h.Reason == "" && h.Continues {
		h.Reason = "the states before were removed"
	}
	if !give(Entry{At: at, Begin: &Begin{h.Reason}}) || h.Columns != nil && !give(Entry{At: at, Columns: h.Columns}) {
		return errStopped
	}
	ready := false
	for {
		kind, payload, err := r.record()
		if err == io.EOF || err == errTorn {
			if !ready { // a segment appears with all of them
				return errors.New("objects that existed at first are missing")
			}
			return nil
		}
		if err != nil {
			return err
		}
		e := Entry{At: at}
		switch kind {
		case recReady:
			e.Ready = true
			if !give(e) {
				return errStopped
			}
			r.quiet, ready = false, true
			continue
		case recWhole, recDelta:
			if e.State, e.JSON, err = r.state(kind, payload); err != nil {
				return err
			}
			if e.At = e.State.At; e.State.First {
				e.At = at
			}
		case recColumns:
			err = json.Unmarshal(payload, &e.Columns)
		case recGap:
			if err = json.Unmarshal(payload, &e.Gap); err == nil {
				e.At = e.Gap.To
			}
		case recMark:
			err = json.Unmarshal(payload, &e.At)
		default:
			err = fmt.Errorf("a record of kind %q", kind)
		}
		if err != nil {
			return err
		}
		at = max(at, e.At)
		if e.At = at; !give(e) {
			return errStopped
		}
	}
}

// state reads a state, and keeps its text for the next one of the object.
func (r *segmentReader) state(kind byte, payload []byte) (*State, []byte, error) {
	number, n := binary.Uvarint(payload)
	if n <= 0 {
		return nil, nil, errText
	}
	payload = payload[n:]
	if size, err := s2.DecodedLen(payload); err != nil || size > maxText {
		return nil, nil, errText
	}
	var text []byte
	var err error
	if kind == recWhole {
		text, err = s2.Decode(nil, payload)
	} else {
		var before []byte
		if before, err = s2.Decode(nil, r.texts[number]); err != nil {
			return nil, nil, errText
		}
		dict := dictionary(before)
		if dict == nil {
			return nil, nil, errText
		}
		text, err = dict.Decode(nil, payload)
		payload = nil
	}
	if err != nil {
		return nil, nil, err
	}
	st, object, err := parse(text)
	if err != nil {
		return nil, nil, err
	}
	raw, err := codec.ParseRaw(object)
	if err != nil {
		return nil, nil, err
	}
	st.Object = compressed.Of(raw)
	switch {
	case st.Op == Deleted:
		delete(r.texts, number)
	case payload == nil:
		r.texts[number] = bytes.Clone(s2.Encode(nil, text)) // which made room for text that it could not compress
	default:
		r.texts[number] = payload
	}
	return st, object, nil
}
