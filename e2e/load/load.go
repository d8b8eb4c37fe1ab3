// Package load writes to a cluster and remembers exactly what it wrote, so
// that what a watcher saw can be checked against the truth.
//
// It creates, updates and deletes config maps, pods and objects of a custom
// resource, foos.example.com, in several namespaces, over plain net/http and
// encoding/json: it shares no code with what it is there to check. What is
// done to which object follows from Config.Seed alone; only resource versions,
// UIDs and the interleaving of the workers differ between runs.
//
// Every write is resolved even when its answer is lost (a killed apiserver, a
// cut connection): nobody else writes these objects and each write carries its
// number in an annotation, so reading the object back tells whether it
// happened.
package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Config says where and how much to write.
type Config struct {
	URL  string       // the apiserver's base URL
	HTTP *http.Client // trusts the server and may write everything

	Seed       uint64        // the same seed gives the same operations
	Writes     int           // how many writes, over all workers. Default: 1000
	Workers    int           // how many writers, each with its own objects. Default: 4
	Namespaces []string      // made by Setup. Default: load-a, load-b, load-c
	Resources  []string      // what is written, of Resources(). Default: all
	Names      int           // objects a worker has per resource and namespace. Default: 5
	Payload    int           // bytes of payload in each object. Default: 256
	Pause      time.Duration // between two writes of a worker. Default: none
	Retry      time.Duration // how long one write may stay unresolved. Default: 60 s

	// Wrote, if set, is told each write once it is resolved, by each worker in
	// its own goroutine. With one worker that is the order of the versions.
	Wrote func(Write)
}

func (c Config) withDefaults() (Config, error) {
	if c.URL == "" || c.HTTP == nil {
		return c, errors.New("load: Config needs URL and HTTP")
	}
	if c.Writes < 0 || c.Workers < 0 || c.Names < 0 || c.Payload < 0 {
		return c, errors.New("load: a count in Config is negative")
	}
	if c.Writes == 0 {
		c.Writes = 1000
	}
	if c.Workers == 0 {
		c.Workers = 4
	}
	if len(c.Namespaces) == 0 {
		c.Namespaces = []string{"load-a", "load-b", "load-c"}
	}
	for _, resource := range c.Resources {
		if _, err := Path(resource); err != nil {
			return c, err
		}
	}
	if len(c.Resources) == 0 {
		c.Resources = Resources()
	}
	if c.Names == 0 {
		c.Names = 5
	}
	if c.Payload == 0 {
		c.Payload = 256
	}
	if c.Retry == 0 {
		c.Retry = 60 * time.Second
	}
	return c, nil
}

// Run makes the writes and returns the record of them, which is complete up to
// the error if there is one. Setup must have run before.
func Run(ctx context.Context, config Config) (*Record, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	logs := make([][]Write, config.Workers)
	errs := make([]error, config.Workers)
	var wait sync.WaitGroup
	for i := range config.Workers {
		wait.Go(func() {
			count := config.Writes / config.Workers
			if i < config.Writes%config.Workers {
				count++
			}
			w := newWorker(config, i)
			errs[i] = w.run(ctx, count)
			logs[i] = w.log
			if errs[i] != nil {
				cancel(errs[i])
			}
		})
	}
	wait.Wait()
	return newRecord(logs), errors.Join(errs...)
}

// worker writes its own objects, one write at a time.
type worker struct {
	api    *api
	id     int
	config Config
	random *rand.Rand
	seq    int
	slots  []slot
	log    []Write
}

// slot is one object's place; uid is "" while the object does not exist.
type slot struct {
	kind     *kind
	ns, name string
	uid, rv  string
}

func newWorker(config Config, id int) *worker {
	w := &worker{
		api: &api{url: config.URL, http: config.HTTP}, id: id, config: config,
		random: rand.New(rand.NewPCG(config.Seed, uint64(id))),
	}
	for k := range kinds {
		if !slices.Contains(config.Resources, kinds[k].resource) {
			continue
		}
		for _, ns := range config.Namespaces {
			for n := range config.Names {
				w.slots = append(w.slots, slot{kind: &kinds[k], ns: ns, name: fmt.Sprintf("load-%d-%d", id, n)})
			}
		}
	}
	return w
}

func (w *worker) run(ctx context.Context, count int) error {
	for range count {
		w.seq++
		s := &w.slots[w.random.IntN(len(w.slots))]
		op := Created
		if s.uid != "" {
			op = Updated
			if w.random.IntN(4) == 0 {
				op = Deleted
			}
		}
		write, err := w.write(ctx, op, s)
		if err != nil {
			return fmt.Errorf("load: %s %s %s/%s: %w", op, s.kind.resource, s.ns, s.name, err)
		}
		w.log = append(w.log, write)
		if w.config.Wrote != nil {
			w.config.Wrote(write)
		}
		if w.config.Pause > 0 {
			if err := sleep(ctx, w.config.Pause); err != nil {
				return err
			}
		}
	}
	return nil
}

// write makes one write and settles whether it happened.
func (w *worker) write(ctx context.Context, op Op, s *slot) (Write, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.config.Retry, fmt.Errorf("unresolved after %s", w.config.Retry))
	defer cancel()
	stamp := fmt.Sprintf("%d-%d", w.id, w.seq)
	content := payload(w.random, w.config.Payload)
	var last error
	for attempt := 0; ; attempt++ {
		if attempt > 0 {
			if err := sleep(ctx, 50*time.Millisecond); err != nil {
				return Write{}, fmt.Errorf("%w (last: %w)", err, last)
			}
			now, err := w.api.get(ctx, s)
			if err != nil {
				last = err
				continue
			}
			if op.done(now, s.uid, stamp) {
				return w.settle(op, s, now), nil
			}
		}
		var now object
		now, last = w.api.do(ctx, op, s, stamp, content)
		if last == nil {
			return w.settle(op, s, now), nil
		}
		var refused *statusError
		if errors.As(last, &refused) && !refused.retriable() {
			return Write{}, last
		}
	}
}

// settle takes over what the write made of the object and returns its entry.
func (w *worker) settle(op Op, s *slot, now object) Write {
	write := Write{Op: op, Resource: s.kind.resource, Namespace: s.ns, Name: s.name, UID: s.uid, After: s.rv}
	if op == Deleted {
		// Most resources answer a delete with a Status, which has no version.
		if now.Metadata.UID == s.uid && now.Metadata.ResourceVersion != s.rv {
			write.RV = now.Metadata.ResourceVersion
		}
		s.uid, s.rv = "", ""
		return write
	}
	s.uid, s.rv = now.Metadata.UID, now.Metadata.ResourceVersion
	write.UID, write.RV = s.uid, s.rv
	return write
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
