package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/listwatch/listwatch/cache/internal/persist"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/internal/disk"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// Snapshot lets an informer go on where its process ended. At the start it loads
// the file, tells handlers its objects as Initial, and resumes the watch at its
// revision, without a list. Where that has expired it lists, and handlers are
// told the differences, the deletions of the meantime among them. A file that
// does not fit or is damaged is set aside and reported to Options.OnError, and the
// start is a cold one. Where no snapshot could ever be saved, because Cluster is
// empty, T does not survive JSON, or secrets are not permitted, Run fails at once.
//
// Where the latest state of an object could not be decoded, or its transformation
// failed, the next start lists, so that the object is read again.
//
// A snapshot holds only what handlers have returned from, and remembers the
// deletions that a loop over Changes had not acknowledged: those are delivered again,
// the object as Initial and then its deletion as Inferred. Beside it lies a
// journal of the objects that were new to a handler since: added, or, for
// [Informer.HandleSelected], selected. So after a crash consumers may get again what
// they acknowledged since the last snapshot, but nothing is lost: each object that was
// delivered to them is delivered again, as current or as deleted. When the machine
// crashes, and not only the process, the journal may be lost.
//
// Handlers and Changes that are to hear of what was missed must be there before
// Run: later ones are told the present, as always.
type Snapshot struct {
	// Path of the file; empty = no snapshot. It belongs to one informer of one
	// process: Run of another fails and says who has it. Path+".lock" is locked while
	// Run runs, on Windows, Linux, macOS and the BSDs.
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
	resume  func(Resume) Source[T]

	saved savepoint // for Run's goroutines, one at a time

	journal *persist.Journal[T]

	left []persist.Record[T] // deletions that consumers which have ended did not acknowledge; for who has the turn
}

// savepoint is what makes a snapshot differ from the one before.
type savepoint struct {
	revision     kube.Revision
	generation   uint32
	owed, unread int64
}

func newWarm[T kube.Object](c client.Collection[T], o Options[T]) *warm[T] {
	if o.Snapshot.Path == "" {
		return nil
	}
	s := o.Snapshot
	if s.Every <= 0 {
		s.Every = time.Minute
	}
	b := Binding{
		Cluster: s.Cluster, Resource: c.Resource, Namespace: c.Namespace,
		Labels: o.Watch.Labels.String(), Fields: o.Watch.Fields.String(), Shard: o.Watch.Shard.String(),
		Query: c.Query.Encode(), Accept: c.Accept,
		Projection: s.Projection, IncludeSecrets: s.IncludeSecrets,
	}
	return &warm[T]{
		Snapshot: s,
		binding:  b,
		journal:  persist.NewJournal[T](s.Path, b),
		resume: func(r Resume) Source[T] {
			opts := o.Watch
			opts.Revision, opts.Seen = r.Revision, r.Seen
			if r.Revision == r.Seen { // the watch finds out
				opts.Seen = ""
			}
			return watch.New(c, opts)
		},
	}
}

// open fails if no snapshot could be saved, and locks it for this informer.
func (i *Informer[T]) open() (release func(), err error) {
	if len(i.sources) > 1 {
		return nil, errSources
	}
	if i.warm.journal.Header, err = persist.NewHeader[T](i.warm.binding); err != nil {
		return nil, fmt.Errorf("keep a snapshot of %s at %s: %w", i.warm.binding.Resource, i.warm.Path, err)
	}
	release, err = disk.Lock(i.warm.Path + lockSuffix)
	if locked := (*disk.LockedError)(nil); errors.As(err, &locked) {
		return nil, fmt.Errorf("keep a snapshot of %s at %s, which belongs to one informer: %w", i.warm.binding.Resource, i.warm.Path, err)
	}
	if err != nil { // no folder yet, or a file system without locks
		i.tell(fmt.Errorf("snapshot of %s at %s: others are not kept off: %w", i.warm.binding.Resource, i.warm.Path, err))
		release = func() {}
	}
	return release, nil
}

