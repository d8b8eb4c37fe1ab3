package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/internal/wire"
)

// Headers of messages, besides those that NATS defines.
const (
	HeaderID         = "Listwatch-Id"         // Record.ID
	HeaderType       = "Listwatch-Type"       // Record.Type
	HeaderRevision   = "Listwatch-Revision"   // Record.Revision
	HeaderEpoch      = "Listwatch-Epoch"      // Record.Epoch
	HeaderGeneration = "Listwatch-Generation" // of positions: Position.Generation
	HeaderSequence   = "Listwatch-Sequence"   // of positions: Position.Sequence
)

var (
	errMoved = errors.New("another position is stored")
	errBusy  = errors.New("another position is being stored")
)

// Open takes possession of a scope; see sink.Sink.
func (s *Sink) Open(ctx context.Context, scope sink.Scope) (sink.Position, sink.Known, error) {
	subject := s.positionSubject(scope)
	for attempt := range 5 {
		stored, last, err := s.position(ctx, subject)
		if err != nil {
			return sink.Position{}, nil, fmt.Errorf("read the position of %s: %w", scope, err)
		}
		siblings, err := s.positions(ctx, s.o.Stream+"."+positions+"."+resource(scope.Cluster, scope.Resource)+".*")
		if err != nil {
			return sink.Position{}, nil, fmt.Errorf("read the positions of %s: %w", scope.Resource.GroupResource(), err)
		}
		p, err := wire.Take(scope, stored, siblings)
		if err != nil {
			return sink.Position{}, nil, err
		}
		switch last, err = s.publish(ctx, []*nats.Msg{s.positionMessage(p, last)}); {
		case errors.Is(err, errMoved), errors.Is(err, errBusy):
			if err := wait.For(ctx, time.Duration(attempt)*10*time.Millisecond); err != nil {
				return sink.Position{}, nil, err
			}
			continue
		case err != nil:
			return sink.Position{}, nil, fmt.Errorf("take possession of %s: %w", scope, err)
		}
		s.own(subject, possession{generation: p.Generation, sequence: p.Sequence, last: last})
		return p, s.known(scope), nil
	}
	return sink.Position{}, nil, fmt.Errorf("take possession of %s: others do so at the same time", scope)
}

func (s *Sink) own(subject string, p possession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owned[subject] = p
}

// owns returns the possession, and whether the scope was opened here.
func (s *Sink) owns(subject string) (possession, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.owned[subject]
	return p, ok
}

func (s *Sink) disown(subject string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.owned, subject)
}

// Commit publishes records and position as one batch; see sink.Sink. A batch has at most
// 999 records, unless the server's max_batch_size is another.
func (s *Sink) Commit(ctx context.Context, records []sink.Record, p sink.Position) error {
	subject := s.positionSubject(p.Scope)
	own, ok := s.owns(subject)
	switch {
	case !ok:
		return fmt.Errorf("%s: its position is not known here: open it first", p.Scope)
	case own.lost, own.generation != p.Generation, own.sequence != p.Sequence-1:
		return fmt.Errorf("%s, generation %d, commit %d: %w", p.Scope, p.Generation, p.Sequence, sink.ErrFenced)
	}
	messages, err := s.messages(records, p.Scope)
	if err != nil {
		return err
	}
	last, err := s.publish(ctx, append(messages, s.positionMessage(p, own.last)))
	switch {
	case errors.Is(err, errMoved):
		own.lost = true
		s.own(subject, own)
		return fmt.Errorf("%s, generation %d, commit %d: %w", p.Scope, p.Generation, p.Sequence, sink.ErrFenced)
	case err != nil:
		s.disown(subject) // whether it was committed is unknown
		return err
	}
	s.own(subject, possession{generation: p.Generation, sequence: p.Sequence, last: last})
	return nil
}

// messages returns those of the records of one commit.
func (s *Sink) messages(records []sink.Record, scope sink.Scope) ([]*nats.Msg, error) {
	all := make([]*nats.Msg, 0, len(records)+1)
	newest := map[string]int{} // ModeTable: where the subject is in all
	for i := range records {
		r, body, err := wire.EncodeRecord(records[i], s.maxRecord())
		if err != nil {
			return nil, err
		}
		m := nats.NewMsg("")
		m.Data = body
		m.Header.Set(HeaderID, r.ID)
		m.Header.Set(HeaderType, string(r.Type))
		m.Header.Set(HeaderRevision, string(r.Revision))
		m.Header.Set(HeaderEpoch, strconv.FormatInt(r.Epoch, 10))
		switch {
		case r.Type == sink.Gap:
			m.Subject = s.o.Stream + "." + gaps + "." + shard(scope)
			m.Header.Set(jetstream.MsgTTLHeader, "never")
		case scope.Mode == sink.ModeTable && r.Type != sink.Quarantined:
			m.Subject = s.o.Stream + "." + latest + "." + object(scope, &r)
			m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
			if at, ok := newest[m.Subject]; ok { // which a batch cannot roll up
				all[at] = nil
			}
			newest[m.Subject] = len(all)
		default:
			m.Subject = s.o.Stream + "." + objects + "." + object(scope, &r)
		}
		if r.Type == sink.Deleted || r.Type == sink.Left {
			m.Header.Set("KV-Operation", "DEL")
			if s.o.Retention > 0 {
				m.Header.Set(jetstream.MsgTTLHeader, s.o.Retention.String())
			}
		}
		all = append(all, m)
	}
	kept := all[:0]
	for _, m := range all {
		if m != nil {
			kept = append(kept, m)
		}
	}
	return kept, nil
}

