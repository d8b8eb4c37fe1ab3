package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/internal/wire"
)

// Headers of messages of the history and the table.
const (
	HeaderType     = "type"     // Record.Type
	HeaderRevision = "revision" // Record.Revision
	HeaderEpoch    = "epoch"    // Record.Epoch
	HeaderSequence = "sequence" // Position.Sequence of the commit
	HeaderIndex    = "index"    // of the record in the commit, from 0
)

// transactionTimeout is when the broker ends a transaction of a process that is gone, and
// whose scope nobody opens. It is longer than what a Runner waits for a commit.
const transactionTimeout = 40 * time.Second

// Open takes possession of a scope; see sink.Sink.
func (s *Sink) Open(ctx context.Context, scope sink.Scope) (sink.Position, sink.Known, error) {
	// A refusal takes possession of nothing. A dead possessor's transaction is open still.
	if _, err := s.next(ctx, scope, s.admin.ListCommittedOffsets); err != nil {
		return sink.Position{}, nil, err
	}
	id := s.o.Prefix + "/" + shard(scope)
	s.own(id, possession{})
	producer, err := s.producer(ctx, id)
	if err != nil {
		return sink.Position{}, nil, err
	}
	p, err := s.take(ctx, producer, scope)
	if err != nil {
		producer.Close()
		return sink.Position{}, nil, fmt.Errorf("take possession of %s: %w", scope, err)
	}
	s.own(id, possession{producer: producer, generation: p.Generation, sequence: p.Sequence})
	return p, s.known(scope), nil
}

// next returns the position of a scope after Open.
func (s *Sink) next(ctx context.Context, scope sink.Scope, to ends) (sink.Position, error) {
	all, err := s.positionsTo(ctx, to)
	if err != nil {
		return sink.Position{}, err
	}
	var siblings []sink.Position
	var stored *sink.Position
	for _, p := range all {
		if resource(p.Scope.Cluster, p.Scope.Resource) != resource(scope.Cluster, scope.Resource) {
			continue
		}
		siblings = append(siblings, p)
		if p.Scope.Shard == scope.Shard {
			stored = &p
		}
	}
	return wire.Take(scope, stored, siblings)
}

// take fences the former possessor, and only then reads where it has stopped.
func (s *Sink) take(ctx context.Context, producer *kgo.Client, scope sink.Scope) (sink.Position, error) {
	if _, _, err := producer.ProducerID(ctx); err != nil {
		return sink.Position{}, err
	}
	p, err := s.next(ctx, scope, s.admin.ListEndOffsets)
	if err != nil {
		return sink.Position{}, err
	}
	return p, transact(ctx, producer, []*kgo.Record{s.positionMessage(p)})
}

// own replaces the possession of a transactional id, whose producer is closed.
func (s *Sink) own(id string, p possession) {
	s.mu.Lock()
	former := s.owned[id].producer
	if s.owned[id] = p; p == (possession{}) {
		delete(s.owned, id)
	}
	s.mu.Unlock()
	if former != nil && former != p.producer {
		former.Close()
	}
}

// owns returns the possession, and whether the scope was opened here.
func (s *Sink) owns(id string) (possession, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.owned[id]
	return p, ok
}

// Commit writes records and position in one transaction; see sink.Sink.
func (s *Sink) Commit(ctx context.Context, records []sink.Record, p sink.Position) error {
	id := s.o.Prefix + "/" + shard(p.Scope)
	own, ok := s.owns(id)
	switch {
	case !ok:
		return fmt.Errorf("%s: its position is not known here: open it first", p.Scope)
	case own.lost, own.generation != p.Generation, own.sequence != p.Sequence-1:
		return fmt.Errorf("%s, generation %d, commit %d: %w", p.Scope, p.Generation, p.Sequence, sink.ErrFenced)
	}
	messages, err := s.messages(records, p)
	if err != nil {
		return err
	}
	switch err := transact(ctx, own.producer, append(messages, s.positionMessage(p))); {
	case fenced(err):
		s.own(id, possession{lost: true})
		return fmt.Errorf("%s, generation %d, commit %d: %w: %w", p.Scope, p.Generation, p.Sequence, sink.ErrFenced, err)
	case err != nil:
		s.own(id, possession{}) // whether it was committed is unknown
		return err
	}
	own.sequence = p.Sequence
	s.own(id, own)
	return nil
}

func fenced(err error) bool {
	return errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch)
}

// transact writes messages, all or none. After an error the producer must not be used
// again: the next possessor ends what it began.
func transact(ctx context.Context, producer *kgo.Client, messages []*kgo.Record) error {
	if err := producer.BeginTransaction(); err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	var mu sync.Mutex
	var failure error
	for _, m := range messages {
		producer.Produce(ctx, m, func(_ *kgo.Record, err error) {
			mu.Lock()
			defer mu.Unlock()
			if failure == nil && err != nil {
				failure = fmt.Errorf("produce to %s: %w", m.Topic, err)
			}
		})
	}
	if err := producer.Flush(ctx); err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if failure != nil {
		return failure
	}
	if err := producer.EndTransaction(ctx, kgo.TryCommit); err != nil {
		return fmt.Errorf("commit a transaction: %w", err)
	}
	return nil
}

// messages returns those of the records of one commit.
func (s *Sink) messages(records []sink.Record, p sink.Position) ([]*kgo.Record, error) {
	all := make([]*kgo.Record, 0, 2*len(records)+1)
	for i := range records {
		r, body, err := wire.EncodeRecord(records[i], s.maxRecord())
		if err != nil {
			return nil, err
		}
		headers := []kgo.RecordHeader{
			{Key: HeaderType, Value: []byte(r.Type)},
			{Key: HeaderRevision, Value: []byte(r.Revision)},
			{Key: HeaderEpoch, Value: strconv.AppendInt(nil, r.Epoch, 10)},
			{Key: HeaderSequence, Value: strconv.AppendInt(nil, p.Sequence, 10)},
			{Key: HeaderIndex, Value: strconv.AppendInt(nil, int64(i), 10)},
		}
		add := func(topic, key string, value []byte) {
			all = append(all, &kgo.Record{Topic: topic, Key: []byte(key), Value: value, Headers: headers})
		}
		if r.Type == sink.Gap {
			of := shard(p.Scope)
			add(s.history, of, body)
			add(s.positions, gap+of+"/"+r.ID, body)
			continue
		}
		if p.Scope.Mode != sink.ModeTable || r.Type == sink.Quarantined {
			add(s.history, r.UID, body)
		}
		key := object(p.Scope, &r)
		switch {
		case r.Type == sink.Deleted || r.Type == sink.Left:
			add(s.table, key, nil)
		case p.Scope.Mode == sink.ModeHistory:
			r.Object = nil
			if _, body, err = wire.EncodeRecord(r, s.maxRecord()); err != nil {
				return nil, err
			}
			add(s.table, key, body)
		default:
			add(s.table, key, body)
		}
	}
	return all, nil
}

func (s *Sink) positionMessage(p sink.Position) *kgo.Record {
	return &kgo.Record{Topic: s.positions, Key: []byte(position + shard(p.Scope)), Value: wire.EncodePosition(p)}
}
