package apitest

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/object"
)

var configMapPrinter = printer{
	columns: columns(column("Data", "number of entries"), ageColumn()),
	cells: func(r *row) {
		var data, binary map[string]json.RawMessage
		r.read("data", &data)
		r.read("binaryData", &binary)
		r.add(r.Meta.Name, len(data)+len(binary), r.age())
	},
}

var secretPrinter = printer{
	columns: columns(column("Type", "what the secret is for"), column("Data", "number of entries"), ageColumn()),
	cells: func(r *row) {
		var typ string
		var data map[string]json.RawMessage
		r.read("type", &typ)
		r.read("data", &data)
		r.add(r.Meta.Name, typ, len(data), r.age())
	},
}

var serviceAccountPrinter = printer{
	columns: columns(ageColumn()),
	cells:   func(r *row) { r.add(r.Meta.Name, r.age()) },
}

var namespacePrinter = printer{
	columns: columns(column("Status", "Active, or Terminating"), ageColumn()),
	cells: func(r *row) {
		var status struct{ Phase string }
		r.read("status", &status)
		r.add(r.Meta.Name, status.Phase, r.age())
	},
}

var nodePrinter = printer{
	columns: columns(
		column("Status", "whether the node takes pods"),
		column("Roles", "roles of the node, by its labels"),
		ageColumn(),
		column("Version", "version of the kubelet"),
		wideColumn("Internal-IP", "its address within the cluster"),
		wideColumn("External-IP", "its address outside"),
		wideColumn("OS-Image", "its operating system"),
		wideColumn("Kernel-Version", "its kernel"),
		wideColumn("Container-Runtime", "what runs its containers"),
	),
	cells: func(r *row) {
		var spec struct{ Unschedulable bool }
		var status struct {
			Conditions conditions
			Addresses  []struct{ Type, Address string }
			NodeInfo   struct{ KubeletVersion, OSImage, KernelVersion, ContainerRuntimeVersion, Architecture string }
		}
		r.read("spec", &spec)
		r.read("status", &status)
		word := "Unknown"
		for _, c := range status.Conditions {
			if c.Type == "Ready" && c.Status == "True" {
				word = "Ready"
			} else if c.Type == "Ready" {
				word = "NotReady"
			}
		}
		if spec.Unschedulable {
			word += ",SchedulingDisabled"
		}
		address := func(typ string) string {
			for _, a := range status.Addresses {
				if a.Type == typ {
					return a.Address
				}
			}
			return none
		}
		info := &status.NodeInfo
		kernel := cmp.Or(info.KernelVersion, unknown)
		if info.Architecture != "" {
			kernel += " (" + info.Architecture + ")"
		}
		r.add(r.Meta.Name, word, nodeRoles(r.Meta.Labels), r.age(), info.KubeletVersion, address("InternalIP"), address("ExternalIP"),
			cmp.Or(info.OSImage, unknown), kernel, cmp.Or(info.ContainerRuntimeVersion, unknown))
	},
}

func nodeRoles(labels map[string]string) string {
	var roles []string
	for label, value := range labels {
		role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/")
		if label == "kubernetes.io/role" {
			role, ok = value, true
		}
		if ok && role != "" {
			roles = append(roles, role)
		}
	}
	return cmp.Or(strings.Join(slices.Compact(sorted(roles)), ","), none)
}

var leasePrinter = printer{
	columns: columns(column("Holder", "who has the lease"), ageColumn()),
	cells: func(r *row) {
		var spec struct{ HolderIdentity string }
		r.read("spec", &spec)
		r.add(r.Meta.Name, spec.HolderIdentity, r.age())
	},
}

var priorityClassPrinter = printer{
	columns: columns(
		integerColumn("Value", "the priority"),
		columnDefinition{Name: "Global-Default", Type: "boolean", Description: "whether pods without a class have it"},
		ageColumn(),
		column("PreemptionPolicy", "whether pods of the class evict others"),
	),
	cells: func(r *row) {
		var value int
		var isDefault bool
		var policy string
		r.read("value", &value)
		r.read("globalDefault", &isDefault)
		r.read("preemptionPolicy", &policy)
		r.add(r.Meta.Name, value, isDefault, r.age(), policy)
	},
}

var quotaPrinter = printer{
	columns: columns(column("Request", "what is used of requests, and the limit"), column("Limit", "what is used of limits, and the limit"), ageColumn()),
	cells: func(r *row) {
		var status struct{ Hard, Used map[string]quantity }
		r.read("status", &status)
		var requests, limits []string
		for _, name := range object.SortedKeys(status.Hard) {
			use := name + ": " + status.Used[name].String() + "/" + status.Hard[name].String()
			if strings.HasPrefix(name, "limits.") {
				limits = append(limits, use)
			} else {
				requests = append(requests, use)
			}
		}
		r.add(r.Meta.Name, strings.Join(requests, ", "), strings.Join(limits, ", "), r.age())
	},
}

// bindingPrinter is that of role bindings, of a namespace and of the cluster.
var bindingPrinter = printer{
	columns: columns(
		column("Role", "the role"), ageColumn(),
		wideColumn("Users", "users who have it"), wideColumn("Groups", "groups that have it"), wideColumn("ServiceAccounts", "service accounts that have it"),
	),
	cells: func(r *row) {
		var role struct{ Kind, Name string }
		var subjects []struct{ Kind, Namespace, Name string }
		r.read("roleRef", &role)
		r.read("subjects", &subjects)
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
		r.add(r.Meta.Name, role.Kind+"/"+role.Name, r.age(), strings.Join(users, ", "), strings.Join(groups, ", "), strings.Join(accounts, ", "))
	},
}

var webhookPrinter = printer{
	columns: columns(integerColumn("Webhooks", "number of webhooks"), ageColumn()),
	cells: func(r *row) {
		var webhooks []struct{}
		r.read("webhooks", &webhooks)
		r.add(r.Meta.Name, len(webhooks), r.age())
	},
}

var definitionPrinter = printer{
	columns: columns(
		column("Scope", "Namespaced, or Cluster"),
		column("Versions", "versions that are served"),
		columnDefinition{Name: "Created At", Type: "date", Description: "when the object was created"},
		wideColumn("Group", "API group"),
		wideColumn("Kind", "kind of the objects"),
		wideColumn("ShortNames", "short names of the resource"),
		columnDefinition{Name: "Established", Type: "boolean", Description: "whether the resource is served", Priority: 1},
	),
	cells: func(r *row) {
		var spec struct {
			Group, Scope string
			Names        struct {
				Kind       string
				ShortNames []string
			}
			Versions []struct {
				Name            string
				Served, Storage bool
			}
		}
		var status struct{ Conditions conditions }
		r.read("spec", &spec)
		r.read("status", &status)
		var versions []string
		for _, v := range spec.Versions {
			switch {
			case v.Served && v.Storage:
				versions = append(versions, v.Name+"(storage)")
			case v.Served:
				versions = append(versions, v.Name)
			}
		}
		r.add(r.Meta.Name, spec.Scope, strings.Join(sorted(versions), ","), r.Meta.CreationTimestamp, spec.Group, spec.Names.Kind,
			strings.Join(spec.Names.ShortNames, ","), status.Conditions.holds("Established"))
	},
}
