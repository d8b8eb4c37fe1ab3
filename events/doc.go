// Package events records what happened to an object: it writes the Events that
// kubectl describe and kubectl events show.
//
//	recorder := events.New(c, events.Options{Component: "foo-controller"})
//	go recorder.Run(ctx)
//
//	recorder.Eventf(events.About(foos, foo), events.Normal, "Synced", "made %d replicas", n)
//
// Eventf never waits for the server: it queues the Event, and Run writes it. An Event
// that happens again raises the count of the existing one, ten similar messages are
// combined into one Event, and an object gets 25 Events of a type at once and then one
// every five minutes. These rules and numbers are client-go's. Unlike client-go, a
// Recorder also counts Events that are still queued: while the server is unreachable, an
// Event that happens a thousand times takes one place in the queue and one request.
//
// Events are for people, and may be lost: the server deletes them after an hour, and a
// [Recorder] drops those that it cannot write. [Stats] counts each of them. State that a
// program needs belongs in the status of the object.
//
// See https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/.
package events
