// Package checkpoint records in a file what a watcher has delivered to its reader. The
// next run continues from that file.
//
// The file is a log with one entry for each delivered object, and one entry for the
// revision of each stream. An entry is written before the delivery, and committed when
// the reader has accepted everything, so the committed state is never ahead of the
// reader. Without the first write, an object that was delivered just before the process
// died would be forgotten. If the server then lost its history before the next run, the
// deletion of that object would be forgotten too.
//
// A killed process leaves at worst an incomplete last entry. After a power loss, entries
// since the last Sync may be missing. When the log is more than twice as large as its
// current entries, a file with only these entries replaces it.
//
//	f, states, err := checkpoint.Open(path, identity)
//	// resume stream i at states[i].Revision; the reader knows states[i].Objects
//	f.Put(i, object)   // before it is delivered
//	f.Move(i, rev)     // with it, everything up to rev is delivered
//	err = f.Write()
//	// deliver
//	err = f.Commit()
//
// A snapshot of package cache is something else: it is taken from time to time, before
// handlers are called, and does not record what a reader has accepted.
package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// Kinds of errors, for errors.Is: those of Open, and ErrLost of Sync.
var (
	ErrForeign = errors.New("checkpoint of something else") // another cluster, other streams, another form
	ErrNewer   = errors.New("checkpoint of a newer format") // by a later release
	ErrLocked  = errors.New("in use")                       // by another process
	ErrLost    = errors.New("removed or replaced by somebody else, while in use")
	ErrUnread  = errors.New("what was written cannot be read back") // the file is damaged
	errDamaged = errors.New("damaged")
)

// File is an open checkpoint. It is for one goroutine, and belongs to one process.
type File struct {
	// Damage is why the existing file could not be used, and Aside its new path; nil and
	// empty if there was no damage.
	Damage error
	Aside  string

	path    string
	file    *os.File
	unlock  func()
	to      io.WriterAt // file, unless a test replaces it, as it may sync and syncDir
	sync    func(*os.File) error
	syncDir func(string) error
	head    header
	order   []int // the caller's number of a stream to the file's
	streams []stream
	size    int64 // of the file
	live    int64 // of the entries that a compaction keeps
	buf     []byte
	pending bool // written, not committed
	dirty   bool // written, not synced

	outdated bool // the header in the file is older than head
	err      error
}

// stream is the state of one stream, by the log so far.
type stream struct {
	revision kube.Revision // where to resume; empty = list
	synced   bool          // the whole collection was delivered once
	objects  map[kube.Key]span
	maybe    map[object]span // perhaps delivered, see State
}

// object identifies an object, also among others of the same name.
type object struct {
	kube.Key
	uid string
}

// span is where the entry of an object is.
type span struct {
	at   int64
	size int32
	uid  string
}

// State is what earlier runs have delivered of one stream. The zero value is nothing.
type State struct {
	Revision kube.Revision // everything up to it was delivered; empty = a list was in progress
	Synced   bool          // the whole collection was delivered once
	Objects  []Object

	// Maybe are objects that a process wrote but did not commit: they may have been
	// delivered. One that does not exist any more was deleted.
	Maybe []Object
}

// Object is an existing object, in the state that was delivered last.
type Object struct {
	UID      string
	Revision kube.Revision
	Raw      codec.Raw
}

// Put records that o exists.
func (f *File) Put(i int, o Object) error {
	raw, err := o.Raw.MarshalBinary()
	if err != nil {
		return err
	}
	i = f.order[i]
	at := f.size + int64(len(f.buf))
	f.put(i, o, raw)
	f.keep(i, own(&o), span{at, int32(f.size + int64(len(f.buf)) - at), strings.Clone(o.UID)})
	return nil
}

// Suspect records, before the Put of o, that o may have been delivered. It needs no
// Commit, so the caller must commit earlier entries first.
func (f *File) Suspect(i int, o Object) error {
	raw, err := o.Raw.MarshalBinary()
	if err != nil {
		return err
	}
	i = f.order[i]
	key := own(&o)
	if known, ok := f.streams[i].objects[key]; ok && known.uid == o.UID {
		return nil
	}
	at := f.size + int64(len(f.buf))
	f.put(i, o, raw)
	f.suspect(i, object{key, strings.Clone(o.UID)}, span{at, int32(f.size + int64(len(f.buf)) - at), strings.Clone(o.UID)})
	f.entry(entryOpened, nil)
	return nil
}

func (f *File) put(i int, o Object, raw []byte) {
	f.entry(entryPut, func(b []byte) []byte {
		b = appendNumber(b, i)
		b = appendText(b, o.UID)
		b = appendText(b, string(o.Revision))
		return append(b, raw...)
	})
}

// own returns the key of o in memory of its own: the index may live longer than o.
func own(o *Object) kube.Key {
	return kube.Key{Namespace: strings.Clone(o.Raw.GetNamespace()), Name: strings.Clone(o.Raw.GetName())}
}

// Remove records that an object was deleted.
func (f *File) Remove(i int, key kube.Key, uid string) {
	i = f.order[i]
	if f.forget(i, key, uid) {
		f.entry(entryRemove, func(b []byte) []byte {
			return appendText(appendText(appendText(appendNumber(b, i), key.Namespace), key.Name), uid)
		})
	}
}

