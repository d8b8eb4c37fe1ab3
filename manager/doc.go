// Package manager runs the parts of a program, such as informers, controllers, leader
// election and an HTTP listener, and stops them in order.
//
//	m := manager.New(manager.Options{Elector: e, Listen: ":8080", Signals: true})
//	m.Add(foos, deployments, recorder)
//	m.AddLed(ctl)
//	err := m.Run(ctx)
//
// The informers of all replicas are filled, so that a new leader begins at once; the
// controllers run on the leader. When the Manager stops, it first stops the
// controllers, then releases the lease, then stops the caches and finally the listener.
package manager
