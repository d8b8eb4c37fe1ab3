package kinds

import (
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/schema"
	"github.com/listwatch/listwatch/kube"
)

// NewStatus returns the status that kube-apiserver gives a new object of res, one
// of its own types, once o has its defaults; nil where it gives none.
func NewStatus(res kube.Resource, o map[string]any) map[string]any {
	if res == kube.Pods {
		return statusOfNewPod(ObjectAt(o, "spec"))
	}
	if res == kube.PersistentVolumes {
		return map[string]any{"phase": "Pending", "lastPhaseTransitionTime": object.Timestamp()}
	}
	text := ZeroStatus(res)
	if text == "" {
		return nil
	}
	status, err := schema.DecodeObject([]byte(text))
	if err != nil {
		panic(err) // it is ours
	}
	return status
}

// ZeroStatus is the status that is the same for all new objects: mostly numbers
// that Go does not leave out.
func ZeroStatus(res kube.Resource) string {
	switch res.Plural {
	case "deployments", "jobs", "cronjobs", "resourcequotas", "certificatesigningrequests", "podcertificaterequests", "csinodes", "servicecidrs",
		"validatingadmissionpolicies", "flowschemas", "prioritylevelconfigurations", "resourceclaims", "devicetaintrules", "storageversionmigrations":
		return `{}`
	case "volumeattachments":
		return `{"attached":false}`
	case "replicasets", "replicationcontrollers":
		return `{"replicas":0}`
	case "statefulsets":
		return `{"replicas":0,"availableReplicas":0}`
	case "daemonsets":
		return `{"currentNumberScheduled":0,"numberMisscheduled":0,"desiredNumberScheduled":0,"numberReady":0}`
	case "services", "ingresses":
		return `{"loadBalancer":{}}`
	case "namespaces":
		return `{"phase":"Active"}`
	case "persistentvolumeclaims":
		return `{"phase":"Pending"}`
	case "horizontalpodautoscalers":
		return `{"desiredReplicas":0,"currentMetrics":null}`
	case "poddisruptionbudgets":
		return `{"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}`
	}
	return ""
}

func statusOfNewPod(spec map[string]any) map[string]any {
	status := map[string]any{"phase": "Pending", "qosClass": QOSClass(spec)}
	if !Lacks(spec, "schedulingGates") {
		status["conditions"] = []any{map[string]any{
			"type": "PodScheduled", "status": "False", "lastProbeTime": nil, "lastTransitionTime": object.Timestamp(),
			"reason": "SchedulingGated", "message": "Scheduling is blocked due to non-empty scheduling gates"}}
	}
	return status
}

// QOSClass says how well a pod is served, by what its containers, or the pod as a
// whole, ask for. See
// https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/.
func QOSClass(spec map[string]any) string {
	asks, guaranteed := false, true
	look := func(resources map[string]any) {
		limits, requests := ObjectAt(resources, "limits"), ObjectAt(resources, "requests")
		for _, name := range [...]string{"cpu", "memory"} {
			limit, request := quantityOf(limits, name), quantityOf(requests, name)
			asks = asks || limit != "" || request != ""
			guaranteed = guaranteed && limit != "" && (request == "" || request == limit)
		}
	}
	if r := ObjectAt(spec, "resources"); len(r) > 0 {
		look(r)
	} else {
		for _, name := range ContainerLists[:2] {
			for c := range ObjectsAt(spec, name) {
				look(ObjectAt(c, "resources"))
			}
		}
	}
	switch {
	case !asks:
		return "BestEffort"
	case guaranteed:
		return "Guaranteed"
	}
	return "Burstable"
}

// quantityOf returns a quantity, "" where there is none or 0.
func quantityOf(m map[string]any, name string) string {
	if s := canonicalQuantity(TextAt(m, name), milli); s != "0" {
		return s
	}
	return ""
}
