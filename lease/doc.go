// Package lease elects a leader among replicas with a Lease of coordination.k8s.io, so
// that one of them works at a time. It is compatible with replicas that use client-go's
// leaderelection.
//
//	e, err := lease.New(c, kube.Key{Namespace: "shop", Name: "orders"}, lease.Options{})
//	err = e.Run(ctx, func(ctx context.Context, t lease.Token) error {
//		return work(ctx) // ends with ctx
//	})
//
// The leader renews the Lease every 2 seconds, and releases it when its work has ended;
// another replica then leads within 2 seconds. If renewals fail for 10 seconds, counted from the
// sending of the last successful renewal, the context of the work is cancelled. Another replica
// takes the Lease 15 seconds after the Lease last changed, measured by the replica's own clock.
// Clocks of other machines and the times in the Lease are never used. So there are never two
// leaders at a time, on these conditions: the work ends within 5 seconds of its context, clocks run
// at about the same speed, the server is not restored to an earlier state, nobody edits the Lease
// by hand, and no replica takes a missing Lease at once, as client-go and Options.TakeMissing do.
//
// A process that is frozen, for instance in a paused virtual machine, cannot notice that
// its leadership has ended. For that case there is the [Token]: with it, the system that
// the leaders write to can refuse the writes of an earlier leader.
//
// If the server is restored to a state in which nobody holds the Lease, a leader from before the
// restore may still work. A replica that has seen this leader in the Lease waits, as for a Lease
// that is not renewed. A replica that starts after the restore has not seen the leader, and leads
// at once. The same holds for the slots of a Ring.
//
// A [Ring] divides objects among replicas instead: the hash of an object's UID assigns the object
// to one of 256 slots. On the same conditions, and with the exceptions that the comment of Ring
// names, each slot has at most one owner at a time.
package lease
