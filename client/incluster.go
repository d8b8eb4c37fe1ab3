package client

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
)

// ErrNotInCluster means that this process does not run in a pod with a service account.
var ErrNotInCluster = errors.New("not running in a pod with a service account")

const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/"

// InCluster returns the configuration and the namespace of a process that runs in a pod,
// from the files of its service account. See
// https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/.
func InCluster() (Config, string, error) { return inCluster(os.Getenv, serviceAccount) }

func inCluster(env func(string) string, dir string) (Config, string, error) {
	host, port := env("KUBERNETES_SERVICE_HOST"), env("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return Config{}, "", fmt.Errorf("%w: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set", ErrNotInCluster)
	}
	if _, err := os.Stat(dir + "token"); err != nil {
		return Config{}, "", fmt.Errorf("%w: %w", ErrNotInCluster, err)
	}
	cfg := Config{
		Server:    "https://" + net.JoinHostPort(host, port),
		TokenFile: dir + "token",
		TLS:       TLS{CAFile: dir + "ca.crt"},
	}
	ns, err := os.ReadFile(dir + "namespace")
	if err != nil {
		return Config{}, "", fmt.Errorf("client: read the pod's namespace: %w", err)
	}
	return cfg, strings.TrimSpace(string(ns)), nil
}
