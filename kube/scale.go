package kube

// Scale is the scale subresource of a Deployment, StatefulSet, ReplicaSet or custom
// resource: the desired and actual number of replicas. See
// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/horizontal-pod-autoscaler-v2/.
type Scale struct {
	Meta   `json:"metadata"`
	Spec   ScaleSpec   `json:"spec"`
	Status ScaleStatus `json:"status"`
}

// ScaleSpec is the desired number of replicas.
type ScaleSpec struct {
	Replicas int32 `json:"replicas"`
}

// ScaleStatus is the actual number of replicas.
type ScaleStatus struct {
	Replicas int32  `json:"replicas"`
	Selector string `json:"selector,omitempty"` // of their Pods, as a label selector
}
