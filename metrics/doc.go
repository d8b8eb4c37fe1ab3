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
// Nothing is global: a [Registry] exports only what was added to it.
package metrics
