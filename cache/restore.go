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

// Snapshot lets an informer continue where its process ended. Run loads the file, calls the
// handlers with its objects as Initial, and resumes the watch at its revision, without a
// list. If the server does not keep that revision any more, Run lists, and the handlers get
// the differences, including deletions. Handlers and loops over Changes must be added before
// Run to get what changed while no process ran: later ones begin with the current state.
//
// No object disappears unnoticed: each object that was delivered is delivered again by the next
// process, as existing or as deleted. For that, a snapshot holds only events that all handlers have
// handled, and a journal beside it notes the objects that were delivered for the first time since.
// There are four exceptions: an object that could not be written to the journal, and a deletion
// beyond the limit of Changes, both reported to Options.OnError; a crash of the machine, which may
// lose the journal; and an object for whose saved state Transform fails, perhaps after an upgrade:
// it is left out, and its deletion is not delivered, until Transform succeeds for a state from the
// server.
//
// Deltas may be delivered twice: after a crash of the process or a stop during a list, those since
// the last snapshot; after any end, deletions that a loop over Changes had not acknowledged, each
// as the object (Initial) and then its deletion (Inferred).
//
// A file that is damaged, or whose identity differs, is renamed and reported to
// Options.OnError, and the informer starts without it. Run fails at once if no snapshot can
// be saved: Cluster is empty, JSON does not preserve T, or Secrets are not permitted. In spite
// of a snapshot Run lists if the latest state of an object could not be decoded or
// transformed, or if the server was restored to an earlier state since.
type Snapshot struct {
	// Path of the file; empty = no snapshot. It belongs to one informer of one process:
	// Run of another one fails and names the owner. Path+".lock" is locked during Run,
	// on Windows, Linux, macOS and the BSDs.
	Path string

	// Cluster, Projection and IncludeSecrets are as in SnapshotIdentity; see ClusterID.
	Cluster        string
	Projection     string
	IncludeSecrets bool

	// Every is the interval of saving, if anything changed. Run also saves at its end,
	// unless a list is in progress. Default 1 minute.
	Every time.Duration
}

// ClusterID returns the UID of the namespace kube-system, for Snapshot.Cluster.
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

// restorer is the state of an informer with a snapshot.
type restorer[T kube.Object] struct {
	Snapshot
	identity SnapshotIdentity
	resume   func(Resume) Source[T]

	saved savepoint // used by Run's goroutines, one at a time

	journal *persist.Journal[T]

	left []persist.Record[T] // deletions that consumers which have ended did not acknowledge; guarded by exclusive
}

// savepoint identifies a saved state: a snapshot is saved only if it differs.
type savepoint struct {
	revision        kube.Revision
	generation      uint32
	unacked, unread int64
}

func newRestorer[T kube.Object](c client.Collection[T], o Options[T], opts watch.Options) *restorer[T] {
	if o.Snapshot.Path == "" {
		return nil
	}
	s := o.Snapshot
	if s.Every <= 0 {
		s.Every = time.Minute
	}
	b := SnapshotIdentity{
		Cluster: s.Cluster, Resource: c.Resource, Namespace: c.Namespace,
		Labels: c.Labels.String(), Fields: c.Fields.String(), Shard: o.Watch.Shard.String(),
		Query: c.Query.Encode(), Accept: c.Accept,
		Projection: s.Projection, IncludeSecrets: s.IncludeSecrets,
	}
	return &restorer[T]{
		Snapshot: s,
		identity: b,
		journal:  persist.NewJournal[T](s.Path, b),
		resume: func(r Resume) Source[T] {
			opts := opts
			opts.Revision, opts.Seen = r.Revision, r.Seen
			if r.Revision == r.Seen { // the watch notices an older server itself
				opts.Seen = ""
			}
			return watch.New(c, opts)
		},
	}
}

// open locks the snapshot for this informer. It fails if no snapshot could be saved.
func (i *Informer[T]) open() (release func(), err error) {
	if len(i.sources) > 1 {
		return nil, errSources
	}
	if i.restorer.journal.Header, err = persist.NewHeader[T](i.restorer.identity); err != nil {
		return nil, fmt.Errorf("keep a snapshot of %s at %s: %w", i.restorer.identity.Resource, i.restorer.Path, err)
	}
	release, err = disk.Lock(i.restorer.Path + lockSuffix)
	if locked := (*disk.LockedError)(nil); errors.As(err, &locked) {
		return nil, fmt.Errorf("keep a snapshot of %s at %s, which belongs to one informer: %w", i.restorer.identity.Resource, i.restorer.Path, err)
	}
	if err != nil { // no folder yet, or a file system without locks
		i.report(fmt.Errorf("snapshot of %s at %s: cannot lock it against other processes: %w", i.restorer.identity.Resource, i.restorer.Path, err))
		release = func() {}
	}
	return release, nil
}

