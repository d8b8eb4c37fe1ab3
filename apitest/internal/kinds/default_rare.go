package kinds

import (
	"github.com/listwatch/listwatch/kube"

	"github.com/listwatch/listwatch/apitest/internal/object"
)

// rare is setDefaults for the resources of rareBuiltIns.
func (d *Defaults) rare(res kube.Resource, o map[string]any) {
	switch spec := ObjectAt(o, "spec"); res.Plural {
	case "csidrivers":
		d.csiDriver(d.Object(o, "spec"))
	case "csinodes":
		d.null(d.Object(o, "spec"), "drivers")
	case "volumeattachments":
		d.Object(d.Object(o, "spec"), "source")
	case "validatingadmissionpolicies", "mutatingadmissionpolicies":
		spec = d.Object(o, "spec")
		d.set(spec, "failurePolicy", "Fail")
		d.matching(spec, "matchConstraints")
	case "validatingadmissionpolicybindings", "mutatingadmissionpolicybindings":
		spec = d.Object(o, "spec")
		d.matching(spec, "matchResources")
	case "resourceclaims":
		d.requests(d.Object(o, "spec"))
	case "resourceclaimtemplates":
		spec = d.Object(o, "spec")
		d.Object(spec, "metadata")
		d.requests(d.Object(spec, "spec"))
	case "devicetaintrules":
		if taint := ObjectAt(spec, "taint"); taint != nil {
			d.set(taint, "timeAdded", object.Timestamp())
		}
	case "deviceclasses", "ipaddresses", "servicecidrs", "clustertrustbundles", "certificatesigningrequests":
		d.Object(o, "spec")
	case "flowschemas":
		d.number(d.Object(o, "spec"), "matchingPrecedence", 1000)
	case "prioritylevelconfigurations":
		d.level(spec)
	}
}

func (d *Defaults) csiDriver(spec map[string]any) {
	d.set(spec, "attachRequired", true)
	d.set(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType")
	for _, name := range [...]string{"podInfoOnMount", "preventPodSchedulingIfMissing", "requiresRepublish", "seLinuxMount", "storageCapacity"} {
		d.set(spec, name, false)
	}
	if Lacks(spec, "volumeLifecycleModes") {
		d.put(spec, "volumeLifecycleModes", []any{"Persistent"})
	}
}

// matching fills in what a policy, or a binding, matches, if it says so.
func (d *Defaults) matching(spec map[string]any, name string) {
	m := ObjectAt(spec, name)
	if m == nil {
		return
	}
	d.set(m, "matchPolicy", "Equivalent")
	d.Object(m, "namespaceSelector")
	d.Object(m, "objectSelector")
	for _, rules := range [...]string{"resourceRules", "excludeResourceRules"} {
		for r := range ObjectsAt(m, rules) {
			d.set(r, "scope", "*")
		}
	}
}

// requests fills in what a claim asks for.
func (d *Defaults) requests(spec map[string]any) {
	devices := d.Object(spec, "devices")
	one := func(r map[string]any) {
		d.text(r, "allocationMode", "ExactCount")
		if r["allocationMode"] == "ExactCount" {
			d.number(r, "count", 1)
		}
		for t := range ObjectsAt(r, "tolerations") {
			d.text(t, "operator", "Equal")
		}
	}
	for r := range ObjectsAt(devices, "requests") {
		if exactly := ObjectAt(r, "exactly"); exactly != nil {
			one(exactly)
		}
		for sub := range ObjectsAt(r, "firstAvailable") {
			one(sub)
		}
	}
}

func (d *Defaults) level(spec map[string]any) {
	if exempt := ObjectAt(spec, "exempt"); exempt != nil {
		d.set(exempt, "nominalConcurrencyShares", int64(0))
		d.set(exempt, "lendablePercent", int64(0))
	} else if spec["type"] == "Exempt" {
		d.put(spec, "exempt", map[string]any{"nominalConcurrencyShares": int64(0), "lendablePercent": int64(0)})
	}
	if limited := ObjectAt(spec, "limited"); limited != nil {
		d.set(limited, "nominalConcurrencyShares", int64(30))
		d.set(limited, "lendablePercent", int64(0))
		response := d.Object(limited, "limitResponse")
		if q := ObjectAt(response, "queuing"); q != nil {
			d.number(q, "handSize", 8)
			d.number(q, "queues", 64)
			d.number(q, "queueLengthLimit", 50)
		}
	}
}
