package main

import (
	"maps"
	"slices"

	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/watch"
)

// backlog are records whose hooks have not ended, in their order. It holds at most
// some for each object, however long a hook takes: of those that wait behind it, only
// the last of an object is kept, and they are noted together or not at all.
type backlog struct {
	records []record.Record
	seqs    []int64 // what must be finished for a record to be noted
	closed  int     // so many at the front are never again put together with later ones
	limit   int
}

// leastBacklog is how many records wait before it is worth looking what may go.
const leastBacklog = 1024

func (l *backlog) add(records []record.Record, spots []spot) {
	for i, r := range records {
		r.Old = record.Record{}.Old
		if r.Type == string(watch.Deleted) {
			r.Object = record.Record{}.Object
		}
		l.records = append(l.records, r)
		l.seqs = append(l.seqs, spots[i].seq)
	}
	if len(l.records) <= max(l.limit, leastBacklog) {
		return
	}
	l.shrink()
	l.limit = 2 * len(l.records)
}

// shrink keeps of the records behind those that are closed the last of each object,
// and the last mark of each kind.
func (l *backlog) shrink() {
	type identity struct {
		mark record.Mark
		record.Incarnation
	}
	of := func(r *record.Record) identity {
		if r.IsObject() {
			return identity{record.NoMark, r.Incarnation()}
		}
		return identity{r.Mark, record.Incarnation{Stream: r.Stream}}
	}
	tail := l.records[l.closed:]
	last := map[identity]int{}
	for i := range tail {
		last[of(&tail[i])] = i
	}
	keep := slices.Sorted(maps.Values(last))
	end := l.seqs[len(l.seqs)-1]
	records, seqs := slices.Clone(l.records[:l.closed]), slices.Clone(l.seqs[:l.closed])
	for _, i := range keep {
		records, seqs = append(records, tail[i]), append(seqs, end)
	}
	l.records, l.seqs = records, seqs
	if l.closed == 0 {
		l.closed = len(records) // else it would never be finished where more comes all the time
	}
}

// take returns the records at the front that are finished where all is up to done.
func (l *backlog) take(done int64) []record.Record {
	n := 0
	for n < len(l.seqs) && l.seqs[n] <= done {
		n++
	}
	records := l.records[:n:n]
	l.records, l.seqs, l.closed = l.records[n:], l.seqs[n:], max(0, l.closed-n)
	if len(l.records) == 0 {
		*l = backlog{}
	}
	return records
}

// beginSuspected is begin for records that are not done when they are delivered: it records
// objects that are new to the reader as possibly delivered.
func (k *keeper) beginSuspected(records []record.Record, prints bool) error {
	isNew := func(r record.Record) bool { return r.Type == string(watch.Added) }
	if !prints || !slices.ContainsFunc(records, isNew) {
		return nil
	}
	if err := k.file.Commit(); err != nil { // the finished records
		return k.broken(err)
	}
	for i := range records {
		r := &records[i]
		if !isNew(*r) {
			continue
		}
		o, err := k.stored(r)
		if err == nil {
			err = k.file.Suspect(r.Stream, o)
		}
		if err != nil {
			return k.broken(err)
		}
	}
	return k.broken(k.file.Write())
}

// finish notes what hooks have finished, all up to done.
func (k *keeper) finish(done int64) error {
	records := k.late.take(done)
	if len(records) == 0 {
		return nil
	}
	if err := k.begin(records, false); err != nil {
		return err
	}
	return k.done()
}

// remember keeps the marks of begin until they are committed.
func (k *keeper) remember(committed bool) {
	if committed {
		clear(k.moved)
	} else if len(k.begun) > 0 {
		if k.moved == nil {
			k.moved = map[int][]record.Record{}
		}
		for _, r := range k.begun {
			k.moved[r.Stream] = append(slices.DeleteFunc(k.moved[r.Stream], func(o record.Record) bool { return o.Mark == r.Mark }), r)
		}
	}
	k.begun = k.begun[:0]
}

// took notes that the reader has taken these of the records of begin, and then none.
func (k *keeper) took(records []record.Record) error {
	k.begun = nil
	k.lost.back()
	if err := k.file.Back(); err != nil {
		return err
	}
	if err := k.begin(slices.Concat(append(slices.Collect(maps.Values(k.moved)), records)...), false); err != nil {
		return err
	}
	return k.note()
}
