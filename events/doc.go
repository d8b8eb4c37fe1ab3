// Package events tells people what happened to an object: it writes the Events
// that kubectl describe and kubectl events show.
//
//	recorder := events.New(c, events.Options{Component: "foo-controller"})
//	go recorder.Run(ctx)
//
//	recorder.Eventf(events.About(foos, foo), events.Normal, "Synced", "made %d replicas", n)
//
// Eventf never waits for the server: it queues, and Run writes. What happens again
// is counted in the Event that tells it, many similar messages become one Event,
// and an object that does not come to rest has one Event in five minutes. These
// rules and their numbers are those of client-go. Unlike there, what waits is
// folded, too: the server may be away, and an Event that happens a thousand times
// meanwhile takes one place in the queue and one request.
//
// Events are for people, and may be lost: the server forgets them after an hour,
// and a [Recorder] drops those that it cannot write. [Stats] counts each. What a
// program must know belongs in the status of the object.
//
// See https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/.
package events
