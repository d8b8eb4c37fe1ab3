package main

import (
	"time"

	"github.com/listwatch/listwatch/kube"
)

// foos is where the server serves Foos: see manifests/crd.yaml.
var foos = kube.Resource{Group: "example.com", Version: "v1", Plural: "foos", Kind: "Foo", Namespaced: true}

// Foo asks for a Deployment. Nothing is generated: this struct is the type.
type Foo struct {
	kube.Meta `json:"metadata"`
	Spec      FooSpec   `json:"spec"`
	Status    FooStatus `json:"status,omitzero"`
}

// FooSpec is what is wanted. The server has checked it, and filled in defaults.
type FooSpec struct {
	DeploymentName string `json:"deploymentName"`
	Replicas       int    `json:"replicas"` // 1 to 10
}

// FooStatus is what there is.
type FooStatus struct {
	AvailableReplicas  int         `json:"availableReplicas"`
	ObservedGeneration int64       `json:"observedGeneration"`
	Conditions         []Condition `json:"conditions"`
}

// Condition is as the API conventions have it.
type Condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status"` // True, False or Unknown
	ObservedGeneration int64     `json:"observedGeneration"`
	LastTransitionTime time.Time `json:"lastTransitionTime"` // of Status
	Reason             string    `json:"reason"`
	Message            string    `json:"message"`
}

// Deployment is what matters here of one. Whatever else it has stays when this is
// written.
type Deployment struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Replicas *int `json:"replicas,omitempty"`
		Selector struct {
			MatchLabels map[string]string `json:"matchLabels"`
		} `json:"selector"`
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

// Container is one of a Pod.
type Container struct {
	Name  string `json:"name"`
	Image string `json:"image"`
}
