// Package cache keeps a collection in memory.
//
// A [Store] holds the objects. [RWStore.Apply] takes one event of a watch and returns
// what it changed, without a goroutine and without I/O. After the watch has listed
// again, the objects that the list did not have are deleted, and each such deletion
// is a [Delta] too. An [Informer] runs watches, applies their events to a store and
// calls handlers with the deltas, one call at a time and in the server's order. With
// a [Snapshot] on disk the next process resumes where this one ended. A [Group]
// shares informers.
//
// An informer that never syncs says why. [Informer.WaitSynced], when its context
// ends, [Informer.Ready] and [Informer.Status] name the reason:
//
//   - "Run was not called": add it to the Manager, or call Run, or Group.Run.
//   - "forbidden", "unauthorized": the service account lacks list or watch on the
//     resource, in the namespace that the informer's name shows.
//   - "not found": group, version, plural or Namespaced of the Resource is wrong, or
//     the custom resource definition is missing.
//   - "the handler main.f is busy since ...": handlers hold up the informer; a slow
//     consumer should use [Informer.Changes]. A handler that waits for its own
//     informer by WaitSynced or Await waits until ctx ends, and by Handle for ever.
//   - "the informer ended": with the error that Run returned, such as a *BudgetError.
//
// With Options.Logger, or that of a Manager or a [Group], each change of this is one
// line of the log.
package cache
