package main

import "github.com/listwatch/listwatch/kube"

// managers is where the server serves CloudManagers: see manifests/crd.yaml.
var managers = kube.Resource{Group: "example.com", Version: "v1", Plural: "cloudmanagers", Kind: "CloudManager", Namespaced: true}

// CloudManager asks for parts. One that its spec does not name is not there.
type CloudManager struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Front    *Part `json:"front,omitempty"`
		Identity *Part `json:"identity,omitempty"`
		DB       *Part `json:"db,omitempty"`
	} `json:"spec"`
	Status Status `json:"status,omitzero"`
}

// Part is one of them.
type Part struct {
	Image    string `json:"image"`
	Replicas int    `json:"replicas"`
	Storage  string `json:"storage,omitempty"` // of each replica of the db
}

// Status is how far it is.
type Status struct {
	Phase              string   `json:"phase"` // progressing, ready, failed or deleting
	ObservedGeneration int64    `json:"observedGeneration"`
	Conditions         []fields `json:"conditions"` // Ready alone, as the API conventions have it
}

// Child is what matters of a Deployment, StatefulSet or Secret. What else it has stays.
type Child struct {
	kube.Meta `json:"metadata"`
	Data      map[string][]byte `json:"data,omitempty"` // of a Secret
	Spec      struct {
		Replicas *int `json:"replicas,omitempty"`
		Selector struct {
			MatchLabels map[string]string `json:"matchLabels"`
		} `json:"selector"`
		Template struct {
			kube.Meta `json:"metadata"`
			Spec      struct {
				Containers []Container `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
		VolumeClaimTemplates []fields `json:"volumeClaimTemplates,omitempty"` // of a StatefulSet
	} `json:"spec,omitzero"`
	Status struct {
		ObservedGeneration int64 `json:"observedGeneration,omitempty"`
		ReadyReplicas      int   `json:"readyReplicas,omitempty"`
	} `json:"status,omitzero"`
}

// Container is one of a Pod.
type Container struct {
	Name         string   `json:"name"`
	Image        string   `json:"image"`
	EnvFrom      []fields `json:"envFrom,omitempty"`
	VolumeMounts []fields `json:"volumeMounts,omitempty"`
}

type fields = map[string]any // of an object that is not worth a type