// Move records that the whole collection and all changes up to rev are delivered.
func (f *File) Move(i int, rev kube.Revision) { f.state(f.order[i], rev, true) }

// List records the begin of a list, whose objects come in no order of revisions: the
// next run must list too, unless a Move follows.
func (f *File) List(i int) { f.state(f.order[i], "", f.streams[f.order[i]].synced) }

func (f *File) state(i int, rev kube.Revision, synced bool) {
	s := &f.streams[i]
	if s.revision == rev && s.synced == synced {
		return
	}
	s.revision, s.synced = rev, synced
	f.entry(entryState, func(b []byte) []byte { return appendState(b, i, s) })
}

func newStream() stream {
	return stream{objects: map[kube.Key]span{}, maybe: map[object]span{}}
}

// keep sets the place of an object's entry.
func (f *File) keep(i int, key kube.Key, s span) {
	f.forget(i, key, s.uid)
	f.live += int64(s.size) - int64(f.streams[i].objects[key].size)
	f.streams[i].objects[key] = s
}

// suspect sets the place of the entry of an object that may have been delivered.
func (f *File) suspect(i int, o object, s span) {
	f.live += int64(s.size) - int64(f.streams[i].maybe[o].size)
	f.streams[i].maybe[o] = s
}

// forget removes an object from the state, and reports whether it was there.
func (f *File) forget(i int, key kube.Key, uid string) bool {
	s := &f.streams[i]
	known, certain := s.objects[key]
	if certain = certain && known.uid == uid; certain {
		f.live -= int64(known.size)
		delete(s.objects, key)
	}
	o := object{key, uid}
	perhaps, maybe := s.maybe[o]
	if maybe {
		f.live -= int64(perhaps.size)
		delete(s.maybe, o)
	}
	return certain || maybe
}

// slack is how many bytes more than twice its current entries a log may have.
const slack = 64 << 10

// Write writes the recorded entries without a commit. After an error the file has the
// same content as before, and nothing more is written.
func (f *File) Write() error {
	if f.err != nil || len(f.buf) == 0 {
		return f.err
	}
	if _, err := f.to.WriteAt(f.buf, f.size); err != nil {
		_ = f.file.Truncate(f.size) // else the next run finds that the end is cut
		return f.fail(err)
	}
	f.size += int64(len(f.buf))
	f.dirty = true
	if f.buf = f.buf[:0]; cap(f.buf) > 1<<20 { // after a giant
		f.buf = nil
	}
	f.pending = true
	return nil
}

// Commit writes and commits the recorded entries: they survive the process.
func (f *File) Commit() error {
	if f.err != nil || len(f.buf) == 0 && !f.pending {
		return f.err
	}
	f.entry(entryCommit, nil)
	if err := f.Write(); err != nil {
		return err
	}
	f.pending = false
	if f.size > 2*f.live+slack {
		if err := f.compact(); err != nil {
			return f.fail(err)
		}
	}
	return nil
}

// Back discards the entries since the last Commit, as if the process had died here: what
// is already written of them may have been delivered.
func (f *File) Back() error {
	f.buf = f.buf[:0]
	f.entry(entryOpened, nil)
	if err := f.Write(); err != nil {
		return err
	}
	order := f.order
	f.live, f.pending = 0, false
	if _, err := f.load(io.NewSectionReader(f.file, 0, f.size), f.head.Identity); err != nil {
		return f.fail(err)
	}
	f.order = order
	return nil
}

// Admit commits the recorded entries, and adds what id has more than the Identity in use:
// the streams, behind the others, of a cluster that was late. It returns the states of all
// streams of id. After an error nothing more is written.
func (f *File) Admit(id Identity) ([]State, error) {
	if err := f.Commit(); err != nil {
		return nil, err
	}
	f.live = 0
	states, err := f.load(io.NewSectionReader(f.file, 0, f.size), id)
	if err == nil && f.outdated {
		err = f.compact()
	}
	if err != nil {
		return nil, f.fail(err)
	}
	return states, nil
}

// Sync calls Write and syncs the file, so that its content survives a power loss. It
// fails with ErrLost if the path no longer names this file.
func (f *File) Sync() error {
	if err := f.Write(); err != nil {
		return err
	}
	ours, err := f.file.Stat()
	if err != nil {
		return f.fail(err)
	}
	now, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !os.SameFile(ours, now):
		return f.fail(ErrLost)
	case err != nil:
		return f.fail(err)
	case !f.dirty:
		return nil
	}
	if err := f.sync(f.file); err != nil {
		return f.fail(err)
	}
	f.dirty = false
	return nil
}

// Close calls Sync, then closes and unlocks the file.
func (f *File) Close() error {
	err := f.Sync()
	if e := f.release(); err == nil && e != nil {
		err = f.fail(e)
	}
	return err
}

func (f *File) fail(err error) error {
	if p, ok := err.(*fs.PathError); ok { // its path may be what the file was called before a compaction
		err = fmt.Errorf("%s: %w", p.Op, p.Err)
	}
	f.err = fmt.Errorf("checkpoint %s: %w", f.path, err)
	return f.err
}
