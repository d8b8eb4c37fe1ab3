package file

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/internal/wire"
)

const (
	positionName = "position.json" // as of the last Open
	gapsName     = "gaps.ndjson"   // of segments that were removed
)

// Reader reads a folder, at any time, whoever writes to it. It implements sink.Reader.
type Reader struct{ root string }

// NewReader returns a reader of the folder at path.
func NewReader(path string) *Reader { return &Reader{path} }

// folders returns those of all scopes that match: of one resource, or of all, where a
// token is "*". A folder that was not opened has no position.
func (r *Reader) folders(cluster, group, plural string) ([]folder, error) {
	all := []folder{folder(r.root)}
	for _, token := range []string{cluster, group, plural, "*"} {
		var below []folder
		for _, f := range all {
			if token != "*" {
				below = append(below, folder(filepath.Join(string(f), token)))
				continue
			}
			entries, err := os.ReadDir(string(f))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			for _, e := range entries {
				if name, err := wire.ParseToken(e.Name()); err == nil && wire.Token(name) == e.Name() && !e.Type().IsRegular() {
					below = append(below, folder(filepath.Join(string(f), e.Name())))
				}
			}
		}
		all = below
	}
	return all, nil
}

func (r *Reader) resource(cluster string, res kube.Resource) ([]folder, error) {
	return r.folders(wire.Token(cluster), wire.Token(res.Group), wire.Token(res.Plural))
}

