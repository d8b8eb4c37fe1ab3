package main

import "github.com/listwatch/listwatch/kube"

// managers is the resource of CloudManagers: see manifests/crd.yaml.
var managers = kube.Resource{Group: "example.com", Version: "v1", Plural: "cloudmanagers", Kind: "CloudManager", Namespaced: true}

// CloudManager has the desired parts. Parts that its spec does not have are deleted.
type CloudManager struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Front    *Part `json:"front,omitempty"`
		Identity *Part `json:"identity,omitempty"`
		DB       *Part `json:"db,omitempty"`
	} `json:"spec"`
	Status Status `json:"status,omitzero"`
}

// Part is the spec of a part.
type Part struct {
	Image    string `json:"image"`
	Replicas int    `json:"replicas"`
	Storage  string `json:"storage,omitempty"` // for each replica of the db
}

// Status is the progress.
type Status struct {
	Phase              string           `json:"phase"` // progressing, ready, failed or deleting
	ObservedGeneration int64            `json:"observedGeneration"`
	Conditions         []kube.Condition `json:"conditions"` // Ready only
}

// Child has the needed fields of a Deployment, StatefulSet or Secret. Others are kept.
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

// Container is a container of a Pod.
type Container struct {
	Name         string   `json:"name"`
	Image        string   `json:"image"`
	EnvFrom      []fields `json:"envFrom,omitempty"`
	VolumeMounts []fields `json:"volumeMounts,omitempty"`
}

type fields = map[string]any // an object without a type of its own