// lockSuffix is appended to the path of a snapshot.
const lockSuffix = ".lock"

// load begins with the snapshot, if there is a good one, and the journal. It fails if
// they exceed the budget.
func (i *Informer[T]) load() error {
	decode, objects := decoder(i.transform), map[kube.Key]entry[T]{}
	got, err := persist.ReadFile(i.restorer.Path, i.restorer.identity, decode, into(objects))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		i.report(err)
	}
	noted, lost, errs := i.restorer.journal.Read(got.Journal, decode)
	for _, err := range errs {
		i.report(err)
	}
	if lost { // a watch from there would miss changes
		got.Revision = ""
	}
	defer i.progress()
	<-i.exclusive // a handler that is added meanwhile gets the objects once
	defer i.finish()
	if got.Seen != "" {
		if err := i.store.fill(objects, got.Revision); err != nil {
			return err
		}
	}
	if lost {
		i.store.lose(0)
	}
	if err := i.account.load(i.store); err != nil {
		return err
	}
	if got.Revision != "" {
		i.restorer.saved = savepoint{revision: got.Revision, unacked: int64(len(got.Unacked))}
	}
	for _, r := range noted {
		got.Seen = persist.Later(got.Seen, r.Revision)
	}
	if got.Seen != "" {
		i.mu.Lock()
		i.sources[0] = i.restorer.resume(got.Resume)
		i.mu.Unlock()
	}
	for _, h := range i.current() {
		for _, r := range got.Unacked {
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

// restore applies the records of the journal. The caller holds exclusive.
func (i *Informer[T]) restore(noted []persist.Record[T]) error {
	for _, r := range noted {
		if err := i.account.admit(i.store, watch.Event[T]{Type: watch.Added, Key: r.Key, Object: r.Object}, false); err != nil {
			return err
		}
		deltas := i.store.restore(r)
		i.account.enter(i.store, deltas)
		i.deliver(deltas)
	}
	return nil
}

// lose notes that the server of a source was restored to an earlier state. The source
// learns that before it lists again, and the informer may end in between.
func (i *Informer[T]) lose(source int) {
	i.store.lose(source)
	if i.restorer == nil {
		return
	}
	<-i.exclusive
	err := i.restorer.journal.Lose()
	i.finish()
	if err != nil {
		i.unsaved(err)
	}
}

// saveEvery saves periodically until ctx is done.
func (i *Informer[T]) saveEvery(ctx context.Context) error {
	tick := time.NewTicker(i.restorer.Every)
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

// save writes a snapshot if anything has changed and every handler has returned.
func (i *Informer[T]) save() {
	<-i.exclusive // no handler is processing a delta
	if i.torn {
		i.finish()
		return
	}
	_ = i.restorer.journal.Write(nil) // a lost history, if that is not noted yet
	unacked, dropped := i.unacked()
	m, generation, err := i.store.storeSnapshot(i.restorer.journal.Header, unacked)
	var at savepoint
	var drop func()
	if err == nil {
		at = savepoint{kube.Revision(m.Header.Revision), generation, m.Header.Unacked, m.Header.Unread}
		if at != i.restorer.saved {
			drop = i.restorer.journal.Rotate()
			m.Header.Journal = i.restorer.journal.Number
		}
	}
	i.finish()
	if dropped != nil {
		i.report(dropped)
	}
	if drop != nil {
		err = m.WriteFile(i.restorer.Path)
	}
	switch {
	case err == nil && drop == nil: // it is saved
	case err == nil:
		<-i.exclusive
		drop()
		i.finish()
		i.restorer.saved = at
		i.saves()
	case !errors.Is(err, ErrNotSynced):
		i.unsaved(fmt.Errorf("save snapshot of %s to %s: %w", i.restorer.identity.Resource, i.restorer.Path, err))
	}
}

// report reports an error of the snapshot or of the journal to OnError and the logger.
func (i *Informer[T]) report(err error) {
	if i.onError != nil {
		i.onError(err)
	}
	if log := i.logger(); log != nil {
		log.Warn("the saved state is not complete", "informer", i.name, "err", err)
	}
}

// unsaved is report for an error that comes again with each snapshot: the logger gets the
// first one.
func (i *Informer[T]) unsaved(err error) {
	i.mu.Lock()
	first := !i.saveFails
	i.saveFails = true
	i.mu.Unlock()
	if first {
		i.report(err)
	} else if i.onError != nil {
		i.onError(err)
	}
}

// saves notes that a snapshot was saved.
func (i *Informer[T]) saves() {
	i.mu.Lock()
	again := i.saveFails
	i.saveFails = false
	i.mu.Unlock()
	if log := i.logger(); log != nil && again {
		log.Info("the state is saved again", "informer", i.name)
	}
}
