package target

import "github.com/listwatch/listwatch/kube"

// Family is a resource in whatever version.
func Family(r kube.Resource) kube.Resource {
	r.Version = ""
	return r
}
