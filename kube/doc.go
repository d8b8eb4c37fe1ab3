// Package kube holds the nouns that every other package shares: objects and
// their keys, resources and their URL paths, selectors, resource versions, and
// the Status error that a Kubernetes API server answers with.
//
// It does no I/O, starts no goroutine and imports only the standard library.
// An object is whatever satisfies [Object]: a struct of your own that embeds
// [Meta], [Partial] (metadata only), codec.Raw (the object's own bytes), or
// *corev1.Pod of k8s.io/api, which this module never imports.
//
//	type Pod struct {
//		kube.Meta `json:"metadata"`
//		Spec      struct {
//			NodeName string `json:"nodeName"`
//		} `json:"spec"`
//	}
//
// Field names are matched as they are written: a field without a tag matches
// only a member of exactly its name.
package kube
