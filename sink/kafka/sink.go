package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/internal/seeds"
)

// Options name the topics, and say how they are made where they do not exist. The zero
// value is the recommended setting.
type Options struct {
	Prefix string // of the topics and of the transactional ids; default "listwatch"

	// Partitions of the history and the table. Default 1, which keeps the records of one
	// resource in one order.
	Partitions int

	// Replicas of the topics. Default: the broker's default.
	Replicas int

	// Retention is how long records of the history are kept; GAP records are kept for
	// ever, in the positions. Default 30 days; negative is for ever. A topic that exists
	// keeps its own limits: Open warns where they differ.
	Retention time.Duration

	// MaxMessage is the largest message in bytes, at most max.message.bytes of the broker
	// and its topics. Default 1,000,000.
	MaxMessage int

	Logger *slog.Logger // gets the warning of other limits; default: slog.Default
}

// Sink is a set of topics. Its methods may be called from any goroutine.
type Sink struct {
	o     Options
	base  []kgo.Opt
	admin *kadm.Client

	history, table, positions string // topics
	ordered                   bool   // the history has one partition

	mu    sync.Mutex
	owned map[string]possession // by transactional id
}

// possession is a scope that this Sink has opened.
type possession struct {
	producer             *kgo.Client
	generation, sequence int64
	lost                 bool // somebody else has opened it since; producer is closed
}

var (
	_ sink.Sink   = (*Sink)(nil)
	_ sink.Reader = (*Sink)(nil)
)

// Open makes the topics that do not exist, for which its user needs the right Create, and takes the
// others as they are. A reader needs the rights Read, Describe and DescribeConfigs on them, a sink
// Write, too, and Write and Describe on the transactional IDs that begin with the prefix; without
// DescribeConfigs, the policies are not checked, which is logged. base are the options
// of all clients that the Sink makes: brokers, TLS, SASL. A topic that is not compacted as it
// should is an sink.ErrRefused. One of the brokers must answer within 10 seconds. ctx bounds Open
// only.
func Open(ctx context.Context, o Options, base ...kgo.Opt) (*Sink, error) {
	if o.Prefix == "" {
		o.Prefix = "listwatch"
	}
	if o.Partitions <= 0 {
		o.Partitions = 1
	}
	if o.Replicas <= 0 {
		o.Replicas = -1
	}
	if o.Retention == 0 {
		o.Retention = 30 * 24 * time.Hour
	}
	if o.MaxMessage <= 0 {
		o.MaxMessage = 1_000_000
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	// Close of a client would push its metrics to a broker that may be gone: a takeover waits
	// for that.
	base = append([]kgo.Opt{kgo.DisableClientMetrics(), kgo.BrokerMaxReadBytes(maxResponse), kgo.MaxDecompressBatchBytes(maxResponse)}, base...)
	answering, err := seeds.Answering(ctx, seeds.Timeout, base)
	if err != nil {
		return nil, fmt.Errorf("open Kafka: %w", err)
	}
	client, err := kgo.NewClient(answering...)
	if err != nil {
		return nil, fmt.Errorf("open Kafka: %w", err)
	}
	s := &Sink{
		o: o, base: base, admin: kadm.NewClient(client), owned: map[string]possession{},
		history: o.Prefix + ".history", table: o.Prefix + ".table", positions: o.Prefix + ".positions",
	}
	if err := s.ensure(ctx); err != nil {
		client.Close()
		return nil, fmt.Errorf("open Kafka: %w", err)
	}
	return s, nil
}

// maxResponse limits a response of a broker, and a batch that is decompressed, in bytes.
// The client asks for 50 MiB at once, and a broker exceeds that by one batch at most.
const maxResponse = 64 << 20

// client returns a client of its own, which does not wait for brokers that are silent.
func (s *Sink) client(ctx context.Context, o ...kgo.Opt) (*kgo.Client, error) {
	base, err := seeds.Answering(ctx, seeds.Timeout, s.base)
	if err != nil {
		base = s.base // kgo tries again
	}
	return kgo.NewClient(append(slices.Clip(base), o...)...)
}

// Close closes all connections. No method may be under way.
func (s *Sink) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.owned {
		if p.producer != nil {
			p.producer.Close()
		}
	}
	clear(s.owned)
	s.admin.Close()
}

