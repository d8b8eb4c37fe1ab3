package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/internal/wire"
)

var _ sink.Resharder = (*Sink)(nil)

// Limits of a batch that moves objects: each is two messages.
const (
	moveObjects = 400
	moveBytes   = 4 << 20
)

// Reshard moves the objects of a resource to the keys of other shards, some in each batch;
// see sink.Resharder. The history does not show that.
func (s *Sink) Reshard(ctx context.Context, cluster string, r kube.Resource, shards int) error {
	m, err := s.possessAll(ctx, cluster, r, shards)
	if err != nil {
		return err
	}
	names := wire.Namesakes{}
	of := resource(cluster, r)
	rows := map[string]jetstream.Msg{}
	for msg, err := range s.table(ctx, of+".>", of+".*", false, m.mark()) {
		if err != nil {
			return err
		}
		h, err := held(msg, nil)
		if err != nil {
			return err
		}
		if d, found := names.Add(h); found {
			if err := m.bury(ctx, d, rows, msg); err != nil {
				return err
			}
			if d.UID == h.UID {
				continue
			}
		}
		rows[h.UID] = msg
	}
	for uid, msg := range rows {
		if err := m.move(ctx, msg, sink.ShardOf(uid, shards)); err != nil {
			return err
		}
	}
	return m.finish(ctx)
}

// mover is a Reshard under way.
type mover struct {
	*Sink
	old, next []sink.Position
	last      map[string]uint64 // sequences of the positions in the stream, by subject
	pending   []*nats.Msg
	bytes     int
}

func (s *Sink) mover(ctx context.Context, cluster string, r kube.Resource, shards int) (*mover, error) {
	m := &mover{Sink: s, last: map[string]uint64{}}
	all, err := s.positions(ctx, s.o.Stream+"."+positions+"."+resource(cluster, r)+".*")
	if err != nil {
		return nil, fmt.Errorf("read the positions of %s: %w", r.GroupResource(), err)
	}
	for _, p := range all {
		subject := s.positionSubject(p.Scope)
		stored, last, err := s.position(ctx, subject)
		if err != nil || stored == nil {
			return nil, fmt.Errorf("read the position of %s: %w", p.Scope, err)
		}
		m.old, m.last[subject] = append(m.old, *stored), last
	}
	if m.next, err = wire.Reshard(m.old, r, shards); err != nil {
		return nil, err
	}
	for _, p := range m.next {
		subject := s.positionSubject(p.Scope)
		if _, ok := m.last[subject]; ok {
			continue
		}
		if _, m.last[subject], err = s.position(ctx, subject); err != nil { // there may have been such a shard
			return nil, fmt.Errorf("read the position of %s: %w", p.Scope, err)
		}
	}
	return m, nil
}

// possessAll takes possession of all shards: nobody else commits from here on.
func (s *Sink) possessAll(ctx context.Context, cluster string, r kube.Resource, shards int) (m *mover, err error) {
	for attempt := range 10 { // those who are fenced by it may commit meanwhile
		if err := wait.For(ctx, time.Duration(attempt)*10*time.Millisecond); err != nil {
			return nil, err
		}
		if m, err = s.mover(ctx, cluster, r, shards); err != nil {
			return nil, err
		}
		if err = m.publish(ctx); !errors.Is(err, errMoved) && !errors.Is(err, errBusy) {
			break
		}
	}
	return m, err
}

// mark is where the table has all that was committed.
func (m *mover) mark() mark { return markOf(m.old) }

// publish stores what is pending, if all old positions are as they were.
func (m *mover) publish(ctx context.Context) error {
	for i := range m.old {
		m.old[i].Control = wire.Begun(m.old[i].Control)
		m.old[i].Generation++
		m.old[i].Sequence++
		subject := m.positionSubject(m.old[i].Scope)
		m.pending = append(m.pending, m.positionMessage(m.old[i], m.last[subject]))
	}
	return m.send(ctx)
}

// send publishes the batch, which ends with the old positions, in their order.
func (m *mover) send(ctx context.Context) error {
	last, err := m.Sink.publish(ctx, m.pending)
	if err != nil {
		return fmt.Errorf("move objects to other shards: %w", err)
	}
	for i := range m.old {
		m.last[m.positionSubject(m.old[i].Scope)] = last - uint64(len(m.old)-1-i)
	}
	m.pending, m.bytes = nil, 0
	return nil
}

