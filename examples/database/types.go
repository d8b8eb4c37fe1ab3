package main

import "github.com/listwatch/listwatch/kube"

var (
	databases = kube.Resource{Group: "example.com", Version: "v1", Plural: "databases", Kind: "Database", Namespaced: true}
	budgets   = kube.Resource{Group: "policy", Version: "v1", Plural: "poddisruptionbudgets", Kind: "PodDisruptionBudget", Namespaced: true}
)

// Database requests a StatefulSet of database servers.
type Database struct {
	kube.Meta `json:"metadata"`
	Spec      Spec     `json:"spec"`
	Status    Status   `json:"status,omitzero"`
	_         struct{} `cel:"self.metadata.name.size() <= 40" message:"names of more than 40 characters leave no room for those of Pods" column:"Age,.metadata.creationTimestamp"`
}

// Spec is the desired state. The server has validated it, and set defaults.
type Spec struct {
	Image    string  `json:"image" crd:"min=1" column:"Image"`
	Replicas int32   `json:"replicas" crd:"min=1,max=9,default=1"`
	Storage  Storage `json:"storage" crd:"immutable"`
	Config   string  `json:"config,omitempty" crd:"max=253" desc:"The ConfigMap with the configuration."`
	Protect  bool    `json:"protect,omitempty" desc:"The Database cannot be deleted."`
}

// Storage is what each replica claims.
type Storage struct {
	Size  string `json:"size" pattern:"^[1-9][0-9]*(Mi|Gi|Ti)$"`
	Class string `json:"class,omitempty"`
}

// Status is the observed state.
type Status struct {
	ReadyReplicas int32            `json:"readyReplicas" column:"Ready"`
	Conditions    []kube.Condition `json:"conditions,omitempty" crd:"listType=map,listMapKey=type"`
}

// DatabaseV1alpha1 is the previous version, which is converted to Database and back.
type DatabaseV1alpha1 struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Image        string `json:"image" crd:"min=1"`
		Instances    int32  `json:"instances" crd:"min=1,max=9,default=1"`
		Storage      string `json:"storage" pattern:"^[1-9][0-9]*(Mi|Gi|Ti)$"`
		StorageClass string `json:"storageClass,omitempty"`
		ConfigMap    string `json:"configMap,omitempty"`
		Protect      bool   `json:"protect,omitempty"`
	} `json:"spec"`
	Status Status `json:"status,omitzero"`
}

func fromV1alpha1(o DatabaseV1alpha1) (Database, error) {
	s := o.Spec
	return Database{Meta: o.Meta, Status: o.Status, Spec: Spec{s.Image, s.Instances, Storage{s.Storage, s.StorageClass}, s.ConfigMap, s.Protect}}, nil
}

func toV1alpha1(d Database) (DatabaseV1alpha1, error) {
	o, s := DatabaseV1alpha1{Meta: d.Meta, Status: d.Status}, d.Spec
	o.Spec.Image, o.Spec.Instances, o.Spec.Storage, o.Spec.StorageClass = s.Image, s.Replicas, s.Storage.Size, s.Storage.Class
	o.Spec.ConfigMap, o.Spec.Protect = s.Config, s.Protect
	return o, nil
}

// statefulSet has the members that the operator reads.
type statefulSet struct {
	kube.Meta `json:"metadata"`
	Status    struct {
		ObservedGeneration int64 `json:"observedGeneration,omitempty"`
		ReadyReplicas      int32 `json:"readyReplicas,omitempty"`
	} `json:"status,omitzero"`
}

type configMap struct {
	kube.Meta `json:"metadata"`
	Data      map[string]string `json:"data,omitempty"`
}
