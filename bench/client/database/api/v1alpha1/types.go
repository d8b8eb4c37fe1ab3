// Package v1alpha1 has the previous version of Database.
// +kubebuilder:object:generate=true
// +groupName=example.com
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/conversion"

	v1 "github.com/listwatch/listwatch/bench/client/database/api/v1"
)

// GroupVersion is that of this package.
var GroupVersion = schema.GroupVersion{Group: "example.com", Version: "v1alpha1"}

// AddToScheme adds the types to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Database{}, &DatabaseList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// Database is the previous version.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion:warning="use example.com/v1"
type Database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DatabaseSpec      `json:"spec"`
	Status v1.DatabaseStatus `json:"status,omitempty"`
}

// DatabaseSpec is the desired state.
type DatabaseSpec struct {
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image"`
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	// +kubebuilder:default=1
	Instances int32 `json:"instances"`
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*(Mi|Gi|Ti)$`
	Storage      string `json:"storage"`
	StorageClass string `json:"storageClass,omitempty"`
	ConfigMap    string `json:"configMap,omitempty"`
	Protect      bool   `json:"protect,omitempty"`
}

// DatabaseList is a list of Databases.
// +kubebuilder:object:root=true
type DatabaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Database `json:"items"`
}

// ConvertTo converts to the hub.
func (o *Database) ConvertTo(raw conversion.Hub) error {
	d, s := raw.(*v1.Database), o.Spec
	d.ObjectMeta, d.Status = o.ObjectMeta, o.Status
	d.Spec = v1.DatabaseSpec{Image: s.Image, Replicas: s.Instances, Storage: v1.Storage{Size: s.Storage, Class: s.StorageClass}, Config: s.ConfigMap, Protect: s.Protect}
	return nil
}

// ConvertFrom converts from the hub.
func (o *Database) ConvertFrom(raw conversion.Hub) error {
	d := raw.(*v1.Database)
	s := d.Spec
	o.ObjectMeta, o.Status = d.ObjectMeta, d.Status
	o.Spec = DatabaseSpec{Image: s.Image, Instances: s.Replicas, Storage: s.Storage.Size, StorageClass: s.Storage.Class, ConfigMap: s.Config, Protect: s.Protect}
	return nil
}
