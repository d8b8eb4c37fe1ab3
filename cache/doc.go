// Package cache keeps a collection in memory.
//
// A [Store] holds the objects. [RWStore.Apply] applies one event of a watch and returns
// the changes, without a goroutine and without I/O. When a watch lists again, the store
// removes the objects that the list does not contain, and each removal is a [Delta] too.
// An [Informer] runs watches, applies their events to a store and calls handlers with the
// deltas, one call at a time and in the order of the events. With a [Snapshot] on disk
// the next process resumes where this one ended. A [Group] shares informers.
//
// An informer that does not sync reports why. The reason is in the errors of [Informer.Ready] and
// [Informer.Status], and in that of [Informer.WaitSynced] when its context ends:
//
//   - "Run was not called": add it to the Manager, or call Run, or Group.Run.
//   - "forbidden", "unauthorized": the service account lacks list or watch on the
//     resource, in the namespace that the informer's name shows.
//   - "not found": group, version, plural or Namespaced of the Resource is wrong, or
//     the custom resource definition is missing.
//   - "the handler main.f is busy since ...": handlers hold up the informer; a slow
//     consumer should use [Informer.Changes]. A handler must not wait for its own
//     informer: WaitSynced and Await wait until ctx ends, and Handle waits for ever.
//   - "the informer ended": with the error that Run returned, such as a *BudgetError.
//
// With Options.Logger, or the logger of a Manager or a [Group], each change of state is logged in
// one line.
package cache
