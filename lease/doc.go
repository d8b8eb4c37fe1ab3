// Package lease elects a leader among replicas by a Lease of
// coordination.k8s.io, so that one of them works at a time. Replicas that use
// client-go's leaderelection may take part.
//
//	e, err := lease.New(c, kube.Key{Namespace: "shop", Name: "orders"}, lease.Options{})
//	err = e.Run(ctx, func(ctx context.Context, t lease.Token) error {
//		return work(ctx) // ends with ctx
//	})
//
// The leader renews the Lease every 2 seconds, and releases it when its work has ended:
// another replica leads within 2 seconds then. Where that has failed for 10
// seconds, counted from when the last renewal that succeeded was sent, the work's
// context is cancelled; 15 seconds after the Lease last changed, by a replica's own
// clock, that replica takes it. The clocks of others, and the times in the Lease,
// are not believed. So there are never two leaders at one time, if the work ends
// within 5 seconds of its context and clocks run at about the same speed.
//
// A process that stands still, a paused virtual machine say, cannot notice that its
// time is up. Against that there is the [Token]: whoever is written to can tell an
// earlier leader from a later one.
package lease
