package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/internal/wire"
)

// position returns the position of a subject, nil if there is none, and its sequence in
// the stream, as the leader of the stream has it.
func (s *Sink) position(ctx context.Context, subject string) (*sink.Position, uint64, error) {
	m, err := s.stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if m.Header.Get("KV-Operation") != "" {
		return nil, m.Sequence, nil // of a shard that there is no more
	}
	p, err := wire.DecodePosition(m.Data)
	return &p, m.Sequence, err
}

// positions returns the positions whose subjects match filter, ordered.
func (s *Sink) positions(ctx context.Context, filter string) ([]sink.Position, error) {
	info, err := s.stream.Info(ctx, jetstream.WithSubjectFilter(filter))
	if err != nil {
		return nil, err
	}
	var all []sink.Position
	for subject := range info.State.Subjects {
		p, _, err := s.position(ctx, subject)
		if err != nil {
			return nil, err
		}
		if p != nil {
			all = append(all, *p)
		}
	}
	slices.SortFunc(all, func(a, b sink.Position) int {
		x, y := a.Scope, b.Scope
		return cmp.Or(cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.Resource.Group, y.Resource.Group),
			cmp.Compare(x.Resource.Plural, y.Resource.Plural), cmp.Compare(x.Shard, y.Shard))
	})
	return all, nil
}

// Positions returns the positions of all scopes; see sink.Reader.
func (s *Sink) Positions(ctx context.Context) ([]sink.Position, error) {
	return s.positions(ctx, s.o.Stream+"."+positions+".>")
}

// mark is how far a reader reads: up to the positions of these shards, or later ones.
type mark map[string]order // by shard()

// order is what the headers of a position say.
type order struct{ generation, sequence int64 }

func (o order) before(p order) bool {
	return o.generation < p.generation || o.generation == p.generation && o.sequence < p.sequence
}

func markOf(all []sink.Position) mark {
	m := mark{}
	for _, p := range all {
		m[shard(p.Scope)] = order{p.Generation, p.Sequence}
	}
	return m
}

// reach removes the position of a message from the mark, if it is what the mark waits for.
func (m mark) reach(msg jetstream.Msg) error {
	var got order
	var err error
	h := msg.Headers()
	if got.generation, err = strconv.ParseInt(h.Get(HeaderGeneration), 10, 64); err == nil {
		got.sequence, err = strconv.ParseInt(h.Get(HeaderSequence), 10, 64)
	}
	if err != nil {
		return fmt.Errorf("the position %s has no number: %w", msg.Subject(), err)
	}
	for of, want := range m {
		if strings.HasSuffix(msg.Subject(), "."+positions+"."+of) && !got.before(want) {
			delete(m, of)
		}
	}
	return nil
}

// stalled is how long a reader waits for the next message.
const stalled = 30 * time.Second

// read yields the messages of a stream, without positions, until all that the mark covers
// has been read: a position follows what it covers. The mark is used up.
func (s *Sink) read(ctx context.Context, stream string, c jetstream.OrderedConsumerConfig, until mark) iter.Seq2[jetstream.Msg, error] {
	return func(yield func(jetstream.Msg, error) bool) {
		if len(until) == 0 {
			return
		}
		c.InactiveThreshold = 30 * time.Second
		consumer, err := s.js.OrderedConsumer(ctx, stream, c)
		if err != nil {
			yield(nil, err)
			return
		}
		messages, err := consumer.Messages(jetstream.PullMaxBytes(max(8<<20, 2*int(s.nc.MaxPayload()))))
		if err != nil {
			yield(nil, err)
			return
		}
		defer messages.Stop()
		for len(until) > 0 {
			next, cancel := context.WithTimeout(ctx, stalled)
			m, err := messages.Next(jetstream.NextContext(next))
			cancel()
			if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
				err = fmt.Errorf("nothing has arrived for %s, and %d positions are missing", stalled, len(until))
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if strings.Contains(m.Subject(), "."+positions+".") {
				if err := until.reach(m); err != nil {
					yield(nil, err)
					return
				}
				continue
			}
			if !yield(m, nil) {
				return
			}
		}
	}
}

// table yields the last message of each object that a filter behind "objects." selects,
// deleted ones aside, in no order.
func (s *Sink) table(ctx context.Context, filter, of string, headersOnly bool, until mark) iter.Seq2[jetstream.Msg, error] {
	return func(yield func(jetstream.Msg, error) bool) {
		prefix := "$KV." + s.o.Bucket + "."
		c := jetstream.OrderedConsumerConfig{
			FilterSubjects: []string{prefix + objects + "." + filter, prefix + positions + "." + of},
			DeliverPolicy:  jetstream.DeliverLastPerSubjectPolicy,
			HeadersOnly:    headersOnly,
		}
		rows := map[string]jetstream.Msg{} // what changes meanwhile is delivered again
		for m, err := range s.read(ctx, "KV_"+s.o.Bucket, c, until) {
			if err != nil {
				yield(nil, fmt.Errorf("read the bucket %s, which sources the stream %s: %w", s.o.Bucket, s.o.Stream, err))
				return
			}
			if m.Headers().Get("KV-Operation") != "" {
				delete(rows, m.Subject())
			} else {
				rows[m.Subject()] = m
			}
		}
		for _, m := range rows {
			if !yield(m, nil) {
				return
			}
		}
	}
}

