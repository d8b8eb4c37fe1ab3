// Package simulate plays the workloads of a cluster on a fake API server: the
// controllers, the scheduler and the kubelets, without containers. Deployments,
// ReplicaSets, StatefulSets, DaemonSets and Jobs get their pods, the pods get
// nodes, start after a while and become ready, Services get endpoints, and the
// status of all of it says what kubectl rollout status and kubectl wait look for.
//
//	srv := apitest.NewWith(t, apitest.Options{CollectGarbage: true})
//	go simulate.New(srv, simulate.Options{Nodes: 3}).Run(ctx)
//	srv.Put(kube.Deployments, `{"metadata":{"namespace":"a","name":"web"},"spec":{"replicas":3, ...}}`)
//
// It is one loop that looks at the server about twenty times a second and does
// what is due, so that the same seed and the same writes at the same times make
// the same cluster. It waits in package time only, hence virtually in
// testing/synctest.
//
// It is not a control plane: there are no resources to run out of, no affinity,
// taints, probes, volumes, quotas, CronJobs, ControllerRevisions or disruption
// budgets, and no container ever fails by itself.
package simulate
