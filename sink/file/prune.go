package file

import (
	"context"
	"errors"
	"io"
	"maps"
	"time"

	"github.com/listwatch/listwatch/sink"
)

// Prune removes segments all of whose records are older than before, at most limit of them,
// and returns how many. GAP records are kept.
func (s *Sink) Prune(ctx context.Context, before time.Time, limit int) (n int64, err error) {
	s.mu.Lock()
	open := maps.Clone(s.scopes)
	s.mu.Unlock()
	for f, possessed := range open {
		possessed.mu.Lock()
		removed, err := f.prune(ctx, before, limit-int(n))
		possessed.mu.Unlock()
		if n += int64(removed); err != nil {
			return n, err
		}
	}
	return n, nil
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
