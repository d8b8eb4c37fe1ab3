package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/internal/wire"
)

var _ sink.Resharder = (*Sink)(nil)

// Limits of a transaction that moves objects.
const (
	moveObjects = 500
	moveBytes   = 4 << 20
)

// mover is a Reshard under way.
type mover struct {
	*Sink
	producer *kgo.Client // that of one shard
	pending  []*kgo.Record
	bytes    int
}

// Reshard moves the objects of a resource to the keys of other shards, some in each
// transaction; see sink.Resharder. The history does not show that.
func (s *Sink) Reshard(ctx context.Context, cluster string, r kube.Resource, shards int) (err error) {
	// A dead possessor's transaction is open still; it ends when its id is taken over.
	old, err := s.positionsOf(ctx, cluster, r, s.admin.ListCommittedOffsets)
	if err != nil {
		return err
	}
	if _, err := wire.Reshard(old, r, shards); err != nil {
		return err // before anybody is fenced
	}
	m, own := &mover{Sink: s}, old[0].Scope
	defer m.close()
	if err := m.fence(ctx, own); err != nil {
		return err
	}
	// What the former possessors committed before they were fenced.
	if old, err = s.positionsOf(ctx, cluster, r, s.admin.ListEndOffsets); err != nil {
		return err
	}
	for _, p := range old {
		if p.Scope.Shard == own.Shard { // nobody else can have changed it since
			m.begin(p)
		}
	}
	if err := m.commit(ctx); err != nil {
		return err
	}
	// Now no shard can be opened. Those that were opened after the first fence end here.
	if err := m.fence(ctx, own); err != nil {
		return err
	}
	if old, err = s.positionsOf(ctx, cluster, r, s.admin.ListEndOffsets); err != nil {
		return err
	}
	next, err := wire.Reshard(old, r, shards)
	if err != nil {
		return err
	}
	for _, p := range old {
		m.begin(p)
	}
	if err := m.commit(ctx); err != nil {
		return err
	}
	if err := m.moveAll(ctx, cluster, r, next); err != nil {
		return err
	}
	for _, p := range next {
		p.Generation++
		m.pending = append(m.pending, s.positionMessage(p))
	}
	for _, p := range old {
		if p.Scope.Shard >= shards {
			m.pending = append(m.pending, &kgo.Record{Topic: s.positions, Key: []byte(position + shard(p.Scope))})
		}
	}
	return m.commit(ctx)
}

// begin marks a position, so that no shard of the resource can be opened.
func (m *mover) begin(p sink.Position) {
	p.Control = wire.Begun(p.Control)
	p.Generation++
	m.pending = append(m.pending, m.positionMessage(p))
}

// fence takes possession of all shards of a resource, also of those that were never opened, and
// last of own, whose producer stays. If there is such a producer, own is left as it is.
func (m *mover) fence(ctx context.Context, own sink.Scope) error {
	for i := range own.Count() {
		scope := own
		if scope.Shard = (own.Shard + 1 + i) % own.Count(); scope.Shard == own.Shard && m.producer != nil {
			continue
		}
		id := m.o.Prefix + "/" + shard(scope)
		m.own(id, possession{})
		producer, err := m.Sink.producer(ctx, id)
		if err != nil {
			return err
		}
		if _, _, err = producer.ProducerID(ctx); err != nil {
			producer.Close()
			return fmt.Errorf("take possession of %s: %w", scope, err)
		}
		if scope.Shard == own.Shard {
			m.producer = producer
		} else {
			producer.Close()
		}
	}
	return nil
}

func (m *mover) close() {
	if m.producer != nil {
		m.producer.Close()
	}
}

// positionsOf returns the positions of all shards of a resource.
func (s *Sink) positionsOf(ctx context.Context, cluster string, r kube.Resource, to ends) (of []sink.Position, err error) {
	all, err := s.positionsTo(ctx, to)
	for _, p := range all {
		if resource(p.Scope.Cluster, p.Scope.Resource) == resource(cluster, r) {
			of = append(of, p)
		}
	}
	return of, err
}

func (m *mover) commit(ctx context.Context) error {
	err := transact(ctx, m.producer, m.pending)
	m.pending, m.bytes = nil, 0
	if err != nil {
		return fmt.Errorf("move objects to other shards: %w", err)
	}
	return nil
}

// moveAll moves the objects that do not belong where they are. next are the positions after it.
func (m *mover) moveAll(ctx context.Context, cluster string, r kube.Resource, next []sink.Position) error {
	rows, names := map[string]*kgo.Record{}, wire.Namesakes{}
	for msg, err := range m.last(ctx, m.table, resource(cluster, r), m.admin.ListEndOffsets, whole) {
		if err != nil {
			return err
		}
		h, err := held(msg, nil)
		if err != nil {
			return err
		}
		rows[h.UID] = msg
		if d, found := names.Add(h); found {
			if err := m.bury(next[0], d, rows[d.UID]); err != nil {
				return err
			}
			delete(rows, d.UID)
		}
	}
	for uid, msg := range rows {
		if err := m.move(ctx, msg, next[sink.ShardOf(uid, len(next))].Scope); err != nil {
			return err
		}
	}
	return nil
}

// bury deletes an object that had the key of another one that came later.
func (m *mover) bury(p sink.Position, d sink.Held, msg *kgo.Record) error {
	rec := wire.Deletion(p, d)
	all, err := m.messages([]sink.Record{rec}, p)
	if err != nil {
		return err
	}
	for _, a := range all {
		if a.Topic == m.table {
			a.Key = msg.Key
		}
	}
	m.pending = append(m.pending, all...)
	return nil
}

// move adds a tombstone for the former key and the state under the other one, unless the object
// is where it belongs.
func (m *mover) move(ctx context.Context, msg *kgo.Record, to sink.Scope) error {
	rec, err := wire.DecodeRecord(msg.Value)
	if err != nil {
		return err
	}
	key := object(to, &rec)
	if key == string(msg.Key) {
		return nil
	}
	rec.Shard = to.Shard
	_, body, err := wire.EncodeRecord(rec, m.maxRecord())
	if err != nil {
		return err
	}
	m.pending = append(m.pending,
		&kgo.Record{Topic: m.table, Key: msg.Key, Headers: msg.Headers},
		&kgo.Record{Topic: m.table, Key: []byte(key), Value: body, Headers: msg.Headers})
	if m.bytes += len(body); len(m.pending) < 2*moveObjects && m.bytes < moveBytes {
		return nil
	}
	return m.commit(ctx)
}

// producer returns a client that takes over a transactional id with its first request.
func (s *Sink) producer(ctx context.Context, id string) (*kgo.Client, error) {
	return s.client(ctx, kgo.TransactionalID(id), kgo.TransactionTimeout(transactionTimeout), kgo.ProducerBatchMaxBytes(int32(s.o.MaxMessage)))
}
