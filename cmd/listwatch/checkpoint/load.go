package checkpoint

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// errCut is the end of a file within an entry.
var errCut = errors.New("cut")

func damaged(reason string) error { return fmt.Errorf("%w: %s", errDamaged, reason) }

// load reads the file up to its end, or up to an incomplete entry.
func (f *File) load(from io.Reader, id Identity) ([]State, error) {
	in := &reader{r: bufio.NewReaderSize(from, 1<<18)}
	if err := f.loadHeader(in, id); err != nil {
		return nil, err
	}
	l := &loading{File: f, objects: make([]map[object]Object, len(f.streams))}
	for i := range f.streams {
		f.streams[i], l.objects[i] = newStream(), map[object]Object{}
	}
	for {
		f.size = in.at
		b, err := in.entry()
		if errors.Is(err, errCut) || errors.Is(err, io.EOF) {
			if !l.begun { // a file is begun as a whole, so it was cut by somebody else
				return nil, damaged("its beginning is cut")
			}
			l.abandon()
			return l.states(), nil
		}
		if err != nil {
			return nil, err
		}
		if err := l.play(b, in.at-f.size); err != nil {
			return nil, err
		}
	}
}

// Resources returns the resources of the streams of a cluster that the file at path has,
// without their kinds: none if the file cannot be read. It takes no lock.
func Resources(path, cluster string) (rs []kube.Resource) {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	f := &File{}
	if f.readHeader(&reader{r: bufio.NewReader(file)}) != nil {
		return nil
	}
	for _, s := range f.head.Streams {
		if r := s.resource(); s.Cluster == cluster && !slices.Contains(rs, r) {
			rs = append(rs, r)
		}
	}
	return rs
}

func (f *File) loadHeader(in *reader, id Identity) (err error) {
	if err := f.readHeader(in); err != nil {
		return err
	}
	was := f.head.Identity
	f.head.Identity, f.order, err = was.with(id)
	f.streams = make([]stream, len(f.head.Streams))
	f.outdated = was.Server != f.head.Server || was.Cluster != f.head.Cluster || list(was.Streams) != list(f.head.Streams)
	return err
}

func (f *File) readHeader(in *reader) error {
	switch b, err := in.take(len(magic)); {
	case !resembles(b):
		return ErrAlien
	case err != nil || string(b) != magic:
		return orDamaged(err, "it is no checkpoint")
	}
	v := 0
	for {
		b, err := in.take(1)
		if err != nil || b[0] != '\n' && (b[0] < '0' || b[0] > '9' || v > 1<<20) {
			return orDamaged(err, "it is no checkpoint")
		}
		if b[0] == '\n' {
			break
		}
		v = 10*v + int(b[0]-'0')
	}
	switch {
	case v > version:
		return fmt.Errorf("%w: its version is %d, known is %d", ErrNewer, v, version)
	case v < version:
		return damaged("there is no such version")
	}
	b, err := in.entry()
	if err != nil || b[0] != entryHeader {
		return orDamaged(err, "it has no header")
	}
	if f.head, err = codec.Decode[header](b[1:]); err != nil {
		return damaged("its header cannot be read")
	}
	if f.head.Form != codec.RawForm {
		return fmt.Errorf("%w: its objects are written as %.50q, known is %q", ErrNewer, f.head.Form, codec.RawForm)
	}
	return nil
}

// orDamaged returns err, or a damage with this reason if bytes are missing or err is nil.
func orDamaged(err error, reason string) error {
	if err == nil || errors.Is(err, errCut) || errors.Is(err, io.EOF) {
		return damaged(reason)
	}
	return err
}

// loading is a file that is being read.
type loading struct {
	*File
	objects []map[object]Object // by stream
	batch   []step              // not committed yet
	begun   bool                // there was a commit
}

// step is an entry that waits for its commit.
type step struct {
	kind   byte
	stream int
	object
	body     Object // entryPut
	span     span
	revision kube.Revision // entryState
	synced   bool
}

