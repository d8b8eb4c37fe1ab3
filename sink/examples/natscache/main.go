// Natscache keeps a cache of the objects that listwatch-sink has written into NATS, and
// prints what changes in it.
//
//	listwatch-sink pods --nats-embedded
//	natscache -cluster "$(kubectl get namespace kube-system -o jsonpath={.metadata.uid})" -resource pods
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

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/jetstream"
)

func main() {
	url := flag.String("url", nats.DefaultURL, "the NATS server")
	bucket := flag.String("bucket", "listwatch", "the bucket that listwatch-sink writes")
	cluster := flag.String("cluster", "", "the UID of the namespace kube-system")
	group := flag.String("group", "", "the API group of the resource")
	resource := flag.String("resource", "pods", "the plural of the resource")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	nc, err := nats.Connect(*url)
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	js, err := natsjs.New(nc)
	if err != nil {
		log.Fatal(err)
	}
	c := &cache{objects: map[string]sink.Record{}, positions: map[string]position{}, changed: func(c *cache, key string, r *sink.Record) {
		if c.live() {
			fmt.Println(r.Type, r.Key(), r.Revision, len(c.objects), "objects")
		}
	}}
	if err := c.follow(ctx, js, *bucket, *cluster, kube.Resource{Group: *group, Plural: *resource}); ctx.Err() == nil {
		log.Fatal(err)
	}
}

// cache holds the objects of one resource by their keys in the bucket.
type cache struct {
	objects   map[string]sink.Record
	positions map[string]position // of the shards, by their keys
	changed   func(c *cache, key string, r *sink.Record)
}

// position is what the cache reads of a position.
type position struct {
	Phase   sink.Phase   `json:"phase"`
	Shards  int          `json:"shards"`
	Control sink.Control `json:"control"`
}

// live reports whether objects is the collection: in phase LIVE a shard is complete as of its
// revision, in phase LOADING it has old objects and new ones.
func (c *cache) live() bool {
	for _, p := range c.positions {
		if p.Phase != sink.Live || p.Shards != len(c.positions) || p.Control.Unfinished() {
			return false // also where a shard is still to come, and during a reshard
		}
	}
	return len(c.positions) > 0
}

// follow keeps the cache up to date until ctx ends. The consumer begins with the last
// message of each key, and needs no state of its own: it starts again like this.
func (c *cache) follow(ctx context.Context, js natsjs.JetStream, bucket, cluster string, r kube.Resource) error {
	prefix, of := "$KV."+bucket+".", jetstream.Subject(cluster, r, "")
	consumer, err := js.OrderedConsumer(ctx, "KV_"+bucket, natsjs.OrderedConsumerConfig{
		FilterSubjects: []string{prefix + "objects." + of, prefix + "positions." + of},
		DeliverPolicy:  natsjs.DeliverLastPerSubjectPolicy,
	})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(natsjs.NextContext(ctx))
		if err != nil {
			return err
		}
		if err := c.take(strings.TrimPrefix(m.Subject(), prefix), m); err != nil {
			return err
		}
	}
}

// take takes a message. A position follows the objects that it covers.
func (c *cache) take(key string, m natsjs.Msg) error {
	gone := m.Headers().Get("KV-Operation") != "" // such a message may have no data
	if strings.HasPrefix(key, "positions.") {
		if gone { // of a shard that there is no more
			delete(c.positions, key)
			return nil
		}
		var p position
		if err := json.Unmarshal(m.Data(), &p); err != nil {
			return fmt.Errorf("read the position %s: %w", key, err)
		}
		c.positions[key] = p
		return nil
	}
	r, held := c.objects[key]
	switch {
	case gone && !held: // it came and went in one commit
		return nil
	case gone:
		delete(c.objects, key)
		r.Type = sink.Deleted
	default:
		r = sink.Record{}
		if err := json.Unmarshal(m.Data(), &r); err != nil {
			return fmt.Errorf("read the object %s: %w", key, err)
		}
		c.objects[key] = r
	}
	c.changed(c, key, &r)
	return nil
}
