package client

// InClusterAt is InCluster with another environment and directory.
var InClusterAt = inCluster
