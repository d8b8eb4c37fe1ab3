// Package pods has the rules of kube-apiserver for the specs of pods, which workloads and
// templates contain too: defaults, validation, allowed changes, and the columns of Pods.
package pods