// known returns the objects of a scope that the bucket holds, once it has what was
// committed last.
func (s *Sink) known(scope sink.Scope) sink.Known {
	return func(ctx context.Context) iter.Seq2[sink.Held, error] {
		return func(yield func(sink.Held, error) bool) {
			own, ok := s.owns(s.positionSubject(scope))
			if !ok {
				yield(sink.Held{}, fmt.Errorf("%s: its position is not known here: open it first", scope))
				return
			}
			of := shard(scope)
			for m, err := range s.table(ctx, of+".>", of, true, mark{of: {own.generation, own.sequence}}) {
				h, err := held(m, err)
				if !yield(h, err) || err != nil {
					return
				}
			}
		}
	}
}

func held(m jetstream.Msg, err error) (h sink.Held, _ error) {
	if err != nil {
		return h, err
	}
	if h.Key, h.UID, err = parseObject(m.Subject()); err != nil {
		return h, err
	}
	h.Revision = kube.Revision(m.Headers().Get(HeaderRevision))
	h.Epoch, err = strconv.ParseInt(m.Headers().Get(HeaderEpoch), 10, 64)
	return h, err
}

// identity is the key and the UID of an object.
type identity struct {
	key kube.Key
	uid string
}

func (a identity) compare(b identity) int {
	return cmp.Or(a.key.Compare(b.key), cmp.Compare(a.uid, b.uid))
}

// Rows iterates the table of a resource, which it holds in memory meanwhile; see
// sink.Reader.
func (s *Sink) Rows(ctx context.Context, cluster string, r kube.Resource) iter.Seq2[sink.Row, error] {
	return func(yield func(sink.Row, error) bool) {
		of := resource(cluster, r)
		stored, err := s.positions(ctx, s.o.Stream+"."+positions+"."+of+".*")
		if err != nil {
			yield(sink.Row{}, err)
			return
		}
		messages := map[identity]jetstream.Msg{}
		for m, err := range s.table(ctx, of+".>", of+".*", false, markOf(stored)) {
			var k kube.Key
			var uid string
			if err == nil {
				k, uid, err = parseObject(m.Subject())
			}
			if err != nil {
				yield(sink.Row{}, err)
				return
			}
			messages[identity{k, uid}] = m
		}
		for _, k := range slices.SortedFunc(maps.Keys(messages), identity.compare) {
			rec, err := wire.DecodeRecord(messages[k].Data())
			row := sink.RowOf(&rec)
			if len(stored) > 0 && stored[0].Scope.Mode == sink.ModeHistory {
				row.Object = nil
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// Records iterates the history of a resource; see sink.Reader.
func (s *Sink) Records(ctx context.Context, cluster string, r kube.Resource) iter.Seq2[sink.Record, error] {
	of := resource(cluster, r)
	return s.history(ctx, of, s.o.Stream+"."+objects+"."+of+".>", s.o.Stream+"."+gaps+"."+of+".*")
}

// Gaps returns the GAP records of a resource; see sink.Reader.
func (s *Sink) Gaps(ctx context.Context, cluster string, r kube.Resource) ([]sink.Record, error) {
	of := resource(cluster, r)
	var all []sink.Record
	for rec, err := range s.history(ctx, of, s.o.Stream+"."+gaps+"."+of+".*") {
		if err != nil {
			return nil, err
		}
		all = append(all, rec)
	}
	return all, nil
}

// history yields the records of the subjects, up to the positions of a resource.
func (s *Sink) history(ctx context.Context, of string, subjects ...string) iter.Seq2[sink.Record, error] {
	return func(yield func(sink.Record, error) bool) {
		positions := s.o.Stream + "." + positions + "." + of + ".*"
		stored, err := s.positions(ctx, positions)
		if err != nil {
			yield(sink.Record{}, err)
			return
		}
		c := jetstream.OrderedConsumerConfig{FilterSubjects: append(subjects, positions)}
		for m, err := range s.read(ctx, s.o.Stream, c, markOf(stored)) {
			var rec sink.Record
			if err == nil {
				rec, err = wire.DecodeRecord(m.Data())
			} else {
				err = fmt.Errorf("read the stream %s: %w", s.o.Stream, err)
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}
