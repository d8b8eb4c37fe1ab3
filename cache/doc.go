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
package cache
