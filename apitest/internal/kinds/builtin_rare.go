package kinds

import (
	"github.com/listwatch/listwatch/apitest/internal/object"
)

// rareBuiltIns are the resources of controllers, drivers and administrators: what
// nobody deploys, and what kube-controller-manager lists and watches all the same.
func rareBuiltIns() []object.Info {
	const (
		certificates = "certificates.k8s.io"
		devices      = "resource.k8s.io"
		flow         = "flowcontrol.apiserver.k8s.io"
		network      = "networking.k8s.io"
		registration = "admissionregistration.k8s.io"
		storage      = "storage.k8s.io"
	)
	extensions := []string{"api-extensions"}
	return []object.Info{
		{Resource: cluster(registration, "mutatingadmissionpolicies", "MutatingAdmissionPolicy"), Categories: extensions},
		{Resource: cluster(registration, "mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding"), Categories: extensions},
		{Resource: cluster(registration, "validatingadmissionpolicies", "ValidatingAdmissionPolicy"), Categories: extensions, Status: true},
		{Resource: cluster(registration, "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"), Categories: extensions},

		{Resource: cluster(certificates, "certificatesigningrequests", "CertificateSigningRequest"), ShortNames: []string{"csr"}, Status: true, NoCount: true,
			Fields: []string{"spec.signerName"}},
		{Resource: cluster(certificates, "clustertrustbundles", "ClusterTrustBundle"), NoCount: true, Fields: []string{"spec.signerName"}},
		{Resource: Named(certificates, "podcertificaterequests", "PodCertificateRequest"), Status: true, NoCount: true,
			Fields: []string{"spec.signerName", "spec.podName", "spec.nodeName"}},

		{Resource: cluster(flow, "flowschemas", "FlowSchema"), Status: true},
		{Resource: cluster(flow, "prioritylevelconfigurations", "PriorityLevelConfiguration"), Status: true},

		{Resource: cluster(network, "ipaddresses", "IPAddress"), ShortNames: []string{"ip"}, NoCount: true},
		{Resource: cluster(network, "servicecidrs", "ServiceCIDR"), Status: true, NoCount: true, Returns: true},

		{Resource: cluster("node.k8s.io", "runtimeclasses", "RuntimeClass")},

		{Resource: cluster(devices, "deviceclasses", "DeviceClass"), Returns: true},
		{Resource: cluster(devices, "devicetaintrules", "DeviceTaintRule"), Status: true},
		{Resource: Named(devices, "resourceclaims", "ResourceClaim"), Status: true, NoCount: true, Returns: true},
		{Resource: Named(devices, "resourceclaimtemplates", "ResourceClaimTemplate"), NoCount: true, Returns: true},
		{Resource: cluster(devices, "resourceslices", "ResourceSlice"), Returns: true,
			Fields: []string{"spec.nodeName", "spec.driver", "spec.pool.name"}},

		{Resource: cluster(storage, "csidrivers", "CSIDriver"), NoCount: true, Returns: true},
		{Resource: cluster(storage, "csinodes", "CSINode"), Status: true, NoCount: true, Returns: true},
		{Resource: Named(storage, "csistoragecapacities", "CSIStorageCapacity")},
		{Resource: cluster(storage, "volumeattachments", "VolumeAttachment"), Status: true, NoCount: true, Returns: true},
		{Resource: cluster(storage, "volumeattributesclasses", "VolumeAttributesClass"), ShortNames: []string{"vac"}, Returns: true},

		{Resource: cluster("storagemigration.k8s.io", "storageversionmigrations", "StorageVersionMigration"), Status: true, NoCount: true},
	}
}
