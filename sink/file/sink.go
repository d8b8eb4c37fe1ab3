package file

import (
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/listwatch/listwatch/internal/disk"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/internal/wire"
)

// Options say how a folder is used. The zero value is the recommended setting.
type Options struct {
	// Merge is how many segments of one commit are merged into one of many. Default 500.
	Merge int

	// SnapshotBytes is how many bytes of segments there are at least between two
	// snapshots of the table, which have as many bytes as half of them at most. Default
	// 16 MiB.
	SnapshotBytes int64
}

// Sink is a folder that this process writes to. Its methods may be called from any
// goroutine.
type Sink struct {
	Reader
	o       Options
	release func()

	mu     sync.Mutex
	scopes map[folder]*possession
}

// possession is the folder of a scope, which may be opened.
type possession struct {
	mu    sync.Mutex // held while files of the folder are written
	pos   sink.Position
	valid bool // it is open, and what pos says is what the folder holds
	fresh int  // segments of one commit
}

var (
	_ sink.Sink   = (*Sink)(nil)
	_ sink.Reader = (*Reader)(nil)
)

// Open opens the folder at path, and makes it if there is none. It fails with a
// *disk.LockedError where another process writes to it.
func Open(path string, o Options) (*Sink, error) {
	if o.Merge <= 0 {
		o.Merge = 500
	}
	if o.SnapshotBytes <= 0 {
		o.SnapshotBytes = 16 << 20
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	release, err := disk.Lock(filepath.Join(path, "lock"))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return &Sink{Reader: Reader{path}, o: o, release: release, scopes: map[folder]*possession{}}, nil
}

// Close lets another process write to the folder. No method may be under way; a Commit
// after it is fenced.
func (s *Sink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scopes = nil
	s.release()
	return nil
}

// possession returns that of a folder, nil if the sink is closed.
func (s *Sink) possession(f folder) *possession {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scopes == nil {
		return nil
	}
	p := s.scopes[f]
	if p == nil {
		p = new(possession)
		s.scopes[f] = p
	}
	return p
}

// Open takes possession of a scope; see sink.Sink.
func (s *Sink) Open(ctx context.Context, scope sink.Scope) (sink.Position, sink.Known, error) {
	f := of(s.root, scope)
	possessed := s.possession(f)
	if possessed == nil {
		return sink.Position{}, nil, fmt.Errorf("%s: the folder is closed: %w", scope, sink.ErrRefused) // and may be another's
	}
	possessed.mu.Lock()
	defer possessed.mu.Unlock()
	siblings, err := s.siblings(scope)
	if err != nil {
		return sink.Position{}, nil, err
	}
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return sink.Position{}, nil, err
	}
	for dir := string(f); dir != s.root; dir = filepath.Dir(dir) {
		if err := disk.SyncDir(filepath.Dir(dir)); err != nil {
			return sink.Position{}, nil, err
		}
	}
	// A commit of unknown outcome that can be seen must be there for ever.
	if err := disk.SyncDir(string(f)); err != nil {
		return sink.Position{}, nil, err
	}
	stored, err := f.position()
	if err != nil {
		return sink.Position{}, nil, err
	}
	p, err := wire.Take(scope, stored, siblings)
	if err != nil {
		return sink.Position{}, nil, err
	}
	if err := f.clean(); err != nil {
		return sink.Position{}, nil, err
	}
	possessed.valid = false // until it is known what the folder holds
	err = f.write(positionName, func(w io.Writer) error {
		_, err := w.Write(append(wire.EncodePosition(p), '\n'))
		return err
	})
	if err != nil {
		return sink.Position{}, nil, err
	}
	all, _, _, err := f.segments()
	if err != nil {
		return sink.Position{}, nil, err
	}
	fresh := 0
	for _, segment := range all {
		if segment.first == segment.last {
			fresh++
		}
	}
	possessed.pos, possessed.valid, possessed.fresh = p, true, fresh
	return p, f.known, nil
}

// siblings returns the positions of all shards of the resource.
func (s *Sink) siblings(scope sink.Scope) (all []sink.Position, err error) {
	folders, err := s.resource(scope.Cluster, scope.Resource)
	if err != nil {
		return nil, err
	}
	for _, f := range folders {
		p, err := f.position()
		if err != nil {
			return nil, err
		}
		if p != nil {
			all = append(all, *p)
		}
	}
	return all, nil
}

