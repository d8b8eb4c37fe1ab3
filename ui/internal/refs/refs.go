// Package refs finds the objects that an object names: a pod its ConfigMaps, an autoscaler
// what it scales.
package refs

import (
	"encoding/json"
	"slices"
	"strings"
)

// Ref is an object that another one names.
type Ref struct {
	Type string `json:"type"` // such as configmaps
	NS   string `json:"ns,omitempty"`
	Name string `json:"name"`
	As   string `json:"as"` // what for, such as "volume settings"
}

// workloads are the types that have a pod's spec.
var workloads = []string{"pods", "deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch", "cronjobs.batch", "replicationcontrollers"}

const (
	autoscalers = "horizontalpodautoscalers.autoscaling"
	ingresses   = "ingresses.networking.k8s.io"
	slicesType  = "endpointslices.discovery.k8s.io"
	bindings    = "rolebindings.rbac.authorization.k8s.io"
	allBindings = "clusterrolebindings.rbac.authorization.k8s.io"
	roles       = "roles.rbac.authorization.k8s.io"
	allRoles    = "clusterroles.rbac.authorization.k8s.io"
)

// namers are the types whose objects may name those of a type. What an autoscaler scales may
// be of any other type.
var namers = map[string][]string{
	"configmaps":                        workloads,
	"secrets":                           append([]string{ingresses, "serviceaccounts"}, workloads...),
	"serviceaccounts":                   append([]string{bindings, allBindings}, workloads...),
	"persistentvolumeclaims":            append([]string{"persistentvolumes"}, workloads...),
	"persistentvolumes":                 {"persistentvolumeclaims"},
	"services":                          {ingresses, "statefulsets.apps"},
	"pods":                              {slicesType},
	roles:                               {bindings},
	allRoles:                            {bindings, allBindings},
	"priorityclasses.scheduling.k8s.io": workloads,
	"storageclasses.storage.k8s.io":     {"persistentvolumeclaims", "persistentvolumes"},
	"ingressclasses.networking.k8s.io":  {ingresses},
}

// May reports whether an object of a type may name one of another type.
func May(typ, other string) bool {
	list, ok := namers[other]
	return slices.Contains(list, typ) || !ok && typ == autoscalers
}

// OwnerMay reports whether the owner of an object, by its kind, names all of a type that the
// object names: a ReplicaSet for its pods. A StatefulSet does not name their claims.
func OwnerMay(ownerKind, other string) bool {
	if ownerKind == "StatefulSet" {
		return other != "persistentvolumeclaims"
	}
	return slices.Contains([]string{"Deployment", "ReplicaSet", "DaemonSet", "Job", "CronJob", "ReplicationController"}, ownerKind)
}

// named has a name.
type named struct {
	Name       string `json:"name"`
	Namespace  string `json:"namespace"`
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
}

type container struct {
	Name string `json:"name"`
	Env  []struct {
		ValueFrom struct {
			ConfigMap named `json:"configMapKeyRef"`
			Secret    named `json:"secretKeyRef"`
		} `json:"valueFrom"`
	} `json:"env"`
	EnvFrom []struct {
		ConfigMap named `json:"configMapRef"`
		Secret    named `json:"secretRef"`
	} `json:"envFrom"`
}

type source struct {
	ConfigMap named `json:"configMap"`
	Secret    struct {
		named
		SecretName string `json:"secretName"`
	} `json:"secret"`
}

type podSpec struct {
	ServiceAccount string      `json:"serviceAccountName"`
	Priority       string      `json:"priorityClassName"`
	Node           string      `json:"nodeName"`
	PullSecrets    []named     `json:"imagePullSecrets"`
	Init           []container `json:"initContainers"`
	Containers     []container `json:"containers"`
	Volumes        []struct {
		source
		Name  string `json:"name"`
		Claim struct {
			Name string `json:"claimName"`
		} `json:"persistentVolumeClaim"`
		Projected struct {
			Sources []source `json:"sources"`
		} `json:"projected"`
	} `json:"volumes"`
}

type backend struct {
	Service named `json:"service"`
}

