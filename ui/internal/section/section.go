// Package section sorts types into the sections of the page.
package section

import (
	"strings"

	"github.com/listwatch/listwatch/discovery"
)

// All are the sections, in their order.
var All = []string{"Workloads", "Network", "Config", "Storage", "Access", "Cluster", "Custom"}

// Of is where the page shows a type.
func Of(r discovery.Resource) string {
	switch r.Group {
	case "apps", "batch", "autoscaling":
		return "Workloads"
	case "networking.k8s.io", "discovery.k8s.io", "gateway.networking.k8s.io":
		return "Network"
	case "storage.k8s.io":
		return "Storage"
	case "rbac.authorization.k8s.io", "certificates.k8s.io":
		return "Access"
	case "":
		switch r.Plural {
		case "pods", "replicationcontrollers":
			return "Workloads"
		case "services", "endpoints":
			return "Network"
		case "configmaps", "secrets", "limitranges", "resourcequotas", "podtemplates":
			return "Config"
		case "persistentvolumes", "persistentvolumeclaims":
			return "Storage"
		case "serviceaccounts":
			return "Access"
		}
		return "Cluster"
	}
	if !strings.Contains(r.Group, ".") || strings.HasSuffix(r.Group, ".k8s.io") {
		return "Cluster"
	}
	return "Custom"
}
