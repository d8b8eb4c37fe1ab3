// Kafkatable rebuilds the table that listwatch-sink has written into Kafka, and prints
// what changes in it.
//
//	listwatch-sink pods --to kafka://127.0.0.1:9092
//	kafkatable -brokers 127.0.0.1:9092 -resource pods
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/kafka"
)

func main() {
	brokers := flag.String("brokers", "127.0.0.1:9092", "the brokers, with commas")
	prefix := flag.String("prefix", "listwatch", "the prefix of the topics that listwatch-sink writes")
	group := flag.String("group", "", "the API group of the resource")
	resource := flag.String("resource", "pods", "the plural of the resource")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	t := &table{group: *group, resource: *resource, rows: map[string]sink.Record{}, changed: func(t *table, k kafka.ObjectKey) {
		fmt.Println(k.Key, k.UID, len(t.rows), "objects")
	}}
	if err := t.follow(ctx, *prefix, kgo.SeedBrokers(strings.Split(*brokers, ",")...)); ctx.Err() == nil {
		log.Fatal(err)
	}
}

// table holds the objects of one resource by the keys of their messages.
type table struct {
	group, resource string
	rows            map[string]sink.Record
	changed         func(*table, kafka.ObjectKey)
}

// follow reads the compacted topic from its beginning, and goes on until ctx ends. Read
// committed, a transaction of the sink is seen as a whole or not at all.
func (t *table) follow(ctx context.Context, prefix string, o ...kgo.Opt) error {
	consumer, err := kgo.NewClient(append(o, kgo.ConsumeTopics(prefix+".table"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))...)
	if err != nil {
		return err
	}
	defer consumer.Close()
	for {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for records := fetches.RecordIter(); !records.Done(); {
			if err := t.take(records.Next()); err != nil {
				return err
			}
		}
	}
}

// take takes a message: the state of an object, or a tombstone.
func (t *table) take(m *kgo.Record) error {
	k, err := kafka.ParseObjectKey(m.Key)
	if err != nil || k.Group != t.group || k.Resource != t.resource {
		return err
	}
	if m.Value == nil {
		delete(t.rows, string(m.Key))
	} else {
		var r sink.Record
		if err := json.Unmarshal(m.Value, &r); err != nil {
			return fmt.Errorf("read the object %s: %w", m.Key, err)
		}
		t.rows[string(m.Key)] = r
	}
	t.changed(t, k)
	return nil
}
