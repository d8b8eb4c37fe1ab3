// Package traffic is what kube-apiserver refuses of the specs of Services, endpoints,
// Ingresses and NetworkPolicies: addresses, ports, hosts and paths.
package traffic
