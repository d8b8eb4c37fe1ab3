package kafka

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

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/internal/wire"
)

// ends says how far a topic is read: ListEndOffsets or ListCommittedOffsets of kadm.
//
// What is committed lies below the end offsets, and the transactions that are open there
// end before a reader gets past them: that is exact, and waits for transactions, those of
// a dead process for as long as transactionTimeout. The committed offsets are those where
// the first open transaction begins: commits of others may lie above.
type ends func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error)

// stalled is how long a reader waits for the next messages: until the broker ends a
// transaction that nobody else ends.
const stalled = transactionTimeout + 20*time.Second

// read yields the messages of a topic that are committed when it begins, up to the ends.
func (s *Sink) read(ctx context.Context, topic string, to ends) iter.Seq2[*kgo.Record, error] {
	return func(yield func(*kgo.Record, error) bool) {
		fail := func(err error) { yield(nil, fmt.Errorf("read the topic %s: %w", topic, err)) }
		from, ends, err := s.bounds(ctx, topic, to)
		if err != nil {
			fail(err)
			return
		}
		if len(ends) == 0 {
			return
		}
		consumer, err := s.client(ctx, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}),
			kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
		if err != nil {
			fail(err)
			return
		}
		defer consumer.Close()
		for arrived := time.Now(); len(ends) > 0; arrived = time.Now() {
			fetches, err := s.poll(ctx, consumer, topic, ends, arrived.Add(stalled))
			if err != nil {
				fail(err)
				return
			}
			for records := fetches.RecordIter(); !records.Done(); {
				r := records.Next()
				if !r.Attrs.IsControl() && !yield(r, nil) {
					return
				}
				if end, ok := ends[r.Partition]; ok && r.Offset >= end-1 {
					delete(ends, r.Partition)
				}
			}
		}
	}
}

// poll waits for messages. Nothing comes, and ends gets less, where the broker has removed
// what was to be read.
func (s *Sink) poll(ctx context.Context, consumer *kgo.Client, topic string, ends map[int32]int64, deadline time.Time) (kgo.Fetches, error) {
	for {
		short, cancel := context.WithTimeout(ctx, time.Second)
		fetches := consumer.PollFetches(short)
		cancel()
		err := fetches.Err()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil || time.Now().After(deadline) {
			return fetches, err
		}
		start, err := s.admin.ListStartOffsets(ctx, topic)
		if err != nil {
			return nil, err
		}
		for partition, end := range ends {
			if b, ok := start.Lookup(topic, partition); ok && b.Err == nil && b.Offset >= end {
				delete(ends, partition)
			}
		}
		if len(ends) == 0 {
			return nil, nil
		}
	}
}

// bounds returns where to begin in each partition that is not empty, and its end.
func (s *Sink) bounds(ctx context.Context, topic string, to ends) (from map[int32]kgo.Offset, ends map[int32]int64, err error) {
	start, err := s.admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, nil, err
	}
	end, err := to(ctx, topic)
	if err != nil {
		return nil, nil, err
	}
	from, ends = map[int32]kgo.Offset{}, map[int32]int64{}
	for partition, e := range end[topic] {
		b := start[topic][partition]
		if err := cmp.Or(e.Err, b.Err); err != nil {
			return nil, nil, fmt.Errorf("partition %d: %w", partition, err)
		}
		if b.Offset < e.Offset {
			from[partition], ends[partition] = kgo.NewOffset().At(b.Offset), e.Offset
		}
	}
	return from, ends, nil
}

// last yields the last message of each key of a compacted topic that begins with prefix,
// tombstones aside, in the order of the keys.
func (s *Sink) last(ctx context.Context, topic, prefix string, to ends, keep func(*kgo.Record)) iter.Seq2[*kgo.Record, error] {
	return func(yield func(*kgo.Record, error) bool) {
		all := map[string]*kgo.Record{}
		for r, err := range s.read(ctx, topic, to) {
			if err != nil {
				yield(nil, err)
				return
			}
			switch key := string(r.Key); {
			case !strings.HasPrefix(key, prefix):
			case r.Value == nil:
				delete(all, key)
			default:
				keep(r)
				all[key] = r
			}
		}
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if !yield(all[key], nil) {
				return
			}
		}
	}
}

func whole(*kgo.Record) {}

// withoutValue spares memory where headers and key are enough.
func withoutValue(r *kgo.Record) { r.Value = []byte{} }

// Positions returns the positions of all scopes; see sink.Reader.
func (s *Sink) Positions(ctx context.Context) ([]sink.Position, error) {
	return s.positionsTo(ctx, s.admin.ListEndOffsets)
}

