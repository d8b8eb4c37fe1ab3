// Package cache keeps a collection in memory as a watch tells it.
//
// A [Store] is a pure fold: [Store.Apply] takes one event and returns what
// changed. It starts no goroutine and does no I/O:
//
//	store := cache.NewStore[Pod]()
//	for ev, err := range watch.New(pods, watch.Options{}).Events(ctx) {
//		if err != nil {
//			continue // a hiccup
//		}
//		for _, d := range store.Apply(ev) {
//			fmt.Println(d.Type, d.Key)
//		}
//	}
//
// When the watch had to list again, the store keeps serving what it has, marks
// what the list tells and at SYNCED sweeps the rest: that is how a deletion that
// nobody saw becomes a Delta. Two copies of a collection never exist.
//
// An informer that never syncs says why. [Informer.WaitSynced], when its context
// ends, [Informer.Ready] and [Informer.Status] name the reason:
//
//   - "Run was not called": add it to the Manager, or call Run, or Group.Run.
//   - "forbidden", "unauthorized": the service account lacks list or watch on the
//     resource, in the namespace that the informer's name shows.
//   - "not found": group, version, plural or Namespaced of the Resource is wrong, or
//     the custom resource definition is missing.
//   - "the handler main.f is busy since ...": handlers hold up the informer; a
//     consumer that may be slow should use [Informer.Changes]. A handler that waits
//     for its own informer (Handle, WaitSynced, Await) waits for ever.
//   - "the informer ended": with the error that Run returned, such as a *BudgetError.
//
// With Options.Logger, or that of a Manager or a [Group], each change of this is one
// line of the log.
package cache
