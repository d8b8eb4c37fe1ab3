// Package metrics exports controllers, informers, webhooks and leader election to Prometheus.
//
//	r := metrics.New()
//	metrics.Informer(r, "foos", foos)
//	metrics.Controller(r, ctl)
//	m := manager.New(manager.Options{Listen: ":8080", Metrics: r.Handler()})
//
// Queues and controllers have the names that they have in client-go and
// controller-runtime (workqueue_depth, controller_runtime_reconcile_total and so
// on; rest_client_requests_total by [Requests]), so that their dashboards and alerts work.
// Informers have names of their own, which begin with listwatch_informer.
//
// Nothing is global: a [Registry] exports only what was added to it. Each function that adds
// something with a name returns one that removes it, for what ends before the program does: a
// cluster of controller.Clusters, a part that Manager.Remove removes. Otherwise its last values
// stay, and the registry keeps it, with its cache, in memory. After the removal its values are
// gone from the next scrape, and its name is free. To remove it again does nothing.
package metrics
