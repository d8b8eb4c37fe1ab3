package kinds

import (
	"cmp"

	"github.com/listwatch/listwatch/apitest/internal/object"
)

// Printer makes the Tables of one resource.
type Printer struct {
	Columns  []ColumnDefinition
	Cells    func(r *Row)                                  // adds a cell for each column
	Bare     bool                                          // no rows are null
	Standard func(objects []*object.Object) *object.Object // the one of a Table that is marked as the default; may be nil
}

// PrinterOf returns the printer of r: the server's own for what is built in, the
// columns of the definition for custom resources.
func PrinterOf(r *object.Info) Printer {
	if !r.BuiltIn {
		return customPrinter(r)
	}
	if p, ok := printers[r.GroupResource()]; ok {
		return p
	}
	return createdAtPrinter
}

// printers print as kube-apiserver does, for kubectl get; see
// https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables.
// A built-in resource that is not here has no columns of its own.
var printers = map[string]Printer{
	"configmaps":             configMapPrinter,
	"endpoints":              endpointsPrinter,
	"events":                 eventPrinter,
	"namespaces":             namespacePrinter,
	"nodes":                  nodePrinter,
	"persistentvolumeclaims": claimPrinter,
	"persistentvolumes":      volumePrinter,
	"pods":                   podPrinter,
	"podtemplates":           podTemplatePrinter,
	"replicationcontrollers": controllerPrinter,
	"resourcequotas":         quotaPrinter,
	"secrets":                secretPrinter,
	"serviceaccounts":        serviceAccountPrinter,
	"services":               servicePrinter,

	"controllerrevisions.apps": revisionPrinter,
	"daemonsets.apps":          daemonSetPrinter,
	"deployments.apps":         deploymentPrinter,
	"replicasets.apps":         replicaSetPrinter,
	"statefulsets.apps":        statefulSetPrinter,
	"cronjobs.batch":           cronJobPrinter,
	"jobs.batch":               jobPrinter,

	"horizontalpodautoscalers.autoscaling": autoscalerPrinter,
	"poddisruptionbudgets.policy":          budgetPrinter,
	"priorityclasses.scheduling.k8s.io":    priorityClassPrinter,
	"leases.coordination.k8s.io":           leasePrinter,
	"events.events.k8s.io":                 eventPrinter,

	"endpointslices.discovery.k8s.io":   endpointSlicePrinter,
	"ingresses.networking.k8s.io":       ingressPrinter,
	"ingressclasses.networking.k8s.io":  ingressClassPrinter,
	"networkpolicies.networking.k8s.io": networkPolicyPrinter,
	"storageclasses.storage.k8s.io":     storageClassPrinter,

	"rolebindings.rbac.authorization.k8s.io":        bindingPrinter,
	"clusterrolebindings.rbac.authorization.k8s.io": bindingPrinter,

	"customresourcedefinitions.apiextensions.k8s.io":               definitionPrinter,
	"mutatingwebhookconfigurations.admissionregistration.k8s.io":   webhookPrinter,
	"validatingwebhookconfigurations.admissionregistration.k8s.io": webhookPrinter,

	"mutatingadmissionpolicies.admissionregistration.k8s.io":         mutatingPolicyPrinter,
	"mutatingadmissionpolicybindings.admissionregistration.k8s.io":   policyBindingPrinter,
	"validatingadmissionpolicies.admissionregistration.k8s.io":       validatingPolicyPrinter,
	"validatingadmissionpolicybindings.admissionregistration.k8s.io": policyBindingPrinter,

	"certificatesigningrequests.certificates.k8s.io":           signingPrinter,
	"clustertrustbundles.certificates.k8s.io":                  trustPrinter,
	"podcertificaterequests.certificates.k8s.io":               podCertificatePrinter,
	"flowschemas.flowcontrol.apiserver.k8s.io":                 flowPrinter,
	"prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": levelPrinter,
	"ipaddresses.networking.k8s.io":                            addressPrinter,
	"servicecidrs.networking.k8s.io":                           cidrPrinter,
	"runtimeclasses.node.k8s.io":                               runtimeClassPrinter,

	"deviceclasses.resource.k8s.io":          agePrinter,
	"devicetaintrules.resource.k8s.io":       deviceTaintPrinter,
	"resourceclaims.resource.k8s.io":         deviceClaimPrinter,
	"resourceclaimtemplates.resource.k8s.io": agePrinter,
	"resourceslices.resource.k8s.io":         devicePrinter,

	"csidrivers.storage.k8s.io":              csiDriverPrinter,
	"csinodes.storage.k8s.io":                csiNodePrinter,
	"volumeattachments.storage.k8s.io":       attachmentPrinter,
	"volumeattributesclasses.storage.k8s.io": attributesPrinter,

	"storageversionmigrations.storagemigration.k8s.io": migrationPrinter,
}

// columns returns the column Name and those given.
func columns(own ...ColumnDefinition) []ColumnDefinition {
	name := column("Name", "name of the object, unique in its namespace")
	name.Format = "name"
	return append([]ColumnDefinition{name}, own...)
}

func column(name, description string) ColumnDefinition {
	return ColumnDefinition{Name: name, Type: "string", Description: description}
}

func integerColumn(name, description string) ColumnDefinition {
	return ColumnDefinition{Name: name, Type: "integer", Description: description}
}

// wideColumn is text for -o wide.
func wideColumn(name, description string) ColumnDefinition {
	return ColumnDefinition{Name: name, Type: "string", Description: description, Priority: 1}
}

func ageColumn() ColumnDefinition { return column("Age", "time since the object was created") }

// createdAtPrinter prints what has no columns of its own.
var createdAtPrinter = Printer{
	Bare:    true,
	Columns: columns(ColumnDefinition{Name: "Created At", Type: "date", Description: "when the object was created"}),
	Cells:   func(r *Row) { r.add(r.Meta.Name, cmp.Or(r.Meta.CreationTimestamp, "0001-01-01T00:00:00Z")) },
}