// lockSuffix is put behind the path of a snapshot.
const lockSuffix = ".lock"

// load begins with the snapshot, if there is a good one, and the journal. It fails
// if they are too large for the budget.
func (i *Informer[T]) load() error {
	decode, objects := decoder(i.transform), map[kube.Key]entry[T]{}
	got, err := persist.ReadFile(i.warm.Path, i.warm.binding, decode, into(objects))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		i.tell(err)
	}
	noted, troubles := i.warm.journal.Read(got.Journal, decode)
	for _, err := range troubles {
		i.tell(err)
	}
	defer i.progress()
	<-i.turn // a handler that comes meanwhile sees the objects once
	defer i.finish()
	if got.Seen != "" {
		if err := i.store.fill(objects, got.Revision); err != nil {
			return err
		}
	}
	if err := i.account.load(i.store); err != nil {
		return err
	}
	if got.Revision != "" {
		i.warm.saved = savepoint{revision: got.Revision, owed: int64(len(got.Owed))}
	}
	for _, r := range noted {
		got.Seen = persist.Later(got.Seen, r.Revision)
	}
	if got.Seen != "" {
		i.mu.Lock()
		i.sources[0] = i.warm.resume(got.Resume)
		i.mu.Unlock()
	}
	for _, h := range i.current() {
		for _, r := range got.Owed {
			h.call(Delta[T]{Type: watch.Added, Key: r.Key, UID: r.UID, New: r.Object, Revision: r.Revision, Initial: true})
			h.call(Delta[T]{Type: watch.Deleted, Key: r.Key, UID: r.UID, Old: r.Object, New: r.Object, Revision: r.Revision, Inferred: true})
		}
		h.replay(i.store.entries())
	}
	if err := i.restore(noted); err != nil {
		return err
	}
	if i.store.Synced() {
		for _, h := range i.current() {
			h.sync()
		}
	}
	return nil
}

// restore applies what the journal noted. The caller has the turn.
func (i *Informer[T]) restore(noted []persist.Record[T]) error {
	for _, r := range noted {
		if err := i.account.admit(i.store, watch.Event[T]{Type: watch.Added, Key: r.Key, Object: r.Object}); err != nil {
			return err
		}
		deltas := i.store.restore(r)
		i.account.enter(deltas)
		i.deliver(deltas)
	}
	return nil
}

// saveEvery saves from time to time, until ctx is done.
func (i *Informer[T]) saveEvery(ctx context.Context) error {
	tick := time.NewTicker(i.warm.Every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			i.save()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// save writes a snapshot, if anything has changed and every handler has returned.
func (i *Informer[T]) save() {
	<-i.turn // no handler is amid a delta
	if i.torn {
		i.finish()
		return
	}
	owed, dropped := i.owed()
	m, generation, err := i.store.moment(i.warm.journal.Header, owed)
	var at savepoint
	var drop func()
	if err == nil {
		at = savepoint{kube.Revision(m.Header.Revision), generation, m.Header.Owed, m.Header.Unread}
	}
	if err == nil && at != i.warm.saved {
		drop = i.warm.journal.Rotate()
		m.Header.Journal = i.warm.journal.Number
	}
	i.finish()
	if dropped != nil {
		i.tell(dropped)
	}
	if err == nil && at == i.warm.saved {
		return
	}
	if err == nil {
		err = m.WriteFile(i.warm.Path)
	}
	switch {
	case err == nil:
		drop()
		i.warm.saved = at
	case !errors.Is(err, ErrNotSynced):
		i.tell(fmt.Errorf("save snapshot of %s to %s: %w", i.warm.binding.Resource, i.warm.Path, err))
	}
}

// tell reports an error that is no source's.
func (i *Informer[T]) tell(err error) {
	if i.onError != nil {
		i.onError(err)
	}
}