// tombstones is how long consumers may take to read the deletion of an object.
const tombstones = 7 * 24 * time.Hour

func (s *Sink) ensure(ctx context.Context) error {
	milliseconds := func(d time.Duration) *string {
		text := strconv.FormatInt(d.Milliseconds(), 10)
		return &text
	}
	value := func(text string) *string { return &text }
	size := value(strconv.Itoa(s.o.MaxMessage + 1<<10))
	retention := milliseconds(s.o.Retention)
	if s.o.Retention < 0 {
		retention = value("-1")
	}
	for _, t := range []struct {
		name       string
		partitions int
		config     map[string]*string
	}{
		{s.history, s.o.Partitions, map[string]*string{"cleanup.policy": value("delete"), "retention.ms": retention, "max.message.bytes": size}},
		{s.table, s.o.Partitions, map[string]*string{"cleanup.policy": value("compact"), "delete.retention.ms": milliseconds(tombstones), "max.message.bytes": size}},
		{s.positions, 1, map[string]*string{"cleanup.policy": value("compact"), "segment.bytes": value("16777216"), "max.message.bytes": size}},
	} {
		there, err := s.admin.ListTopics(ctx, t.name)
		if err != nil {
			return fmt.Errorf("look for the topic %s: %w", t.name, err)
		}
		if !there.Has(t.name) { // nobody needs the right to make one that is there
			_, err = s.admin.CreateTopic(ctx, int32(t.partitions), int16(s.o.Replicas), t.config, t.name)
		}
		if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			return fmt.Errorf("make the topic %s: %w", t.name, err)
		}
		want := map[string]string{"cleanup.policy": *t.config["cleanup.policy"]}
		if t.name == s.history {
			want["retention.ms"], want["retention.bytes"] = *retention, "-1"
		}
		if err := s.fits(ctx, t.name, want); err != nil {
			return err
		}
	}
	topics, err := s.admin.ListTopics(ctx, s.history)
	if err != nil {
		return fmt.Errorf("read the partitions of the topic %s: %w", s.history, err)
	}
	s.ordered = len(topics[s.history].Partitions) == 1
	return nil
}

// fits refuses a topic that exists with another policy, and warns of limits that remove records
// earlier or later than asked. They belong to whoever administers the broker.
func (s *Sink) fits(ctx context.Context, topic string, want map[string]string) error {
	all, err := s.admin.DescribeTopicConfigs(ctx, topic)
	if errors.Is(err, kerr.TopicAuthorizationFailed) {
		s.o.Logger.Warn("sink: the configuration of the topic may not be read, so it is not checked", "topic", topic, "needs", "DescribeConfigs")
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the configuration of the topic %s: %w", topic, err)
	}
	var has, asked []string
	for _, resource := range all {
		if resource.Err != nil {
			return fmt.Errorf("read the configuration of the topic %s: %w", topic, resource.Err)
		}
		for _, c := range resource.Configs {
			is, need := c.MaybeValue(), want[c.Key]
			if need == "" || is == need {
				continue
			}
			if c.Key == "cleanup.policy" {
				return fmt.Errorf("the topic %s has cleanup.policy=%s, and needs %s: %w", topic, is, need, sink.ErrRefused)
			}
			has, asked = append(has, c.Key+"="+is), append(asked, c.Key+"="+need)
		}
	}
	if has != nil {
		s.o.Logger.Warn("sink: the topic keeps its own limits, and not the retention that is asked for", "topic", topic,
			"has", strings.Join(has, ","), "asked", strings.Join(asked, ","),
			"change", "kafka-configs.sh --bootstrap-server HOST:PORT --alter --entity-type topics --entity-name "+topic+" --add-config "+strings.Join(asked, ","))
	}
	return nil
}

// MaxObject returns the largest size of objects, in bytes, that the topics can keep; see
// sink.Options.MaxObject.
func (s *Sink) MaxObject() int { return max(0, s.maxRecord()-64<<10) }

// maxRecord is the largest record; headers and key take the rest of a message.
func (s *Sink) maxRecord() int { return s.o.MaxMessage - 16<<10 }
