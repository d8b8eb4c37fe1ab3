package kube

// Scale is the scale subresource of a Deployment, StatefulSet, ReplicaSet or of a
// custom resource that has one: how many replicas there should be, and are. See
// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/horizontal-pod-autoscaler-v2/.
type Scale struct {
	Meta   `json:"metadata"`
	Spec   ScaleSpec   `json:"spec"`
	Status ScaleStatus `json:"status"`
}

// ScaleSpec is how many replicas there should be.
type ScaleSpec struct {
	Replicas int32 `json:"replicas"`
}

// ScaleStatus is how many replicas there are.
type ScaleStatus struct {
	Replicas int32  `json:"replicas"`
	Selector string `json:"selector,omitempty"` // of their Pods, as a label selector
}
