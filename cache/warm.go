package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// Snapshot lets an informer go on where its process ended. At the start it loads
// the file, tells handlers its objects as Initial, and resumes the watch at its
// revision, without a list. Where that has expired it lists, and handlers are
// told the differences, the deletions of the meantime among them. A file that
// does not fit or is damaged is set aside and told to Options.Trouble, and the
// start is a cold one.
//
// A snapshot holds only what handlers have returned from. So after a crash
// handlers may be told again what they have dealt with since the last one, but
// nothing is passed over.
type Snapshot struct {
	// Path of the file; empty = no snapshot. It belongs to one process.
	Path string

	// Cluster, Projection and IncludeSecrets are as in Binding; see ClusterID.
	Cluster        string
	Projection     string
	IncludeSecrets bool

	// Every is how often it is saved, if anything changed; it is saved at the
	// end too. Default 1 minute.
	Every time.Duration
}

// ClusterID returns what Snapshot.Cluster wants: the UID of the namespace
// kube-system.
func ClusterID(ctx context.Context, c *client.Client) (string, error) {
	ns, err := client.Of[kube.Partial](c, kube.Namespaces).Get(ctx, kube.Key{Name: "kube-system"})
	if err != nil {
		return "", fmt.Errorf("identify the cluster: %w", err)
	}
	if ns.UID == "" {
		return "", errors.New("identify the cluster: the namespace kube-system has no UID")
	}
	return ns.UID, nil
}

// warm is what an informer with a snapshot needs.
type warm[T kube.Object] struct {
	Snapshot
	binding Binding
	resume  func(kube.Revision) Source[T]
	saved   kube.Revision // the last; for Run's goroutines, one at a time
}

func newWarm[T kube.Object](c client.Collection[T], o Options[T]) *warm[T] {
	if o.Snapshot.Path == "" {
		return nil
	}
	s := o.Snapshot
	if s.Every <= 0 {
		s.Every = time.Minute
	}
	return &warm[T]{
		Snapshot: s,
		binding: Binding{
			Cluster: s.Cluster, Resource: c.Resource, Namespace: c.Namespace,
			Labels: o.Watch.Labels.String(), Fields: o.Watch.Fields.String(),
			Projection: s.Projection, IncludeSecrets: s.IncludeSecrets,
		},
		resume: func(rev kube.Revision) Source[T] {
			opts := o.Watch
			opts.Revision = rev
			return watch.New(c, opts)
		},
	}
}

// load begins with the snapshot, if there is a good one.
func (i *Informer[T]) load() {
	rev, err := i.store.LoadFile(i.warm.Path, i.warm.binding)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			i.tell(err)
		}
		return
	}
	i.warm.saved = rev
	i.mu.Lock()
	i.sources[0] = i.warm.resume(rev)
	i.mu.Unlock()
	<-i.turn
	for _, h := range i.current() {
		i.replay(h)
	}
	i.finish()
	i.progress()
}

// save saves from time to time, until ctx is done.
func (i *Informer[T]) saveEvery(ctx context.Context) {
	tick := time.NewTicker(i.warm.Every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			i.save()
		case <-ctx.Done():
			return
		}
	}
}

// save writes a snapshot, if there is anything new and to tell.
func (i *Informer[T]) save() {
	<-i.turn // no handler is amid a delta
	m, err := i.store.moment(i.warm.binding)
	i.finish()
	if err == nil {
		if kube.Revision(m.head.Revision) == i.warm.saved {
			return
		}
		err = m.writeFile(i.warm.Path)
	}
	switch {
	case err == nil:
		i.warm.saved = kube.Revision(m.head.Revision)
	case !errors.Is(err, ErrNotSynced):
		i.tell(fmt.Errorf("save snapshot of %s to %s: %w", i.warm.binding.Resource, i.warm.Path, err))
	}
}

// tell reports a trouble that is no source's.
func (i *Informer[T]) tell(err error) {
	if i.trouble != nil {
		i.trouble(err)
	}
}