// object has what names others, in the types that do. A field is of one type of object.
type object struct {
	Metadata struct {
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Spec struct {
		podSpec
		Template struct {
			Spec podSpec `json:"spec"`
		} `json:"template"`
		JobTemplate struct {
			Spec struct {
				Template struct {
					Spec podSpec `json:"spec"`
				} `json:"template"`
			} `json:"spec"`
		} `json:"jobTemplate"`
		ServiceName string  `json:"serviceName"`    // of a StatefulSet
		Target      named   `json:"scaleTargetRef"` // of an autoscaler
		Volume      string  `json:"volumeName"`     // of a claim
		Claim       named   `json:"claimRef"`       // of a volume
		Storage     string  `json:"storageClassName"`
		Class       string  `json:"ingressClassName"`
		Default     backend `json:"defaultBackend"`
		TLS         []struct {
			Secret string `json:"secretName"`
		} `json:"tls"`
		Rules []struct {
			HTTP struct {
				Paths []struct {
					Backend backend `json:"backend"`
				} `json:"paths"`
			} `json:"http"`
		} `json:"rules"`
	} `json:"spec"`
	Secrets     []named `json:"secrets"`          // of a ServiceAccount
	PullSecrets []named `json:"imagePullSecrets"` // of a ServiceAccount
	Role        named   `json:"roleRef"`
	Subjects    []named `json:"subjects"`
	Endpoints   []struct {
		Target named `json:"targetRef"`
	} `json:"endpoints"`
}

// list collects each object once, in the order of the text.
type list struct {
	ns   string
	refs []Ref
}

// add adds an object, in the namespace of who names it if the type has namespaces.
func (l *list) add(typ, name, as string) { l.in(l.ns, typ, name, as) }

func (l *list) in(ns, typ, name, as string) {
	if name == "" {
		return
	}
	at := slices.IndexFunc(l.refs, func(r Ref) bool { return r.Type == typ && r.NS == ns && r.Name == name })
	switch {
	case at < 0:
		l.refs = append(l.refs, Ref{typ, ns, name, as})
	case !slices.Contains(strings.Split(l.refs[at].As, ", "), as):
		l.refs[at].As += ", " + as
	}
}

// Of returns the objects that the object of a type names in its JSON text.
func Of(typ, text string) []Ref {
	var o object
	_ = json.Unmarshal([]byte(text), &o) // another type may have other types in these fields: what fits is taken
	l := &list{ns: o.Metadata.Namespace, refs: []Ref{}}
	switch s := &o.Spec; typ {
	case "pods":
		l.pod(&s.podSpec)
	case "cronjobs.batch":
		l.pod(&s.JobTemplate.Spec.Template.Spec)
	case autoscalers:
		l.add(typeOf(s.Target), s.Target.Name, "what it scales")
	case ingresses:
		l.in("", "ingressclasses.networking.k8s.io", s.Class, "class")
		l.add("services", s.Default.Service.Name, "backend")
		for _, r := range s.Rules {
			for _, p := range r.HTTP.Paths {
				l.add("services", p.Backend.Service.Name, "backend")
			}
		}
		for _, t := range s.TLS {
			l.add("secrets", t.Secret, "TLS")
		}
	case "persistentvolumeclaims":
		l.in("", "persistentvolumes", s.Volume, "volume")
		l.in("", "storageclasses.storage.k8s.io", s.Storage, "class")
	case "persistentvolumes":
		l.in(s.Claim.Namespace, "persistentvolumeclaims", s.Claim.Name, "claim")
		l.in("", "storageclasses.storage.k8s.io", s.Storage, "class")
	case bindings, allBindings:
		l.role(o.Role)
		for _, who := range o.Subjects {
			if who.Kind == "ServiceAccount" {
				l.in(who.Namespace, "serviceaccounts", who.Name, "subject")
			}
		}
	case "serviceaccounts":
		for _, s := range o.Secrets {
			l.add("secrets", s.Name, "secret")
		}
		for _, s := range o.PullSecrets {
			l.add("secrets", s.Name, "image pull secret")
		}
	case slicesType:
		for _, e := range o.Endpoints {
			if e.Target.Kind == "Pod" {
				l.in(e.Target.Namespace, "pods", e.Target.Name, "endpoint")
			}
		}
	case "statefulsets.apps":
		l.add("services", s.ServiceName, "governing service")
		l.pod(&s.Template.Spec)
	default:
		if slices.Contains(workloads, typ) {
			l.pod(&s.Template.Spec)
		}
	}
	return l.refs
}

// pod adds what the spec of a pod names.
func (l *list) pod(s *podSpec) {
	l.in("", "nodes", s.Node, "node")
	l.add("serviceaccounts", s.ServiceAccount, "account")
	for _, v := range s.Volumes {
		as := "volume " + v.Name
		l.add("persistentvolumeclaims", v.Claim.Name, as)
		for _, from := range append([]source{v.source}, v.Projected.Sources...) {
			l.add("configmaps", from.ConfigMap.Name, as)
			l.add("secrets", from.Secret.SecretName, as)
			l.add("secrets", from.Secret.Name, as)
		}
	}
	for _, c := range slices.Concat(s.Init, s.Containers) {
		as := "environment of " + c.Name
		for _, from := range c.EnvFrom {
			l.add("configmaps", from.ConfigMap.Name, as)
			l.add("secrets", from.Secret.Name, as)
		}
		for _, e := range c.Env {
			l.add("configmaps", e.ValueFrom.ConfigMap.Name, as)
			l.add("secrets", e.ValueFrom.Secret.Name, as)
		}
	}
	for _, p := range s.PullSecrets {
		l.add("secrets", p.Name, "image pull secret")
	}
	l.in("", "priorityclasses.scheduling.k8s.io", s.Priority, "priority")
}

// role adds that of a binding.
func (l *list) role(r named) {
	if r.Kind == "ClusterRole" {
		l.in("", allRoles, r.Name, "role")
	} else {
		l.add(roles, r.Name, "role")
	}
}

// typeOf is the type of what an autoscaler scales, by the rule that plurals of types follow.
func typeOf(n named) string {
	group, _, ok := strings.Cut(n.APIVersion, "/")
	if !ok {
		return strings.ToLower(n.Kind) + "s"
	}
	return strings.ToLower(n.Kind) + "s." + group
}