// bury deletes an object that had the key of another one that came later.
func (m *mover) bury(ctx context.Context, d sink.Held, rows map[string]jetstream.Msg, current jetstream.Msg) error {
	msg := current
	if h, err := held(current, nil); err != nil || h.UID != d.UID {
		msg = rows[d.UID]
		delete(rows, d.UID)
	}
	rec := wire.Deletion(m.next[0], d)
	_, body, err := wire.EncodeRecord(rec, m.maxRecord())
	if err != nil {
		return err
	}
	to := nats.NewMsg(m.o.Stream + "." + objects + strings.TrimPrefix(msg.Subject(), "$KV."+m.o.Bucket+"."+objects))
	if m.next[0].Scope.Mode == sink.ModeTable {
		to.Subject = m.o.Stream + "." + latest + strings.TrimPrefix(msg.Subject(), "$KV."+m.o.Bucket+"."+objects)
	}
	to.Data = body
	to.Header.Set(HeaderID, rec.ID)
	to.Header.Set(HeaderType, string(rec.Type))
	to.Header.Set(HeaderRevision, "")
	to.Header.Set(HeaderEpoch, strconv.FormatInt(rec.Epoch, 10))
	m.deletion(to)
	m.pending = append(m.pending, to)
	return m.full(ctx)
}

func (m *mover) deletion(msg *nats.Msg) {
	msg.Header.Set("KV-Operation", "DEL")
	if m.o.Retention > 0 {
		msg.Header.Set(jetstream.MsgTTLHeader, m.o.Retention.String())
	}
}

// move adds two messages to the batch, unless the object is where it belongs: the deletion of
// the former key, and the same state under the other one.
func (m *mover) move(ctx context.Context, msg jetstream.Msg, shard int) error {
	key := strings.TrimPrefix(msg.Subject(), "$KV."+m.o.Bucket+"."+objects+".")
	parts := strings.Split(key, ".")
	if len(parts) != 7 || parts[3] == strconv.Itoa(shard) {
		return nil
	}
	rec, err := wire.DecodeRecord(msg.Data())
	if err != nil {
		return err
	}
	rec.Shard = shard
	_, body, err := wire.EncodeRecord(rec, m.maxRecord())
	if err != nil {
		return err
	}
	gone := nats.NewMsg(m.o.Stream + "." + latest + "." + key)
	gone.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	m.deletion(gone)
	parts[3] = strconv.Itoa(shard)
	to := nats.NewMsg(m.o.Stream + "." + latest + "." + strings.Join(parts, "."))
	to.Data = body
	for _, name := range []string{HeaderID, HeaderType, HeaderRevision, HeaderEpoch} {
		to.Header.Set(name, msg.Headers().Get(name))
	}
	to.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	m.pending, m.bytes = append(m.pending, gone, to), m.bytes+len(body)
	return m.full(ctx)
}

func (m *mover) full(ctx context.Context) error {
	if len(m.pending) < 2*moveObjects && m.bytes < moveBytes {
		return nil
	}
	return m.publish(ctx)
}

// finish replaces the positions.
func (m *mover) finish(ctx context.Context) error {
	for i := range m.next { // the moves have raised those of the old positions
		for _, p := range m.old {
			m.next[i].Generation, m.next[i].Sequence = max(m.next[i].Generation, p.Generation+1), max(m.next[i].Sequence, p.Sequence+1)
		}
		m.pending = append(m.pending, m.positionMessage(m.next[i], m.last[m.positionSubject(m.next[i].Scope)]))
	}
	for _, p := range m.old {
		if p.Scope.Shard >= len(m.next) {
			p.Generation++
			msg := m.positionMessage(p, m.last[m.positionSubject(p.Scope)])
			msg.Data = nil
			msg.Header.Set("KV-Operation", "DEL")
			m.pending = append(m.pending, msg)
		}
	}
	_, err := m.Sink.publish(ctx, m.pending)
	if err != nil {
		return fmt.Errorf("replace the positions: %w", err)
	}
	return nil
}