func (s *Sink) positionSubject(scope sink.Scope) string {
	return s.o.Stream + "." + positions + "." + shard(scope)
}

// positionMessage replaces the position whose sequence in the stream is last, 0 for none.
func (s *Sink) positionMessage(p sink.Position, last uint64) *nats.Msg {
	m := nats.NewMsg(s.positionSubject(p.Scope))
	m.Data = wire.EncodePosition(p)
	m.Header.Set(HeaderGeneration, strconv.FormatInt(p.Generation, 10))
	m.Header.Set(HeaderSequence, strconv.FormatInt(p.Sequence, 10))
	m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(last, 10))
	m.Header.Set(jetstream.MsgTTLHeader, "never")
	m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	return m
}

// Codes of the server, which its client does not name.
const (
	codeMoved = 10071 // "wrong last sequence: N"
	codeBusy  = 10164 // "wrong last sequence": the subject has a message that is not replicated yet
)

// publish stores messages, all or none, and returns the sequence of the last one in the
// stream. After errMoved and errBusy none is stored; after another error it is unknown.
func (s *Sink) publish(ctx context.Context, messages []*nats.Msg) (uint64, error) {
	failed := func(err error) (uint64, error) { return 0, fmt.Errorf("publish to %s: %w", s.o.Stream, err) }
	lost := s.nc.StatusChanged(nats.DISCONNECTED, nats.RECONNECTING, nats.CLOSED)
	defer s.nc.RemoveStatusListener(lost)
	if !s.nc.IsConnected() {
		return failed(nats.ErrDisconnected) // or the client would send them when it is connected again
	}
	answers := make(chan *nats.Msg, 2)
	inbox := s.nc.NewRespInbox()
	subscription, err := s.nc.ChanSubscribe(inbox, answers)
	if err != nil {
		return failed(err)
	}
	defer subscription.Unsubscribe()
	frame(messages, inbox)
	for _, m := range messages {
		if err := s.nc.PublishMsg(m); err != nil {
			return failed(err)
		}
	}
	for {
		select {
		case m := <-answers:
			if seq, done, err := s.answer(m, len(messages)); err != nil {
				return failed(err)
			} else if done {
				return seq, nil
			}
		case <-lost:
			return failed(nats.ErrDisconnected)
		case <-ctx.Done():
			return failed(ctx.Err())
		}
	}
}

// frame makes several messages a batch. The first is answered with nothing, or with why
// there is no batch; the last one with the outcome.
func frame(messages []*nats.Msg, inbox string) {
	last := len(messages) - 1
	messages[0].Reply, messages[last].Reply = inbox, inbox
	if last == 0 {
		return
	}
	batch := nuid.Next()
	for i, m := range messages {
		m.Header.Set("Nats-Batch-Id", batch)
		m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i+1))
	}
	messages[last].Header.Set("Nats-Batch-Commit", "1")
}

// answer reads an answer of the server to a publication of count messages.
func (s *Sink) answer(m *nats.Msg, count int) (seq uint64, done bool, err error) {
	if len(m.Data) == 0 {
		if m.Header.Get("Status") == "503" {
			return 0, false, jetstream.ErrNoStreamResponse
		}
		return 0, false, nil
	}
	var ack struct {
		Error *jetstream.APIError `json:"error"`
		Seq   uint64              `json:"seq"`
		Count int                 `json:"count"`
	}
	if err := json.Unmarshal(m.Data, &ack); err != nil {
		return 0, false, fmt.Errorf("the answer is not JSON: %w", err)
	}
	switch {
	case ack.Error != nil && ack.Error.ErrorCode == codeMoved:
		return 0, false, errMoved
	case ack.Error != nil && ack.Error.ErrorCode == codeBusy:
		return 0, false, errBusy
	case ack.Error != nil:
		return 0, false, ack.Error
	case count > 1 && ack.Count != count:
		return 0, false, fmt.Errorf("the server has stored %d of %d messages: it does not know atomic batches", ack.Count, count)
	}
	return ack.Seq, true, nil
}
