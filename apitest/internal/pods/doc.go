// Package pods is what kube-apiserver knows of the specs of pods, which workloads and
// templates have too: what it fills in, what it refuses, what may change, and the columns
// of Pods.
package pods
