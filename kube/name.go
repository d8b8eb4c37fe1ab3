package kube

// MaxIdentity is the most bytes that a name, a namespace, a UID or a resource
// version may have. Kubernetes limits most names to 253; a UID has 36.
const MaxIdentity = 1024
