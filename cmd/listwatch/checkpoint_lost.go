package main

import (
	"strconv"

	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/kube"
)

// A server that was restored to an earlier state counts its revisions again. Once that is
// found, the checkpoint must not keep the revision of before: by the next run the server may
// have gone beyond it, and what the restore has undone would never be known. The list that
// tells it may take long, so the checkpoint forgets the revision before it is requested, and
// marks that are still under way, as behind hooks or --debounce, do not bring it back.

// losses are the streams whose revisions do not count up to a mark that is under way.
type losses struct {
	last    int
	of      map[int]kube.Revision // by stream: At of the MarkLost that ends it
	passing map[int]kube.Revision // those that begin has seen and note has not
}

// begin notes a loss of a stream, and returns the mark that ends it.
func (l *losses) begin(stream int) record.Record {
	l.last++
	if l.of == nil {
		l.of, l.passing = map[int]kube.Revision{}, map[int]kube.Revision{}
	}
	l.of[stream] = kube.Revision(strconv.Itoa(l.last))
	return record.Record{Mark: record.MarkLost, Stream: stream, At: l.of[stream]}
}

// covers reports whether a revision of the stream is one of before.
func (l *losses) covers(stream int) bool {
	at, lost := l.of[stream]
	return lost && l.passing[stream] != at
}

func (l *losses) pass(r *record.Record) {
	if l.of[r.Stream] == r.At {
		l.passing[r.Stream] = r.At
	}
}

// settle ends the losses whose marks have passed.
func (l *losses) settle() {
	for stream, at := range l.passing {
		if l.of[stream] == at {
			delete(l.of, stream)
		}
	}
	l.back()
}

// back is for marks that come again.
func (l *losses) back() { clear(l.passing) }

// lose has the checkpoint forget the revision of a stream at once, and returns the mark that
// follows. It is called between two batches. If the file cannot be written, the next batch
// ends the run.
func (k *keeper) lose(stream int) record.Record {
	mark := k.lost.begin(stream)
	if k.amid { // the printing has failed, and the run ends
		_ = k.file.Back()
	}
	k.file.List(stream)
	k.commit = true
	_ = k.note()
	return mark
}

// lose is that of the keeper, for a stream whose records go to give. It returns once the
// checkpoint has it.
func (s *session) lose(stream int, give func(record.Record)) {
	done := make(chan record.Record, 1)
	give(record.Record{Mark: record.MarkSync, Say: func() { // a mark that --debounce does not hold
		done <- s.kept.lose(stream)
	}})
	give(<-done) // the printer takes all records, also where the run ends
}