// position returns the position of a folder, nil if it has none.
func (f folder) position() (*sink.Position, error) {
	b, err := os.ReadFile(filepath.Join(string(f), positionName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := wire.DecodePosition(bytes.TrimSpace(b))
	if err != nil {
		return nil, err
	}
	err = f.stable(func() error {
		all, snapshot, _, err := f.segments()
		if err != nil {
			return err
		}
		last := snapshot
		if len(all) > 0 {
			last = all[len(all)-1]
		}
		if last.name == "" {
			return nil
		}
		return f.read(last, func(q sink.Position) error {
			if q.Generation > p.Generation || q.Generation == p.Generation && q.Sequence > p.Sequence {
				p = q
			}
			return nil
		}, nil)
	})
	return &p, err
}

// stable calls do again where a file vanished, because it was merged into another.
func (f folder) stable(do func() error) (err error) {
	for range 10 {
		if err = do(); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return err
}

// replay calls record with each record of the history, in order.
func (f folder) replay(ctx context.Context, record func(sink.Position, sink.Record) error) error {
	return f.after(ctx, 0, record)
}

// after is replay of the commits after one.
func (f folder) after(ctx context.Context, done int64, record func(sink.Position, sink.Record) error) error {
	return f.stable(func() error {
		all, _, _, err := f.segments()
		if err != nil {
			return err
		}
		for _, s := range all {
			if s.last <= done {
				continue
			}
			var at sink.Position
			begin := done
			err := f.read(s, func(p sink.Position) error {
				done, at = max(done, at.Sequence), p // the commit before has ended
				return ctx.Err()
			}, func(rec sink.Record) error {
				if at.Sequence <= begin {
					return nil
				}
				return record(at, rec)
			})
			if err != nil {
				return err
			}
			done = max(done, at.Sequence)
		}
		return nil
	})
}

// table returns what the table holds, by key: the last record of each object. The objects
// themselves are left out unless they are wanted. last is the commit that it is of.
func (f folder) table(ctx context.Context, objects bool) (rows map[kube.Key]sink.Record, last sink.Position, err error) {
	err = f.stable(func() error {
		rows = map[kube.Key]sink.Record{}
		_, snapshot, _, err := f.segments()
		if err != nil {
			return err
		}
		apply := func(p sink.Position, rec sink.Record) error {
			last = p
			switch rec.Type {
			case sink.Gap:
			case sink.Deleted, sink.Left:
				if rows[rec.Key()].UID == rec.UID {
					delete(rows, rec.Key())
				}
			default:
				if !objects || p.Scope.Mode == sink.ModeHistory {
					rec.Object = nil
				}
				if !objects {
					rec.Labels = nil
				}
				rows[rec.Key()] = rec
			}
			return nil
		}
		if snapshot.name != "" {
			err := f.read(snapshot, func(p sink.Position) error { last = p; return nil }, func(rec sink.Record) error { return apply(last, rec) })
			if err != nil {
				return err
			}
		}
		return f.after(ctx, snapshot.last, apply)
	})
	return rows, last, err
}

// Positions returns the positions of all scopes; see sink.Reader.
func (r *Reader) Positions(context.Context) ([]sink.Position, error) {
	folders, err := r.folders("*", "*", "*")
	if err != nil {
		return nil, err
	}
	var all []sink.Position
	for _, f := range folders {
		p, err := f.position()
		if err != nil {
			return nil, err
		}
		if p != nil {
			all = append(all, *p)
		}
	}
	slices.SortFunc(all, func(a, b sink.Position) int {
		return cmp.Or(cmp.Compare(a.Scope.Cluster, b.Scope.Cluster), cmp.Compare(a.Scope.Resource.Group, b.Scope.Resource.Group),
			cmp.Compare(a.Scope.Resource.Plural, b.Scope.Resource.Plural), cmp.Compare(a.Scope.Shard, b.Scope.Shard))
	})
	return all, nil
}

// Rows iterates the table of a resource, which it holds in memory; see sink.Reader.
func (r *Reader) Rows(ctx context.Context, cluster string, res kube.Resource) iter.Seq2[sink.Row, error] {
	return func(yield func(sink.Row, error) bool) {
		folders, err := r.resource(cluster, res)
		var all []sink.Record
		for _, f := range folders {
			rows, _, readErr := f.table(ctx, true)
			all, err = slices.AppendSeq(all, maps.Values(rows)), errors.Join(err, readErr)
		}
		if err != nil {
			yield(sink.Row{}, err)
			return
		}
		slices.SortFunc(all, func(a, b sink.Record) int { return cmp.Or(a.Key().Compare(b.Key()), cmp.Compare(a.Shard, b.Shard)) })
		for i := range all {
			if !yield(sink.RowOf(&all[i]), nil) {
				return
			}
		}
	}
}

// errStop ends a replay whose reader wants no more.
var errStop = errors.New("stop")

// Records iterates the history of a resource, shard by shard; see sink.Reader.
func (r *Reader) Records(ctx context.Context, cluster string, res kube.Resource) iter.Seq2[sink.Record, error] {
	return func(yield func(sink.Record, error) bool) {
		folders, err := r.resource(cluster, res)
		for _, f := range folders {
			err = f.replay(ctx, func(p sink.Position, rec sink.Record) error {
				if p.Scope.Mode == sink.ModeTable && rec.Type != sink.Gap && rec.Type != sink.Quarantined {
					return nil
				}
				if !yield(rec, nil) {
					return errStop
				}
				return nil
			})
			if err != nil {
				break
			}
		}
		if err != nil && !errors.Is(err, errStop) {
			yield(sink.Record{}, err)
		}
	}
}

// Gaps returns the GAP records of a resource; see sink.Reader.
func (r *Reader) Gaps(ctx context.Context, cluster string, res kube.Resource) ([]sink.Record, error) {
	folders, err := r.resource(cluster, res)
	if err != nil {
		return nil, err
	}
	var all []sink.Record
	for _, f := range folders {
		seen := map[string]bool{}
		add := func(rec sink.Record) error {
			if rec.Type == sink.Gap && !seen[rec.ID] {
				seen[rec.ID] = true
				all = append(all, rec)
			}
			return nil
		}
		if err := f.removedGaps(add); err != nil {
			return nil, err
		}
		if err := f.replay(ctx, func(_ sink.Position, rec sink.Record) error { return add(rec) }); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// removedGaps calls add with the GAP records of the segments that were removed.
func (f folder) removedGaps(add func(sink.Record) error) error {
	err := f.read(segment{name: gapsName}, func(sink.Position) error { return nil }, add)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
