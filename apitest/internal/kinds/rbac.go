package kinds

import (
	"fmt"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// rbacKinds are the kinds of rbac.authorization.k8s.io.
func rbacKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: cluster("rbac.authorization.k8s.io", "clusterroles", "ClusterRole"), NoCount: true},
			Defaults: func(d *Defaults, o map[string]any) {
				d.null(o, "rules")
			},
			Validate: func(r *Refusals, o, old map[string]any) {
				r.rules(cluster("rbac.authorization.k8s.io", "clusterroles", "ClusterRole"), o)
			},
			Zero:     `"rules":null`,
			Strategy: Strategy{Upserts: true, name: SegmentName},
		},
		{
			Info:     object.Info{Resource: cluster("rbac.authorization.k8s.io", "clusterrolebindings", "ClusterRoleBinding"), NoCount: true},
			Defaults: (*Defaults).roleBinding,
			Validate: func(r *Refusals, o, old map[string]any) {
				r.binding(cluster("rbac.authorization.k8s.io", "clusterrolebindings", "ClusterRoleBinding"), o)
			},
			Zero:     `"roleRef":{"apiGroup":"","kind":"","name":""}`,
			Printer:  bindingPrinter,
			Strategy: Strategy{Upserts: true, name: SegmentName},
		},
		{
			Info: object.Info{Resource: Named("rbac.authorization.k8s.io", "roles", "Role"), NoCount: true},
			Defaults: func(d *Defaults, o map[string]any) {
				d.null(o, "rules")
			},
			Validate: func(r *Refusals, o, old map[string]any) {
				r.rules(Named("rbac.authorization.k8s.io", "roles", "Role"), o)
			},
			Zero:     `"rules":null`,
			Strategy: Strategy{Upserts: true, name: SegmentName},
		},
		{
			Info:     object.Info{Resource: Named("rbac.authorization.k8s.io", "rolebindings", "RoleBinding"), NoCount: true},
			Defaults: (*Defaults).roleBinding,
			Validate: func(r *Refusals, o, old map[string]any) {
				r.binding(Named("rbac.authorization.k8s.io", "rolebindings", "RoleBinding"), o)
			},
			Zero:     `"roleRef":{"apiGroup":"","kind":"","name":""}`,
			Printer:  bindingPrinter,
			Strategy: Strategy{Upserts: true, name: SegmentName},
		},
	}
}

const rbac = "rbac.authorization.k8s.io"

func (d *Defaults) roleBinding(o map[string]any) {
	d.text(d.Object(o, "roleRef"), "apiGroup", rbac)
	for s := range ObjectsAt(o, "subjects") {
		if s["kind"] == "User" || s["kind"] == "Group" {
			d.text(s, "apiGroup", rbac)
		}
	}
}

func (r *Refusals) rules(res kube.Resource, o map[string]any) {
	for i, e := range ListAt(o, "rules") {
		rule, _ := e.(map[string]any)
		path := fmt.Sprintf("rules[%d]", i)
		if Lacks(rule, "verbs") {
			r.required(path + ".verbs")
		}
		switch urls := ListAt(rule, "nonResourceURLs"); {
		case len(urls) > 0 && res.Namespaced:
			r.invalid(path+".nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
		case len(urls) > 0:
		default:
			if Lacks(rule, "apiGroups") {
				r.required(path+".apiGroups", "resource rules must supply at least one api group")
			}
			if Lacks(rule, "resources") {
				r.required(path+".resources", "resource rules must supply at least one resource")
			}
		}
	}
}

func (r *Refusals) binding(res kube.Resource, o map[string]any) {
	ref := ObjectAt(o, "roleRef")
	kinds := []string{"Role", "ClusterRole"}
	if !res.Namespaced {
		kinds = kinds[1:]
	}
	if kind := TextAt(ref, "kind"); !slices.Contains(kinds, kind) {
		r.unsupported("roleRef.kind", kind, slices.Clone(kinds)...)
	}
	if TextAt(ref, "name") == "" {
		r.required("roleRef.name")
	}
	for i, e := range ListAt(o, "subjects") {
		s, _ := e.(map[string]any)
		path := fmt.Sprintf("subjects[%d]", i)
		if TextAt(s, "name") == "" {
			r.required(path + ".name")
		}
		switch kind := TextAt(s, "kind"); kind {
		case "User", "Group":
		case "ServiceAccount":
			if TextAt(s, "namespace") == "" && !res.Namespaced {
				r.required(path + ".namespace")
			}
		default:
			r.unsupported(path+".kind", kind, "ServiceAccount", "User", "Group")
		}
	}
}

// bindingPrinter is that of role bindings, of a namespace and of the cluster.
var bindingPrinter = columns.Printer{
	Columns: columns.List(
		columns.Text("Role", "the role"), columns.AgeColumn(),
		columns.Wide("Users", "users who have it"), columns.Wide("Groups", "groups that have it"), columns.Wide("ServiceAccounts", "service accounts that have it"),
	),
	Cells: func(r *columns.Row) {
		var role struct{ Kind, Name string }
		var subjects []struct{ Kind, Namespace, Name string }
		r.Read("roleRef", &role)
		r.Read("subjects", &subjects)
		var users, groups, accounts []string
		for _, s := range subjects {
			switch s.Kind {
			case "User":
				users = append(users, s.Name)
			case "Group":
				groups = append(groups, s.Name)
			case "ServiceAccount":
				accounts = append(accounts, s.Namespace+"/"+s.Name)
			}
		}
		r.Add(r.Meta.Name, role.Kind+"/"+role.Name, r.Age(), strings.Join(users, ", "), strings.Join(groups, ", "), strings.Join(accounts, ", "))
	},
}
