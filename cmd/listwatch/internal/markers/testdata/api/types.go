// Package v1 has a type with the common markers.
// +groupName=batch.example.com
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.size
// +kubebuilder:resource:shortName=bx;bo,categories={all},scope=Cluster
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`,priority=1
// +kubebuilder:selectablefield:JSONPath=`.spec.tone`
// +kubebuilder:validation:XValidation:rule="self.metadata.name != 'x'",message="not x"

// Box is a box.
type Box struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec BoxSpec `json:"spec"`
	// +optional
	Status BoxStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// BoxList is a list.
type BoxList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Box `json:"items"`
}

// Tone is how it sounds.
// +kubebuilder:validation:Enum=loud;soft
type Tone string

type common struct {
	// Labels of it.
	// +kubebuilder:validation:MaxProperties=3
	Labels map[string]string `json:"labels,omitempty"`
}

// BoxSpec is the desired state.
type BoxSpec struct {
	common `json:",inline"`

	// Size counts.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum:=10
	// +kubebuilder:default=3
	Size int32 `json:"size"`

	// +kubebuilder:default=soft
	Tone Tone `json:"tone,omitempty"`

	// +kubebuilder:validation:Pattern=`^[a-z]+,?$`
	// +kubebuilder:validation:MaxLength=9
	Text *string `json:"text"`

	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=2
	Ports []Port `json:"ports,omitempty"`

	// +kubebuilder:validation:items:MaxLength=4
	// +kubebuilder:default={"a","b"}
	Tags []string `json:"tags,omitempty"`

	// +kubebuilder:default={name: "x", number: 1}
	Port *Port `json:"port,omitempty"`

	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +nullable
	Any any `json:"any,omitempty"`

	For    metav1.Duration `json:"for,omitempty"`
	Hidden string          `json:"-"`
}

// Port is a port.
type Port struct {
	Name   string `json:"name"`
	Number int32  `json:"number"`
}

// BoxStatus is the observed state.
type BoxStatus struct {
	Size int32       `json:"size,omitempty"`
	Last metav1.Time `json:"last,omitempty"`
}
