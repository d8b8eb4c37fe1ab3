package follow

// Eight is a program's own struct: the eight fields of a pod that it needs.
type Eight struct {
	Metadata struct {
		Namespace       string            `json:"namespace"`
		Name            string            `json:"name"`
		UID             string            `json:"uid"`
		ResourceVersion string            `json:"resourceVersion"`
		Labels          map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
		PodIP string `json:"podIP"`
	} `json:"status"`
}

// GetNamespace returns the namespace.
func (e Eight) GetNamespace() string { return e.Metadata.Namespace }

// GetName returns the name.
func (e Eight) GetName() string { return e.Metadata.Name }

// GetUID returns the UID.
func (e Eight) GetUID() string { return e.Metadata.UID }

// GetResourceVersion returns the resource version.
func (e Eight) GetResourceVersion() string { return e.Metadata.ResourceVersion }
