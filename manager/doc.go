// Package manager runs the parts of a program, such as informers, controllers, leader
// election and an HTTP listener, and stops them in order.
//
//	m := manager.New(manager.Options{Elector: e, Listen: ":8080", Signals: true})
//	m.Add(foos, deployments, recorder)
//	m.AddLed(ctl)
//	err := m.Run(ctx)
//
// Informers run on all replicas, so that a new leader begins at once; controllers run on the
// leader only. When the Manager stops, it first stops the controllers, then releases the lease,
// then stops webhook servers and waits until they have drained, then stops the informers, and
// finally the listener.
package manager
