// Package checkpoint keeps what a watcher has told its reader, in a file from which
// the next run goes on.
//
// The file is a log: one entry for each object that was told of, and one for how
// far each stream has come. Entries are written before the reader is told,
// and committed when it has taken all of it, so the file is never ahead. Without the
// first, an object that was told just as the process died would be forgotten, and
// so would be its deletion, where the server's history is lost by the next run.
//
// A process that is killed leaves at worst a cut last entry; what is written is
// synced by Sync, so that a power loss costs what was written since. When the log is
// more than twice as large as what it amounts to, it is replaced by that.
//
//	f, states, err := checkpoint.Open(path, identity)
//	// resume stream i at states[i].Revision, knowing states[i].Objects
//	f.Put(i, object)   // it is being told
//	f.Move(i, rev)     // and with it all up to rev
//	err = f.Write()
//	// tell
//	err = f.Commit()
//
// It is no snapshot of package cache: that is taken from time to time, and noted
// before handlers hear of anything; it cannot say what a reader has taken.
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

// What errors are to errors.Is: those of Open, and ErrLost of Sync.
var (
	ErrForeign = errors.New("checkpoint of something else") // another cluster, other streams, another form
	ErrNewer   = errors.New("checkpoint of a newer format") // by a later release
	ErrLocked  = errors.New("checkpoint in use")            // by another process
	ErrLost    = errors.New("removed or replaced by somebody else, while in use")
	ErrUnread  = errors.New("what was written cannot be read back") // the file is damaged
	errDamaged = errors.New("damaged")
)

// File is an open checkpoint. It is for one goroutine, and belongs to one process.
type File struct {
	// Damage says why what was found could not be used, and Aside where it was
	// put; nil and empty where nothing was wrong.
	Damage error
	Aside  string

	path    string
	file    *os.File
	to      io.WriterAt // file, unless a test knows better; so are these
	sync    func(*os.File) error
	syncDir func(string) error
	head    header
	order   []int // the caller's number of a stream to the file's
	streams []stream
	size    int64 // of what is in the file
	live    int64 // of it, what would be left by a compaction
	buf     []byte
	pending bool // written, not committed
	dirty   bool // written, not synced
	err     error
}

// stream is the state of one stream, as the log has it so far.
type stream struct {
	revision kube.Revision // where to resume; empty = list
	synced   bool          // the whole collection was told once
	objects  map[kube.Key]span
	maybe    map[object]span // perhaps told, see State
}

// object tells namesakes apart.
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

// State is what an earlier run has told of one stream. The zero value is nothing.
type State struct {
	Revision kube.Revision // all up to it was told; empty = a list was under way
	Synced   bool          // the whole collection was told once
	Objects  []Object

	// Maybe are objects of which a process wrote, and did not commit it: the reader
	// may have been told that they exist. One that is found to be gone was deleted.
	Maybe []Object
}

// Object is one that exists, as it was told last.
type Object struct {
	UID      string
	Revision kube.Revision
	Raw      codec.Raw
}

// Put notes that o exists.
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

// Suspect notes that o may have been told, ahead of its Put. It counts at once, so what
// was noted before it must be committed.
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

// own returns the key of o, not in its memory: the index may live longer.
func own(o *Object) kube.Key {
	return kube.Key{Namespace: strings.Clone(o.Raw.GetNamespace()), Name: strings.Clone(o.Raw.GetName())}
}

// Remove notes that an object is gone.
func (f *File) Remove(i int, key kube.Key, uid string) {
	i = f.order[i]
	if f.forget(i, key, uid) {
		f.entry(entryRemove, func(b []byte) []byte {
			return appendText(appendText(appendText(appendNumber(b, i), key.Namespace), key.Name), uid)
		})
	}
}

// Move notes that the whole collection is told, and all changes up to rev.
func (f *File) Move(i int, rev kube.Revision) { f.state(f.order[i], rev, true) }

// List notes that a list began whose objects come in no order: the next run has
// to list too, unless a Move follows.
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

// keep notes where an object is.
func (f *File) keep(i int, key kube.Key, s span) {
	f.forget(i, key, s.uid)
	f.live += int64(s.size) - int64(f.streams[i].objects[key].size)
	f.streams[i].objects[key] = s
}

// suspect notes where an object is that may have been told.
func (f *File) suspect(i int, o object, s span) {
	f.live += int64(s.size) - int64(f.streams[i].maybe[o].size)
	f.streams[i].maybe[o] = s
}

// forget reports whether there was anything to forget.
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

// slack is how much a log may always be larger than what it amounts to.
const slack = 64 << 10

// Write writes what was noted, not yet for good. After an error, the file holds what
// it held before, and nothing more is written.
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

// Commit makes good what was noted: it survives the process.
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

// Back forgets what was noted since the last Commit: what of it is written already may
// have been told, as if the process had died here.
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

// Sync is Write, after which what is in the file survives the machine. It fails with
// ErrLost where the next process would not find it.
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

// Close is Sync, and lets go of the file.
func (f *File) Close() error {
	err := f.Sync()
	if e := release(f.file); err == nil && e != nil {
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