// clean removes what processes left behind that were killed.
func (f folder) clean() error {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".new-") {
			if err := os.Remove(filepath.Join(string(f), e.Name())); err != nil {
				return err
			}
		}
	}
	_, _, stale, err := f.segments()
	if err != nil {
		return err
	}
	return f.remove(stale)
}

func (f folder) known(ctx context.Context) iter.Seq2[sink.Held, error] {
	return func(yield func(sink.Held, error) bool) {
		rows, _, err := f.table(ctx, false)
		if err != nil {
			yield(sink.Held{}, err)
			return
		}
		for key, r := range rows {
			if !yield(sink.Held{Key: key, UID: r.UID, Revision: r.Revision, Epoch: r.Epoch}, nil) {
				return
			}
		}
	}
}

// Commit writes records and position as one segment; see sink.Sink.
func (s *Sink) Commit(_ context.Context, records []sink.Record, p sink.Position) error {
	f := of(s.root, p.Scope)
	possessed := s.possession(f)
	if possessed == nil {
		return fmt.Errorf("%s: the folder is closed: %w", p.Scope, sink.ErrFenced)
	}
	possessed.mu.Lock()
	defer possessed.mu.Unlock()
	if !possessed.valid || possessed.pos.Generation != p.Generation || possessed.pos.Sequence != p.Sequence-1 {
		return fmt.Errorf("%s, generation %d, commit %d: %w", p.Scope, p.Generation, p.Sequence, sink.ErrFenced)
	}
	possessed.valid = false // after an error only the folder says what it holds
	err := f.write(segment{first: p.Sequence, last: p.Sequence, revision: p.Revision}.fileName(), func(w io.Writer) error {
		if err := writePosition(w, p); err != nil {
			return err
		}
		for _, r := range records {
			if err := writeRecord(w, r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	possessed.pos, possessed.valid = p, true
	if possessed.fresh++; possessed.fresh >= s.o.Merge {
		possessed.fresh = 0
		if err := s.merge(f); err != nil {
			return fmt.Errorf("merge the segments of %s: %w", p.Scope, err)
		}
	}
	return nil
}

// merge writes the segments of one commit as one, and a snapshot when there is much to
// replay since the last.
func (s *Sink) merge(f folder) error {
	all, snapshot, stale, err := f.segments()
	if err != nil {
		return err
	}
	if err := f.remove(stale); err != nil {
		return err
	}
	from := slices.IndexFunc(all, func(s segment) bool { return s.first == s.last })
	if from < 0 || len(all)-from < 2 {
		return nil
	}
	parts := all[from:] // merged ones are before them
	whole := segment{first: parts[0].first, last: parts[len(parts)-1].last, revision: parts[len(parts)-1].revision}
	err = f.write(whole.fileName(), func(w io.Writer) error {
		for _, part := range parts {
			if err := f.copyTo(w, part); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := f.remove(parts); err != nil {
		return err
	}
	replayed := int64(0)
	for _, s := range all {
		if s.last > snapshot.last {
			replayed += s.size
		}
	}
	if replayed < max(s.o.SnapshotBytes, 2*snapshot.size) {
		return nil
	}
	return f.snapshot()
}

func (f folder) copyTo(w io.Writer, s segment) error {
	file, err := os.Open(filepath.Join(string(f), s.name))
	if err != nil {
		return err
	}
	defer file.Close() // it is only read
	_, err = io.Copy(w, file)
	return err
}

// snapshot writes the table as of the last segment, from which replays begin.
func (f folder) snapshot() error {
	rows, _, err := f.table(context.Background(), true)
	if err != nil {
		return err
	}
	p, err := f.position()
	if err != nil || p == nil || p.Sequence == 0 {
		return err
	}
	name := segment{last: p.Sequence, revision: p.Revision}.fileName()
	err = f.write(name, func(w io.Writer) error {
		if err := writePosition(w, *p); err != nil {
			return err
		}
		for _, key := range slices.SortedFunc(maps.Keys(rows), kube.Key.Compare) {
			if err := writeRecord(w, rows[key]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, _, stale, err := f.segments()
	if err != nil {
		return err
	}
	return f.remove(stale)
}
