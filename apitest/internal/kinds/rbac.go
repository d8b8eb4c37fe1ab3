package kinds

import (
	"fmt"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/kube"
)

// rbacKinds are the kinds of rbac.authorization.k8s.io.
func rbacKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: cluster("rbac.authorization.k8s.io", "clusterroles", "ClusterRole"), NoCount: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				d.Null(o, "rules")
			},
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				refuseRules(r, cluster("rbac.authorization.k8s.io", "clusterroles", "ClusterRole"), o)
				if a := rules.ObjectAt(o, "aggregationRule"); a != nil {
					if rules.Lacks(a, "clusterRoleSelectors") {
						r.Required("aggregationRule.clusterRoleSelectors", "at least one clusterRoleSelector required if aggregationRule is non-nil")
					}
					for at, s := range rules.Elements("aggregationRule", a, "clusterRoleSelectors") {
						r.Selector(at, s)
					}
				}
			},
			Zero:     `"rules":null`,
			Strategy: Strategy{Upserts: true, name: rules.SegmentName},
		},
		{
			Info:     object.Info{Resource: cluster("rbac.authorization.k8s.io", "clusterrolebindings", "ClusterRoleBinding"), NoCount: true},
			Defaults: fillRoleBinding,
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				refuseRoleBinding(r, cluster("rbac.authorization.k8s.io", "clusterrolebindings", "ClusterRoleBinding"), o, old)
			},
			Zero:     `"roleRef":{"apiGroup":"","kind":"","name":""}`,
			Printer:  bindingPrinter,
			Strategy: Strategy{Upserts: true, name: rules.SegmentName},
		},
		{
			Info: object.Info{Resource: Named("rbac.authorization.k8s.io", "roles", "Role"), NoCount: true},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				d.Null(o, "rules")
			},
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				refuseRules(r, Named("rbac.authorization.k8s.io", "roles", "Role"), o)
			},
			Zero:     `"rules":null`,
			Strategy: Strategy{Upserts: true, name: rules.SegmentName},
		},
		{
			Info:     object.Info{Resource: Named("rbac.authorization.k8s.io", "rolebindings", "RoleBinding"), NoCount: true},
			Defaults: fillRoleBinding,
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				refuseRoleBinding(r, Named("rbac.authorization.k8s.io", "rolebindings", "RoleBinding"), o, old)
			},
			Zero:     `"roleRef":{"apiGroup":"","kind":"","name":""}`,
			Printer:  bindingPrinter,
			Strategy: Strategy{Upserts: true, name: rules.SegmentName},
		},
	}
}

const rbac = "rbac.authorization.k8s.io"

func fillRoleBinding(d *rules.Defaults, o map[string]any) {
	d.Text(d.Object(o, "roleRef"), "apiGroup", rbac)
	for s := range rules.ObjectsAt(o, "subjects") {
		d.Drop(s, "namespace")
		if s["kind"] == "User" || s["kind"] == "Group" {
			d.Text(s, "apiGroup", rbac)
		}
	}
}

func refuseRules(r *rules.Refusals, res kube.Resource, o map[string]any) {
	for i, e := range rules.ListAt(o, "rules") {
		rule, _ := e.(map[string]any)
		path := fmt.Sprintf("rules[%d]", i)
		if rules.Lacks(rule, "verbs") {
			r.Required(path + ".verbs")
		}
		switch urls := rules.ListAt(rule, "nonResourceURLs"); {
		case len(urls) > 0 && res.Namespaced:
			r.Invalid(path+".nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
		case len(urls) > 0:
		default:
			if rules.Lacks(rule, "apiGroups") {
				r.Required(path+".apiGroups", "resource rules must supply at least one api group")
			}
			if rules.Lacks(rule, "resources") {
				r.Required(path+".resources", "resource rules must supply at least one resource")
			}
		}
	}
}

func refuseRoleBinding(r *rules.Refusals, res kube.Resource, o, old map[string]any) {
	r.Fixed("", o, old, "roleRef")
	ref := rules.ObjectAt(o, "roleRef")
	kinds := []string{"Role", "ClusterRole"}
	if !res.Namespaced {
		kinds = kinds[1:]
	}
	if group := rules.TextAt(ref, "apiGroup"); group != rbac {
		r.Unsupported("roleRef.apiGroup", group, rbac)
	}
	r.Maybe("roleRef", ref, "name", rules.SegmentName)
	if kind := rules.TextAt(ref, "kind"); !slices.Contains(kinds, kind) {
		r.Unsupported("roleRef.kind", kind, kinds...)
	}
	if rules.TextAt(ref, "name") == "" {
		r.Required("roleRef.name")
	}
	for i, e := range rules.ListAt(o, "subjects") {
		s, _ := e.(map[string]any)
		path := fmt.Sprintf("subjects[%d]", i)
		if rules.TextAt(s, "name") == "" {
			r.Required(path + ".name")
		}
		switch kind := rules.TextAt(s, "kind"); kind {
		case "User", "Group":
			if group := rules.TextAt(s, "apiGroup"); group != rbac {
				r.Unsupported(path+".apiGroup", group, rbac)
			}
		case "ServiceAccount":
			r.Maybe(path, s, "name", rules.Subdomain)
			if group := rules.TextAt(s, "apiGroup"); group != "" {
				r.Unsupported(path+".apiGroup", group, "")
			}
			if rules.TextAt(s, "namespace") == "" && !res.Namespaced {
				r.Required(path + ".namespace")
			}
		default:
			r.Unsupported(path+".kind", kind, "ServiceAccount", "User", "Group")
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