// play executes an entry of size bytes.
func (l *loading) play(b []byte, size int64) error {
	switch b[0] {
	case entryCommit:
		l.commit()
		return nil
	case entryOpened:
		l.abandon()
		return nil
	}
	in := &fields{b: b[1:]}
	s := step{kind: b[0], stream: in.number(len(l.streams))}
	switch s.kind {
	case entryPut:
		s.body = Object{UID: in.text(), Revision: kube.Revision(in.text())}
		if s.body.Raw.UnmarshalBinary(in.b) != nil || s.body.Raw.GetName() == "" {
			in.bad = true
		}
		in.b = nil
		s.object = object{own(&s.body), s.body.UID}
		s.span = span{l.size, int32(size), s.uid}
	case entryRemove:
		s.object = object{kube.Key{Namespace: in.text(), Name: in.text()}, in.text()}
	case entryState:
		s.synced, s.revision = in.number(2) == 1, kube.Revision(in.text())
	default:
		in.bad = true
	}
	if in.bad || len(in.b) > 0 {
		return damaged("an entry that cannot be read")
	}
	l.batch = append(l.batch, s)
	return nil
}

// commit executes the entries of the batch.
func (l *loading) commit() {
	for _, s := range l.batch {
		switch i := s.stream; s.kind {
		case entryPut:
			if old, known := l.streams[i].objects[s.Key]; known {
				delete(l.objects[i], object{s.Key, old.uid})
			}
			l.keep(i, s.Key, s.span)
			l.objects[i][s.object] = s.body
		case entryRemove:
			l.forget(i, s.Key, s.uid)
			delete(l.objects[i], s.object)
		case entryState:
			l.streams[i].synced, l.streams[i].revision = s.synced, s.revision
		}
	}
	l.batch, l.begun = nil, true
}

// abandon keeps the objects of the batch that may have been delivered.
func (l *loading) abandon() {
	for _, s := range l.batch {
		known, ok := l.streams[s.stream].objects[s.Key]
		if s.kind != entryPut || ok && known.uid == s.uid {
			continue
		}
		l.suspect(s.stream, s.object, s.span)
		l.objects[s.stream][s.object] = s.body
	}
	l.batch = nil
}

// states returns the states in the caller's order of streams.
func (l *loading) states() []State {
	states := make([]State, len(l.order))
	for i, j := range l.order {
		s, objects := &l.streams[j], l.objects[j]
		states[i] = State{Revision: s.revision, Synced: s.synced}
		for key, at := range s.objects {
			states[i].Objects = append(states[i].Objects, objects[object{key, at.uid}])
		}
		for o := range s.maybe {
			states[i].Maybe = append(states[i].Maybe, objects[o])
		}
	}
	return states
}

// reader reads entries and counts its position.
type reader struct {
	r   *bufio.Reader
	at  int64
	buf []byte
}

// take returns the next n bytes, valid until the next call: errCut if there are fewer,
// io.EOF if there are none. It allocates memory as bytes arrive, not n at once.
func (r *reader) take(n int) ([]byte, error) {
	b := bytes.NewBuffer(r.buf[:0])
	got, err := io.CopyN(b, r.r, int64(n))
	r.at += got
	r.buf = b.Bytes()
	if errors.Is(err, io.EOF) && got > 0 {
		err = errCut
	}
	return r.buf, err
}

// entry returns the payload of the next entry.
func (r *reader) entry() ([]byte, error) {
	b, err := r.take(entryHead)
	if err != nil {
		return nil, err
	}
	n := int(binary.LittleEndian.Uint32(b))
	if binary.LittleEndian.Uint32(b[4:]) != sum(b[:4]) {
		if r.unfilled(b[4:]) {
			return nil, errCut
		}
		return nil, damaged("a length has changed")
	}
	if n == 0 || n > maxEntry {
		return nil, damaged("a length that cannot be")
	}
	if b, err = r.take(n + 4); err != nil {
		return nil, orCut(err)
	}
	if binary.LittleEndian.Uint32(b[n:]) != sum(b[:n]) {
		if r.unfilled(b[n:]) {
			return nil, errCut
		}
		return nil, damaged("a checksum is wrong")
	}
	return b[:n], nil
}

func orCut(err error) error {
	if errors.Is(err, io.EOF) {
		return errCut
	}
	return err
}

// unfilled reports whether there are only zeros from a checksum to the end of the file: a
// file system had extended the file, but not written the data before a power loss.
func (r *reader) unfilled(checksum []byte) bool {
	if binary.LittleEndian.Uint32(checksum) != 0 {
		return false
	}
	for {
		switch b, err := r.r.ReadByte(); {
		case err != nil:
			return errors.Is(err, io.EOF)
		case b != 0:
			return false
		}
	}
}
