package apitest

import (
	"github.com/listwatch/listwatch/kube"

	"github.com/listwatch/listwatch/apitest/internal/object"
)

// rare is setDefaults for the resources of rareBuiltIns.
func (d *defaults) rare(res kube.Resource, o map[string]any) {
	switch spec := object1(o, "spec"); res.Plural {
	case "csidrivers":
		d.csiDriver(d.object(o, "spec"))
	case "csinodes":
		d.null(d.object(o, "spec"), "drivers")
	case "volumeattachments":
		d.object(d.object(o, "spec"), "source")
	case "validatingadmissionpolicies", "mutatingadmissionpolicies":
		spec = d.object(o, "spec")
		d.set(spec, "failurePolicy", "Fail")
		d.matching(spec, "matchConstraints")
	case "validatingadmissionpolicybindings", "mutatingadmissionpolicybindings":
		spec = d.object(o, "spec")
		d.matching(spec, "matchResources")
	case "resourceclaims":
		d.requests(d.object(o, "spec"))
	case "resourceclaimtemplates":
		spec = d.object(o, "spec")
		d.object(spec, "metadata")
		d.requests(d.object(spec, "spec"))
	case "devicetaintrules":
		if taint := object1(spec, "taint"); taint != nil {
			d.set(taint, "timeAdded", object.Timestamp())
		}
	case "deviceclasses", "ipaddresses", "servicecidrs", "clustertrustbundles", "certificatesigningrequests":
		d.object(o, "spec")
	case "flowschemas":
		d.number(d.object(o, "spec"), "matchingPrecedence", 1000)
	case "prioritylevelconfigurations":
		d.level(spec)
	}
}

func (d *defaults) csiDriver(spec map[string]any) {
	d.set(spec, "attachRequired", true)
	d.set(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType")
	for _, name := range [...]string{"podInfoOnMount", "preventPodSchedulingIfMissing", "requiresRepublish", "seLinuxMount", "storageCapacity"} {
		d.set(spec, name, false)
	}
	if lacks(spec, "volumeLifecycleModes") {
		d.put(spec, "volumeLifecycleModes", []any{"Persistent"})
	}
}

// matching fills in what a policy, or a binding, matches, if it says so.
func (d *defaults) matching(spec map[string]any, name string) {
	m := object1(spec, name)
	if m == nil {
		return
	}
	d.set(m, "matchPolicy", "Equivalent")
	d.object(m, "namespaceSelector")
	d.object(m, "objectSelector")
	for _, rules := range [...]string{"resourceRules", "excludeResourceRules"} {
		for r := range objects(m, rules) {
			d.set(r, "scope", "*")
		}
	}
}

// requests fills in what a claim asks for.
func (d *defaults) requests(spec map[string]any) {
	devices := d.object(spec, "devices")
	one := func(r map[string]any) {
		d.text(r, "allocationMode", "ExactCount")
		if r["allocationMode"] == "ExactCount" {
			d.number(r, "count", 1)
		}
		for t := range objects(r, "tolerations") {
			d.text(t, "operator", "Equal")
		}
	}
	for r := range objects(devices, "requests") {
		if exactly := object1(r, "exactly"); exactly != nil {
			one(exactly)
		}
		for sub := range objects(r, "firstAvailable") {
			one(sub)
		}
	}
}

func (d *defaults) level(spec map[string]any) {
	if exempt := object1(spec, "exempt"); exempt != nil {
		d.set(exempt, "nominalConcurrencyShares", int64(0))
		d.set(exempt, "lendablePercent", int64(0))
	} else if spec["type"] == "Exempt" {
		d.put(spec, "exempt", map[string]any{"nominalConcurrencyShares": int64(0), "lendablePercent": int64(0)})
	}
	if limited := object1(spec, "limited"); limited != nil {
		d.set(limited, "nominalConcurrencyShares", int64(30))
		d.set(limited, "lendablePercent", int64(0))
		response := d.object(limited, "limitResponse")
		if q := object1(response, "queuing"); q != nil {
			d.number(q, "handSize", 8)
			d.number(q, "queues", 64)
			d.number(q, "queueLengthLimit", 50)
		}
	}
}
