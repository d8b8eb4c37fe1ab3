// Package kube holds the types that all other packages share: objects and their keys,
// resources and their URL paths, selectors, resource versions, and the Status error of
// a Kubernetes API server.
//
// It does no I/O, starts no goroutine and imports only the standard library. An object
// is any type that implements [Object]: a struct of your own that embeds [Meta],
// [Partial] (metadata only), codec.Raw (the object's bytes), or *corev1.Pod of
// k8s.io/api, which this module never imports.
//
//	type Pod struct {
//		kube.Meta `json:"metadata"`
//		Spec      struct {
//			NodeName string `json:"nodeName"`
//		} `json:"spec"`
//	}
//
// Names are case-sensitive: a field is decoded from the member whose name is that of its
// json tag, or, without a tag, that of the field.
package kube
