// Package kubelet keeps the logs of the containers of a fake server, which runs none.
package kubelet
