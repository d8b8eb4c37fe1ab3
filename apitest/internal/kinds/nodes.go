package kinds

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
	"github.com/listwatch/listwatch/apitest/internal/schema"
	"github.com/listwatch/listwatch/kube"
)

// nodeKinds are the kinds of the core group about nodes.
func nodeKinds() []Kind {
	return []Kind{
		{
			Info:     object.Info{Resource: kube.Nodes, ShortNames: []string{"no"}, Status: true, NoCount: true, Fields: []string{"spec.unschedulable"}, Absent: map[string]string{"spec.unschedulable": "false"}},
			Defaults: fillNode,
			Validate: func(r *rules.Refusals, o, old map[string]any) {
				spec, was := rules.ObjectAt(o, "spec"), rules.ObjectAt(old, "spec")
				seen := map[string]bool{}
				for i, e := range rules.ListAt(spec, "taints") {
					t, _ := e.(map[string]any)
					path := fmt.Sprintf("metadata.taints[%d]", i) // so it says
					r.Each(path+".key", rules.TextAt(t, "key"), rules.QualifiedName(rules.TextAt(t, "key")))
					r.Maybe(path, t, "value", rules.LabelValue)
					r.Chosen(path, t, "effect", "NoSchedule", "PreferNoSchedule", "NoExecute")
					id := rules.TextAt(t, "key") + ":" + rules.TextAt(t, "effect")
					if seen[id] {
						r.Duplicate(path, t)
					}
					seen[id] = true
				}
				for field, cidr := range rules.Texts("spec", spec, "podCIDRs") {
					r.Each(field, cidr, rules.CIDR(cidr))
				}
				if id := rules.TextAt(was, "providerID"); id != "" && spec["providerID"] != id {
					r.Invalid("spec.providerID", nil, "field cannot be modified once set")
				}
				if cidrs := rules.ListAt(was, "podCIDRs"); len(cidrs) > 0 && !rules.SameValue(cidrs, spec["podCIDRs"]) {
					r.Add("FieldValueForbidden", "spec.podCIDRs", `Forbidden: node updates may not change podCIDR except from "" to valid`)
				}
			},
			Zero:    `"spec":{},"status":` + zeroNodeStatus,
			Printer: nodePrinter,
		},
	}
}

func fillNode(d *rules.Defaults, o map[string]any) {
	spec := d.Object(o, "spec")
	d.Drop(spec, "unschedulable", "providerID")
	d.DropIn(spec, "taints", "value")
	switch cidr, list := rules.TextAt(spec, "podCIDR"), rules.ListAt(spec, "podCIDRs"); {
	case cidr == "" && len(list) > 0:
		d.Put(spec, "podCIDR", list[0])
	case cidr != "" && (len(list) == 0 || list[0] != cidr):
		d.Put(spec, "podCIDRs", []any{cidr})
	}
	status := d.Object(o, "status")
	d.DropIn(status, "conditions", "reason", "message")
	d.Quantities(status, "capacity")
	if c := rules.ObjectAt(status, "capacity"); c != nil {
		d.Set(status, "allocatable", schema.Copy(c))
	}
	d.Quantities(status, "allocatable")
}

// CompleteNode adds the members that Go never omits to a node's status.
func CompleteNode(res kube.Resource, o *object.Object) {
	if res != kube.Nodes {
		return
	}
	status := make(map[string]any)
	if raw, ok := o.Field("status"); ok && string(raw) != "null" {
		status = object.DecodeValue(raw)
	}
	if fill(status, object.DecodeValue([]byte(zeroNodeStatus))) {
		o.SetField("status", object.Marshal(status), true)
	}
}

var nodePrinter = columns.Printer{
	Columns: columns.List(
		columns.Text("Status", "whether the node takes pods"),
		columns.Text("Roles", "roles of the node, by its labels"),
		columns.AgeColumn(),
		columns.Text("Version", "version of the kubelet"),
		columns.Wide("Internal-IP", "its address within the cluster"),
		columns.Wide("External-IP", "its address outside"),
		columns.Wide("OS-Image", "its operating system"),
		columns.Wide("Kernel-Version", "its kernel"),
		columns.Wide("Container-Runtime", "what runs its containers"),
	),
	Cells: func(r *columns.Row) {
		var spec struct{ Unschedulable bool }
		var status struct {
			Conditions columns.Conditions
			Addresses  []struct{ Type, Address string }
			NodeInfo   struct{ KubeletVersion, OSImage, KernelVersion, ContainerRuntimeVersion, Architecture string }
		}
		r.Read("spec", &spec)
		r.Read("status", &status)
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
			return columns.None
		}
		info := &status.NodeInfo
		kernel := cmp.Or(info.KernelVersion, columns.Unknown)
		if info.Architecture != "" {
			kernel += " (" + info.Architecture + ")"
		}
		r.Add(r.Meta.Name, word, nodeRoles(r.Meta.Labels), r.Age(), info.KubeletVersion, address("InternalIP"), address("ExternalIP"),
			cmp.Or(info.OSImage, columns.Unknown), kernel, cmp.Or(info.ContainerRuntimeVersion, columns.Unknown))
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
	return cmp.Or(strings.Join(slices.Compact(columns.Sorted(roles)), ","), columns.None)
}
