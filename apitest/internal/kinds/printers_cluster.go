package kinds

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/object"
)

var configMapPrinter = Printer{
	Columns: columns(column("Data", "number of entries"), ageColumn()),
	Cells: func(r *Row) {
		var data, binary map[string]json.RawMessage
		r.read("data", &data)
		r.read("binaryData", &binary)
		r.add(r.Meta.Name, len(data)+len(binary), r.age())
	},
}

var secretPrinter = Printer{
	Columns: columns(column("Type", "what the secret is for"), column("Data", "number of entries"), ageColumn()),
	Cells: func(r *Row) {
		var typ string
		var data map[string]json.RawMessage
		r.read("type", &typ)
		r.read("data", &data)
		r.add(r.Meta.Name, typ, len(data), r.age())
	},
}

var serviceAccountPrinter = Printer{
	Columns: columns(ageColumn()),
	Cells:   func(r *Row) { r.add(r.Meta.Name, r.age()) },
}

var namespacePrinter = Printer{
	Columns: columns(column("Status", "Active, or Terminating"), ageColumn()),
	Cells: func(r *Row) {
		var status struct{ Phase string }
		r.read("status", &status)
		r.add(r.Meta.Name, status.Phase, r.age())
	},
}

var nodePrinter = Printer{
	Columns: columns(
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
	Cells: func(r *Row) {
		var spec struct{ Unschedulable bool }
		var status struct {
			Conditions Conditions
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
	return cmp.Or(strings.Join(slices.Compact(Sorted(roles)), ","), none)
}

var leasePrinter = Printer{
	Columns: columns(column("Holder", "who has the lease"), ageColumn()),
	Cells: func(r *Row) {
		var spec struct{ HolderIdentity string }
		r.read("spec", &spec)
		r.add(r.Meta.Name, spec.HolderIdentity, r.age())
	},
}

var priorityClassPrinter = Printer{
	Columns: columns(
		integerColumn("Value", "the priority"),
		ColumnDefinition{Name: "Global-Default", Type: "boolean", Description: "whether pods without a class have it"},
		ageColumn(),
		column("PreemptionPolicy", "whether pods of the class evict others"),
	),
	Cells: func(r *Row) {
		var value int
		var isDefault bool
		var policy string
		r.read("value", &value)
		r.read("globalDefault", &isDefault)
		r.read("preemptionPolicy", &policy)
		r.add(r.Meta.Name, value, isDefault, r.age(), policy)
	},
}

var quotaPrinter = Printer{
	Columns: columns(column("Request", "what is used of requests, and the limit"), column("Limit", "what is used of limits, and the limit"), ageColumn()),
	Cells: func(r *Row) {
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
var bindingPrinter = Printer{
	Columns: columns(
		column("Role", "the role"), ageColumn(),
		wideColumn("Users", "users who have it"), wideColumn("Groups", "groups that have it"), wideColumn("ServiceAccounts", "service accounts that have it"),
	),
	Cells: func(r *Row) {
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

var webhookPrinter = Printer{
	Columns: columns(integerColumn("Webhooks", "number of webhooks"), ageColumn()),
	Cells: func(r *Row) {
		var webhooks []struct{}
		r.read("webhooks", &webhooks)
		r.add(r.Meta.Name, len(webhooks), r.age())
	},
}

var definitionPrinter = Printer{
	Columns: columns(
		column("Scope", "Namespaced, or Cluster"),
		column("Versions", "versions that are served"),
		ColumnDefinition{Name: "Created At", Type: "date", Description: "when the object was created"},
		wideColumn("Group", "API group"),
		wideColumn("Kind", "kind of the objects"),
		wideColumn("ShortNames", "short names of the resource"),
		ColumnDefinition{Name: "Established", Type: "boolean", Description: "whether the resource is served", Priority: 1},
	),
	Cells: func(r *Row) {
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
		var status struct{ Conditions Conditions }
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
		r.add(r.Meta.Name, spec.Scope, strings.Join(Sorted(versions), ","), r.Meta.CreationTimestamp, spec.Group, spec.Names.Kind,
			strings.Join(spec.Names.ShortNames, ","), status.Conditions.Holds("Established"))
	},
}
