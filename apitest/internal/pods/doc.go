// Package pods is what kube-apiserver knows of the specs of pods, which workloads and
// templates have too: what it fills in, what it refuses, and what may change.
package pods
