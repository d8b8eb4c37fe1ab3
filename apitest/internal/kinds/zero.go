package kinds

import (
	"encoding/json"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// zeroValues are the members, besides the head, of a new Go value of each built-in
// kind, in JSON: what a bookmark has. What is missing has none.
var zeroValues = map[string]string{
	"events":                 `"involvedObject":{},"source":{},"firstTimestamp":null,"lastTimestamp":null,"eventTime":null,"reportingComponent":"","reportingInstance":""`,
	"limitranges":            `"spec":{"limits":null}`,
	"namespaces":             `"spec":{},"status":{}`,
	"nodes":                  `"spec":{},"status":` + zeroNodeStatus,
	"persistentvolumeclaims": `"spec":{"resources":{}},"status":{}`,
	"persistentvolumes":      `"spec":{},"status":{}`,
	"pods":                   `"spec":{"containers":null},"status":{}`,
	"podtemplates":           `"template":` + zeroTemplate,
	"replicationcontrollers": `"spec":{},"status":{"replicas":0}`,
	"resourcequotas":         `"spec":{},"status":{}`,
	"services":               `"spec":{},"status":{"loadBalancer":{}}`,

	"controllerrevisions.apps": `"data":null,"revision":0`,
	"daemonsets.apps": `"spec":{"selector":null,"template":` + zeroTemplate + `,"updateStrategy":{}},` +
		`"status":{"currentNumberScheduled":0,"numberMisscheduled":0,"desiredNumberScheduled":0,"numberReady":0}`,
	"deployments.apps":  `"spec":{"replicas":0,"selector":null,"template":` + zeroTemplate + `,"strategy":{}},"status":{}`,
	"replicasets.apps":  `"spec":{"replicas":0,"selector":null,"template":` + zeroTemplate + `},"status":{"replicas":0}`,
	"statefulsets.apps": `"spec":{"replicas":0,"selector":null,"template":` + zeroTemplate + `,"serviceName":"","updateStrategy":{}},"status":{"replicas":0,"availableReplicas":0}`,
	"cronjobs.batch":    `"spec":{"schedule":"","jobTemplate":{"metadata":{},"spec":{"template":` + zeroTemplate + `}}},"status":{}`,
	"jobs.batch":        `"spec":{"template":` + zeroTemplate + `},"status":{}`,

	"leases.coordination.k8s.io":           `"spec":{}`,
	"endpointslices.discovery.k8s.io":      `"addressType":"","endpoints":null,"ports":null`,
	"ingressclasses.networking.k8s.io":     `"spec":{}`,
	"ingresses.networking.k8s.io":          `"spec":{},"status":{"loadBalancer":{}}`,
	"networkpolicies.networking.k8s.io":    `"spec":{"podSelector":{}}`,
	"horizontalpodautoscalers.autoscaling": `"spec":{"scaleTargetRef":{"kind":"","name":""},"maxReplicas":0},"status":{"desiredReplicas":0,"currentMetrics":null}`,
	"events.events.k8s.io":                 `"eventTime":null,"regarding":{},"deprecatedSource":{},"deprecatedFirstTimestamp":null,"deprecatedLastTimestamp":null`,
	"poddisruptionbudgets.policy":          `"spec":{},"status":{"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}`,

	"clusterrolebindings.rbac.authorization.k8s.io":  `"roleRef":{"apiGroup":"","kind":"","name":""}`,
	"rolebindings.rbac.authorization.k8s.io":         `"roleRef":{"apiGroup":"","kind":"","name":""}`,
	"clusterroles.rbac.authorization.k8s.io":         `"rules":null`,
	"roles.rbac.authorization.k8s.io":                `"rules":null`,
	"priorityclasses.scheduling.k8s.io":              `"value":0`,
	"storageclasses.storage.k8s.io":                  `"provisioner":""`,
	"customresourcedefinitions.apiextensions.k8s.io": `"spec":{"group":"","names":{"plural":"","kind":""},"scope":"","versions":null},"status":{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":null}`,

	"certificatesigningrequests.certificates.k8s.io": `"spec":{"request":null,"signerName":""},"status":{}`,
	"clustertrustbundles.certificates.k8s.io":        `"spec":{"trustBundle":""}`,
	"podcertificaterequests.certificates.k8s.io": `"spec":{"signerName":"","podName":"","podUID":"","serviceAccountName":"","serviceAccountUID":"",` +
		`"nodeName":"","nodeUID":"","stubPKCS10Request":null},"status":{}`,
	"csidrivers.storage.k8s.io":                                      `"spec":{}`,
	"csinodes.storage.k8s.io":                                        `"spec":{"drivers":null},"status":{}`,
	"csistoragecapacities.storage.k8s.io":                            `"storageClassName":""`,
	"volumeattachments.storage.k8s.io":                               `"spec":{"attacher":"","source":{},"nodeName":""},"status":{"attached":false}`,
	"volumeattributesclasses.storage.k8s.io":                         `"driverName":""`,
	"ipaddresses.networking.k8s.io":                                  `"spec":{}`,
	"servicecidrs.networking.k8s.io":                                 `"spec":{},"status":{}`,
	"mutatingadmissionpolicies.admissionregistration.k8s.io":         `"spec":{}`,
	"mutatingadmissionpolicybindings.admissionregistration.k8s.io":   `"spec":{}`,
	"validatingadmissionpolicies.admissionregistration.k8s.io":       `"spec":{},"status":{}`,
	"validatingadmissionpolicybindings.admissionregistration.k8s.io": `"spec":{}`,
	"runtimeclasses.node.k8s.io":                                     `"handler":""`,
	"deviceclasses.resource.k8s.io":                                  `"spec":{}`,
	"devicetaintrules.resource.k8s.io":                               `"spec":{"taint":{"key":"","effect":""}},"status":{}`,
	"resourceclaims.resource.k8s.io":                                 `"spec":{"devices":{"requests":null}},"status":{}`,
	"resourceclaimtemplates.resource.k8s.io":                         `"spec":{"metadata":{},"spec":{"devices":{"requests":null}}}`,
	"resourceslices.resource.k8s.io":                                 `"spec":{"driver":"","pool":{"name":"","generation":0,"resourceSliceCount":0}}`,
	"flowschemas.flowcontrol.apiserver.k8s.io":                       `"spec":{"priorityLevelConfiguration":{"name":""},"matchingPrecedence":0},"status":{}`,
	"prioritylevelconfigurations.flowcontrol.apiserver.k8s.io":       `"spec":{"type":""},"status":{}`,
	"storageversionmigrations.storagemigration.k8s.io":               `"spec":{"resource":{"group":"","resource":""}},"status":{}`,
}

const (
	zeroTemplate   = `{"metadata":{},"spec":{"containers":null}}`
	zeroNodeStatus = `{"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},` + `"nodeInfo":{"machineID":"","systemUUID":"","bootID":"","kernelVersion":"",` +
		`"osImage":"","containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"","operatingSystem":"","architecture":""}}`
)

// Zero returns an object of r with nothing in it.
func Zero(r *object.Info) *object.Object {
	o := &object.Object{}
	if !r.BuiltIn {
		return o
	}
	ms, err := object.Members([]byte("{" + zeroValues[r.GroupResource()] + "}"))
	if err != nil {
		panic(err) // it is ours
	}
	o.Fields = ms
	return o
}

// CompleteNode gives a node's status what Go never leaves out.
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

// fill copies into m what it lacks of zero, and reports whether that was anything.
func fill(m, zero map[string]any) (changed bool) {
	for name, v := range zero {
		inner, ok := v.(map[string]any)
		have, is := m[name].(map[string]any)
		switch {
		case ok && is:
			changed = fill(have, inner) || changed
		case m[name] == nil:
			m[name] = v
			changed = true
		}
	}
	return changed
}

// CompleteStatus returns status, of r, with what Go never leaves out.
func CompleteStatus(r *object.Info, status json.RawMessage) (full json.RawMessage, ok bool) {
	zero, ok := Zero(r).Field("status")
	switch {
	case len(status) == 0 || string(status) == "null":
		return zero, ok
	case !ok:
		return status, true
	}
	is := object.DecodeValue(status)
	if !fill(is, object.DecodeValue(zero)) {
		return status, true
	}
	return object.Marshal(is), true
}