func (s *Sink) positionsTo(ctx context.Context, to ends) ([]sink.Position, error) {
	var all []sink.Position
	for r, err := range s.last(ctx, s.positions, position, to, whole) {
		if err != nil {
			return nil, err
		}
		p, err := wire.DecodePosition(r.Value)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b sink.Position) int {
		x, y := a.Scope, b.Scope
		return cmp.Or(cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.Resource.Group, y.Resource.Group),
			cmp.Compare(x.Resource.Plural, y.Resource.Plural), cmp.Compare(x.Shard, y.Shard))
	})
	return all, nil
}

// known returns the objects of a scope that the table holds.
func (s *Sink) known(scope sink.Scope) sink.Known {
	return func(ctx context.Context) iter.Seq2[sink.Held, error] {
		return func(yield func(sink.Held, error) bool) {
			for r, err := range s.last(ctx, s.table, shard(scope)+"/", s.admin.ListEndOffsets, withoutValue) {
				h, err := held(r, err)
				if !yield(h, err) || err != nil {
					return
				}
			}
		}
	}
}

func held(r *kgo.Record, err error) (h sink.Held, _ error) {
	if err != nil {
		return h, err
	}
	o, err := ParseObjectKey(r.Key)
	if err != nil {
		return h, err
	}
	h.Key, h.UID, h.Revision = o.Key, o.UID, kube.Revision(header(r, HeaderRevision))
	h.Epoch, err = strconv.ParseInt(header(r, HeaderEpoch), 10, 64)
	return h, err
}

func header(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// Rows iterates the table of a resource, which it holds in memory meanwhile; see
// sink.Reader.
func (s *Sink) Rows(ctx context.Context, cluster string, r kube.Resource) iter.Seq2[sink.Row, error] {
	return func(yield func(sink.Row, error) bool) {
		type row struct {
			key    ObjectKey
			record *kgo.Record
		}
		var all []row
		for m, err := range s.last(ctx, s.table, resource(cluster, r), s.admin.ListEndOffsets, whole) {
			var k ObjectKey
			if err == nil {
				k, err = ParseObjectKey(m.Key)
			}
			if err != nil {
				yield(sink.Row{}, err)
				return
			}
			all = append(all, row{k, m})
		}
		slices.SortFunc(all, func(a, b row) int { return cmp.Or(a.key.Key.Compare(b.key.Key), cmp.Compare(a.key.UID, b.key.UID)) })
		for _, row := range all {
			rec, err := wire.DecodeRecord(row.record.Value)
			if !yield(sink.RowOf(&rec), err) || err != nil {
				return
			}
		}
	}
}

// Records iterates the history of a resource; see sink.Reader. Where the topic has several
// partitions it holds the history in memory meanwhile, and yields one shard after another.
func (s *Sink) Records(ctx context.Context, cluster string, r kube.Resource) iter.Seq2[sink.Record, error] {
	return func(yield func(sink.Record, error) bool) {
		type entry struct {
			record          sink.Record
			sequence, index int64
		}
		var all []entry
		for m, err := range s.read(ctx, s.history, s.admin.ListEndOffsets) {
			var e entry
			if err == nil {
				e.record, err = wire.DecodeRecord(m.Value)
			}
			if err != nil {
				yield(sink.Record{}, err)
				return
			}
			if rec := &e.record; rec.Cluster != cluster || rec.Group != r.Group || rec.Resource != r.Plural {
				continue
			}
			if s.ordered {
				if !yield(e.record, nil) {
					return
				}
				continue
			}
			e.sequence, _ = strconv.ParseInt(header(m, HeaderSequence), 10, 64)
			e.index, _ = strconv.ParseInt(header(m, HeaderIndex), 10, 64)
			all = append(all, e)
		}
		slices.SortStableFunc(all, func(a, b entry) int {
			return cmp.Or(cmp.Compare(a.record.Shard, b.record.Shard), cmp.Compare(a.sequence, b.sequence), cmp.Compare(a.index, b.index))
		})
		for _, e := range all {
			if !yield(e.record, nil) {
				return
			}
		}
	}
}

// Gaps returns the GAP records of a resource; see sink.Reader.
func (s *Sink) Gaps(ctx context.Context, cluster string, r kube.Resource) ([]sink.Record, error) {
	type entry struct {
		record   sink.Record
		sequence int64
	}
	var all []entry
	for m, err := range s.last(ctx, s.positions, gap+resource(cluster, r), s.admin.ListEndOffsets, whole) {
		if err != nil {
			return nil, err
		}
		rec, err := wire.DecodeRecord(m.Value)
		if err != nil {
			return nil, err
		}
		sequence, err := strconv.ParseInt(header(m, HeaderSequence), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("a GAP record has no sequence: %w", err)
		}
		all = append(all, entry{rec, sequence})
	}
	slices.SortStableFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.record.Shard, b.record.Shard), cmp.Compare(a.sequence, b.sequence))
	})
	var records []sink.Record
	for _, e := range all {
		records = append(records, e.record)
	}
	return records, nil
}
