package main

import "github.com/listwatch/listwatch/kube"

// foos is the resource of Foos: see manifests/crd.yaml.
var foos = kube.Resource{Group: "example.com", Version: "v1", Plural: "foos", Kind: "Foo", Namespaced: true}

// Foo requests a Deployment. Nothing is generated: this struct is the type.
type Foo struct {
	kube.Meta `json:"metadata"`
	Spec      FooSpec   `json:"spec"`
	Status    FooStatus `json:"status,omitzero"`
}

// FooSpec is the desired state. The server has validated it, and set defaults.
type FooSpec struct {
	DeploymentName string `json:"deploymentName"`
	Replicas       int    `json:"replicas"` // 1 to 10
}

// FooStatus is the observed state.
type FooStatus struct {
	AvailableReplicas  int              `json:"availableReplicas"`
	ObservedGeneration int64            `json:"observedGeneration"`
	Conditions         []kube.Condition `json:"conditions"`
}

// Deployment has the fields that the operator needs. Others are kept when it is
// written.
type Deployment struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Replicas *int               `json:"replicas,omitempty"`
		Selector kube.LabelSelector `json:"selector"`
		Template struct {
			Metadata struct {
				Labels map[string]string `json:"labels"`
			} `json:"metadata"`
			Spec struct {
				Containers []Container `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		AvailableReplicas int `json:"availableReplicas,omitempty"`
	} `json:"status,omitzero"`
}

// Container is a container of a Pod.
type Container struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}
