package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/listwatch/listwatch/sink/internal/seeds"
	"github.com/listwatch/listwatch/sink/kafka"
)

// kafkaSink is a sink in Kafka.
type kafkaSink struct{ *kafka.Sink }

// Prune removes nothing: the topic has a limit.
func (kafkaSink) Prune(context.Context, time.Time, int) (int64, error) { return 0, nil }

// Close closes the connections.
func (s kafkaSink) Close() error {
	s.Sink.Close()
	return nil
}

// openKafka opens the sink at kafka://[USER:PASSWORD@]HOST[:PORT][/PREFIX]. The parameters
// are brokers (more of them, with commas), partitions, replicas, tls=true, ca, cert and key
// (files), and sasl: plain, scram-sha-256 or scram-sha-512.
func (p *program) openKafka(ctx context.Context, u *url.URL, exists bool) (database, error) {
	if u.User != nil && p.to != "" {
		return nil, usage("--to has a user, and maybe a password, which every process of this machine can read: use --to-file or LISTWATCH_SINK_TO")
	}
	o := kafka.Options{Prefix: strings.Trim(u.Path, "/"), Retention: p.history, Logger: p.sinkLog(exists)}
	if p.history <= 0 {
		o.Retention = -1
	}
	var err error
	q := u.Query()
	for name := range q {
		switch value := q.Get(name); name {
		case "partitions":
			o.Partitions, err = count(name, value)
		case "replicas":
			o.Replicas, err = count(name, value)
		case "brokers", "tls", "ca", "cert", "key", "sasl":
		default:
			return nil, usage("--to: a kafka URL has no parameter %q: there are brokers, partitions, replicas, tls, ca, cert, key and sasl", name)
		}
		if err != nil {
			return nil, err
		}
	}
	base, err := kafkaConnection(u)
	if err != nil {
		return nil, err
	}
	if exists {
		if err := kafkaTopic(ctx, cmp.Or(o.Prefix, "listwatch")+".positions", base); err != nil {
			return nil, fmt.Errorf("at %s: %w", strings.Join(kafkaBrokers(u), ","), err)
		}
	}
	s, err := kafka.Open(ctx, o, base...)
	if err != nil {
		return nil, fmt.Errorf("at %s: %w", strings.Join(kafkaBrokers(u), ","), err)
	}
	return kafkaSink{s}, nil
}

// kafkaTopic fails where there is no such topic.
func kafkaTopic(ctx context.Context, topic string, base []kgo.Opt) error {
	base, err := seeds.Answering(ctx, seeds.Timeout, append(slices.Clip(base), kgo.DisableClientMetrics(), kgo.BrokerMaxReadBytes(64<<20)))
	if err != nil {
		return fmt.Errorf("look for the topic %s: %w", topic, err)
	}
	c, err := kgo.NewClient(base...)
	if err != nil {
		return err
	}
	defer c.Close()
	all, err := kadm.NewClient(c).ListTopics(ctx, topic)
	if err == nil {
		err = all[topic].Err
	}
	if err != nil {
		return fmt.Errorf("look for the topic %s: %w", topic, err)
	}
	return nil
}

// kafkaBrokers returns the addresses of the brokers that a URL names.
func kafkaBrokers(u *url.URL) []string {
	host := u.Host
	if u.Port() == "" {
		host += ":9092"
	}
	all := []string{host}
	for b := range strings.SplitSeq(u.Query().Get("brokers"), ",") {
		if b != "" {
			all = append(all, b)
		}
	}
	return all
}

func kafkaConnection(u *url.URL) ([]kgo.Opt, error) {
	q := u.Query()
	all := []kgo.Opt{kgo.SeedBrokers(kafkaBrokers(u)...), kgo.ClientID("listwatch-sink")}
	if q.Get("tls") == "true" || q.Get("ca") != "" || q.Get("cert") != "" {
		c, err := tlsConfig(q.Get("ca"), q.Get("cert"), q.Get("key"))
		if err != nil {
			return nil, err
		}
		all = append(all, kgo.DialTLSConfig(c))
	}
	password, _ := u.User.Password()
	name := u.User.Username()
	var mechanism sasl.Mechanism
	switch kind := q.Get("sasl"); kind {
	case "":
		if name != "" {
			return nil, usage("--to has a user: add sasl=plain, sasl=scram-sha-256 or sasl=scram-sha-512")
		}
		return all, nil
	case "plain":
		mechanism = plain.Auth{User: name, Pass: password}.AsMechanism()
	case "scram-sha-256":
		mechanism = bounded{scram.Auth{User: name, Pass: password}.AsSha256Mechanism()}
	case "scram-sha-512":
		mechanism = bounded{scram.Auth{User: name, Pass: password}.AsSha512Mechanism()}
	default:
		return nil, usage("--to: sasl=%s: there are plain, scram-sha-256 and scram-sha-512", kind)
	}
	return append(all, kgo.SASL(mechanism)), nil
}

func tlsConfig(ca, cert, key string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		f, err := os.Open(ca)
		if err != nil {
			return nil, fmt.Errorf("--to: ca: %w", err)
		}
		defer f.Close()
		b, err := io.ReadAll(io.LimitReader(f, 1<<20))
		if err != nil {
			return nil, fmt.Errorf("--to: ca: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("--to: ca: %s has no certificates in PEM", ca)
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("--to: cert and key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
