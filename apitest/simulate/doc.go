// Package simulate runs the workloads of a cluster on a fake API server: the
// controllers, the scheduler and the kubelets, without containers. Deployments,
// ReplicaSets, StatefulSets, DaemonSets and Jobs get their pods. Pods get nodes, start
// after a delay and become ready. Services get endpoints. The status of all these
// objects has what kubectl rollout status and kubectl wait need; ReplicaSets and
// ControllerRevisions have what rollout history and rollout undo need.
//
//	srv := apitest.NewWith(t, apitest.Options{CollectGarbage: true})
//	go simulate.New(srv, simulate.Options{Nodes: 3}).Run(ctx)
//	srv.Put(kube.Deployments, `{"metadata":{"namespace":"a","name":"web"},"spec":{"replicas":3, ...}}`)
//
// It is one loop that reads the server about twenty times a second and does what is
// due, so that the same seed and the same writes at the same times make the same
// cluster. It uses package time only, so testing/synctest makes it virtual. It begins 17 ms
// after Run, and never at a whole millisecond within the first hours, so that it comes neither
// before nor after a write of the same time by chance. A client that answers an event at once
// does write while the loop works: there, chance decides unless it waits for a moment.
//
// A pod whose node is gone is stopped, also if the node went before Run. Nothing runs a pod that
// is bound later to a node that does not exist; it is stopped 40 seconds after that. After a
// restore of the server the cluster goes on within half a minute; it creates its nodes only once.
//
// A pod of a Job has a finalizer until it is counted, as in a real cluster: each one counts once,
// also if the simulation is restarted. A pod that [apitest.Server.Delete] removes before does not.
//
// It is not a control plane: there are no limited resources, no affinity, taints, probes, volumes,
// quotas, CronJobs, ReplicationControllers, or indexes, podFailurePolicy and successPolicy of Jobs.
// Nothing adopts or releases pods, ReplicaSets or ControllerRevisions, and no container fails by
// itself. A node that is not ready gets no pods; those that it has stay as they are. Nothing writes
// the status of a PodDisruptionBudget, so that evictions are refused, as by a new one.
package simulate
