package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/listwatch/listwatch/sink"
)

// Prune removes segments all of whose records are older than before, at most limit of them,
// and returns how many. GAP records are kept. It does so in the folders of all scopes, whether they
// are open or not; if it fails in some, it continues with the others.
func (s *Sink) Prune(ctx context.Context, before time.Time, limit int) (n int64, err error) {
	all, err := s.folders("*", "*", "*")
	for _, f := range all {
		if n >= int64(limit) || ctx.Err() != nil {
			break
		}
		p := s.possession(f)
		if p == nil {
			return n, fmt.Errorf("prune %s: the folder is closed", s.root)
		}
		p.mu.Lock()
		removed, failed := f.prune(ctx, before, limit-int(n))
		p.mu.Unlock()
		n, err = n+int64(removed), errors.Join(err, failed)
	}
	return n, errors.Join(err, ctx.Err())
}

func (f folder) prune(ctx context.Context, before time.Time, limit int) (int, error) {
	all, snapshot, _, err := f.segments()
	if err != nil {
		return 0, err
	}
	var old []segment
	var gaps []sink.Record
	for _, s := range all {
		if len(old) >= limit {
			break
		}
		latest := time.Time{}
		err := f.read(s, func(p sink.Position) error { latest = p.Time; return ctx.Err() }, nil)
		if err != nil {
			return 0, err
		}
		if !latest.Before(before) {
			break
		}
		old = append(old, s)
	}
	if len(old) == 0 {
		return 0, nil
	}
	keep := func(rec sink.Record) error {
		if rec.Type == sink.Gap {
			gaps = append(gaps, rec)
		}
		return nil
	}
	if err := f.removedGaps(keep); err != nil {
		return 0, err
	}
	had := len(gaps)
	for _, s := range old {
		if err := f.read(s, func(sink.Position) error { return ctx.Err() }, keep); err != nil {
			return 0, err
		}
	}
	if old[len(old)-1].last > snapshot.last {
		if err := f.snapshot(); err != nil {
			return 0, err
		}
	}
	if len(gaps) > had {
		err := f.write(gapsName, func(w io.Writer) error {
			var err error
			for _, g := range gaps {
				err = errors.Join(err, writeRecord(w, g))
			}
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return len(old), f.remove(old)
}
