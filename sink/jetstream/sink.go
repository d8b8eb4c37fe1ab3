package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/listwatch/listwatch/sink"
)

// Options name the stream and the bucket, and say how they are made where they do not
// exist. The zero value is the recommended setting.
type Options struct {
	Stream string // default "listwatch"
	Bucket string // default: the name of the stream

	// Replicas of the stream and the bucket. Default 1. Those that exist keep their own: Open
	// warns where a stream has another number than is given.
	Replicas int

	// Retention is how long records of the history are kept, in whole seconds; GAP
	// records and positions are kept for ever. Default 30 days; negative is for ever. A
	// stream that exists keeps its own limits: Open warns where they differ.
	Retention time.Duration

	Logger *slog.Logger // gets the warning of other limits; default: slog.Default
}

// Sink is a stream and a bucket. Its methods may be called from any goroutine.
type Sink struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	o      Options
	stream jetstream.Stream

	mu    sync.Mutex
	owned map[string]possession // by the subject of the position
}

// possession is a scope that this Sink has opened.
type possession struct {
	generation, sequence int64
	last                 uint64 // sequence of the position in the stream
	lost                 bool   // somebody else has opened it since
}

var (
	_ sink.Sink   = (*Sink)(nil)
	_ sink.Reader = (*Sink)(nil)
)

// Open makes the stream and the bucket, or takes those that exist as they are. The error is
// sink.ErrRefused where they are not fit, or the server is older than 2.12. ctx bounds
// Open only. The connection stays the caller's.
func Open(ctx context.Context, js jetstream.JetStream, o Options) (*Sink, error) {
	if o.Stream == "" {
		o.Stream = "listwatch"
	}
	if o.Bucket == "" {
		o.Bucket = o.Stream
	}
	replicas := o.Replicas
	if o.Replicas <= 0 {
		o.Replicas = 1
	}
	if o.Retention == 0 {
		o.Retention = 30 * 24 * time.Hour
	}
	o.Retention = max(0, o.Retention.Truncate(time.Second))
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	stream, err := ensure(ctx, js, history(o))
	if err != nil {
		return nil, fmt.Errorf("open the stream %s: %w", o.Stream, err)
	}
	if c := stream.CachedInfo().Config; !c.AllowAtomicPublish || !c.AllowMsgTTL || !c.AllowRollup {
		return nil, fmt.Errorf("the stream %s does not allow atomic batches, message TTLs or roll-ups, which NATS 2.12 and later has: %w", o.Stream, sink.ErrRefused)
	}
	table, err := ensure(ctx, js, bucket(o))
	if err != nil {
		return nil, fmt.Errorf("open the bucket %s: %w", o.Bucket, err)
	}
	if c := table.CachedInfo().Config; !sources(c, o.Stream) || c.MaxMsgsPerSubject != 1 {
		return nil, fmt.Errorf("the bucket %s is not made of the stream %s: name another by Options.Bucket: %w", o.Bucket, o.Stream, sink.ErrRefused)
	}
	warn(o, replicas, stream.CachedInfo().Config)
	return &Sink{nc: js.Conn(), js: js, o: o, stream: stream, owned: map[string]possession{}}, nil
}

// warn logs the limits of a stream that remove records earlier or later than o says, and its
// replicas if another number is given. They belong to whoever administers it.
func warn(o Options, replicas int, c jetstream.StreamConfig) {
	var has, asked []string
	limit := func(name string, is, want any) {
		if is != want {
			has, asked = append(has, fmt.Sprint(name, "=", is)), append(asked, fmt.Sprint(name, "=", want))
		}
	}
	limit("max-age", c.MaxAge, o.Retention)
	if c.Discard == jetstream.DiscardOld {
		limit("max-msgs", c.MaxMsgs, int64(-1))
		limit("max-bytes", c.MaxBytes, int64(-1))
	}
	if !c.DiscardNewPerSubject {
		limit("max-msgs-per-subject", c.MaxMsgsPerSubject, int64(-1))
	}
	if replicas > 0 {
		limit("replicas", c.Replicas, replicas)
	}
	if has == nil {
		return
	}
	change := "nats stream edit " + o.Stream + " --" + strings.Join(asked, " --")
	if o.Retention > 0 && c.Duplicates > o.Retention { // which the server refuses
		change += " --dupe-window=" + o.Retention.String()
	}
	o.Logger.Warn("sink: the stream keeps its own limits, and not what is asked for", "stream", o.Stream,
		"has", strings.Join(has, " "), "asked", strings.Join(asked, " "), "change", change)
}

// ensure returns the stream of this name as it is, or makes it.
func ensure(ctx context.Context, js jetstream.JetStream, c jetstream.StreamConfig) (jetstream.Stream, error) {
	for range 2 {
		s, err := js.Stream(ctx, c.Name)
		if err == nil || !errors.Is(err, jetstream.ErrStreamNotFound) {
			return s, err
		}
		if s, err = js.CreateStream(ctx, c); !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return s, err
		}
	}
	return nil, errors.New("it is made and removed by somebody else")
}

func history(o Options) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: o.Stream, Description: "listwatch: changes of a Kubernetes cluster, and how far they are complete",
		Subjects:           []string{o.Stream + "." + objects + ".>", o.Stream + "." + latest + ".>", o.Stream + "." + gaps + ".>", o.Stream + "." + positions + ".>"},
		Replicas:           o.Replicas,
		MaxAge:             o.Retention,
		AllowAtomicPublish: true,
		AllowMsgTTL:        true, // "never" for what Retention does not concern
		AllowRollup:        true, // of positions the last one is kept
	}
}

func bucket(o Options) jetstream.StreamConfig {
	key := func(from, to string) jetstream.SubjectTransformConfig {
		return jetstream.SubjectTransformConfig{Source: o.Stream + "." + from + ".>", Destination: "$KV." + o.Bucket + "." + to + ".>"}
	}
	return jetstream.StreamConfig{
		Name: "KV_" + o.Bucket, Description: "listwatch: what exists in a Kubernetes cluster",
		Sources: []*jetstream.StreamSource{{
			Name:              o.Stream,
			SubjectTransforms: []jetstream.SubjectTransformConfig{key(objects, objects), key(latest, objects), key(positions, positions)},
		}},
		Replicas:          o.Replicas,
		MaxMsgsPerSubject: 1,
		AllowMsgTTL:       true,
		AllowRollup:       true,
		AllowDirect:       true,
		DenyDelete:        true,
	}
}

func sources(c jetstream.StreamConfig, stream string) bool {
	return len(c.Sources) == 1 && c.Sources[0].Name == stream && len(c.Sources[0].SubjectTransforms) == 3
}

// MaxObject returns the largest size of objects, in bytes, that the server can keep; see
// sink.Options.MaxObject.
func (s *Sink) MaxObject() int { return max(0, s.maxRecord()-64<<10) }

// maxRecord is the largest record; headers and subject take the rest of a message.
func (s *Sink) maxRecord() int { return int(s.nc.MaxPayload()) - 16<<10 }
