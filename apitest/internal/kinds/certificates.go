package kinds

import (
	"cmp"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/object"
)

// certificatesKinds are the kinds of certificates.k8s.io.
func certificatesKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: cluster("certificates.k8s.io", "certificatesigningrequests", "CertificateSigningRequest"), ShortNames: []string{"csr"}, Status: true, NoCount: true,
				Fields: []string{"spec.signerName"}},
			Defaults: func(d *Defaults, o map[string]any) {
				d.Object(o, "spec")
			},
			Status:   `{}`,
			Zero:     `"spec":{"request":null,"signerName":""},"status":{}`,
			Printer:  signingPrinter,
			Strategy: Strategy{name: SegmentName},
		},
		{
			Info: object.Info{Resource: cluster("certificates.k8s.io", "clustertrustbundles", "ClusterTrustBundle"), NoCount: true, Fields: []string{"spec.signerName"}},
			Defaults: func(d *Defaults, o map[string]any) {
				d.Object(o, "spec")
			},
			Zero:     `"spec":{"trustBundle":""}`,
			Printer:  trustPrinter,
			Strategy: Strategy{Guarded: true, name: bundleName},
		},
		{
			Info: object.Info{Resource: Named("certificates.k8s.io", "podcertificaterequests", "PodCertificateRequest"), Status: true, NoCount: true,
				Fields: []string{"spec.signerName", "spec.podName", "spec.nodeName"}},
			Status: `{}`,
			Zero: `"spec":{"signerName":"","podName":"","podUID":"","serviceAccountName":"","serviceAccountUID":"",` +
				`"nodeName":"","nodeUID":"","stubPKCS10Request":null},"status":{}`,
			Printer:  podCertificatePrinter,
			Strategy: Strategy{Guarded: true},
		},
	}
}

// CertificateSigningRequests is a resource that package kube does not name.
var CertificateSigningRequests = cluster("certificates.k8s.io", "certificatesigningrequests", "CertificateSigningRequest")

var signingPrinter = Printer{
	Columns: columns(
		ageColumn(),
		column("SignerName", "who is to sign"),
		column("Requestor", "who asks"),
		column("RequestedDuration", "how long the certificate is to be good"),
		column("Condition", "what became of it"),
	),
	Cells: func(r *Row) {
		var spec struct {
			SignerName, Username string
			ExpirationSeconds    *int64
		}
		var status struct {
			Conditions  Conditions
			Certificate string
		}
		r.read("spec", &spec)
		r.read("status", &status)
		duration := none
		if s := spec.ExpirationSeconds; s != nil {
			duration = human(time.Duration(*s) * time.Second)
		}
		is := status.Conditions.has
		state := "Pending"
		switch {
		case is("Denied"):
			state = "Denied"
		case is("Approved"):
			state = "Approved"
		}
		if is("Failed") {
			state += ",Failed"
		}
		if status.Certificate != "" {
			state += ",Issued"
		}
		r.add(r.Meta.Name, r.age(), cmp.Or(spec.SignerName, none), spec.Username, duration, state)
	},
}

var trustPrinter = Printer{
	Columns: columns(column("SignerName", "whose certificates these are")),
	Cells: func(r *Row) {
		var spec struct{ SignerName string }
		r.read("spec", &spec)
		r.add(r.Meta.Name, cmp.Or(spec.SignerName, none))
	},
}

var podCertificatePrinter = Printer{
	Columns: columns(
		column("PodName", "whose certificate it is to be"),
		column("ServiceAccountName", "as whom the pod runs"),
		column("NodeName", "where it runs"),
		column("SignerName", "who is to sign"),
		column("State", "what became of it"),
		column("UnverifiedUserAnnotations", "what the pod adds"),
	),
	Cells: func(r *Row) {
		var spec struct {
			PodName, ServiceAccountName, NodeName, SignerName string
			UnverifiedUserAnnotations                         map[string]string
		}
		var status struct{ Conditions Conditions }
		r.read("spec", &spec)
		r.read("status", &status)
		state := "Pending"
		for _, typ := range [...]string{"Denied", "Failed", "Issued"} {
			if status.Conditions.has(typ) {
				state = typ
				break
			}
		}
		r.add(r.Meta.Name, spec.PodName, spec.ServiceAccountName, spec.NodeName, spec.SignerName, state, labelList(spec.UnverifiedUserAnnotations))
	},
}
