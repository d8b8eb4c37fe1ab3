package kinds

import (
	"cmp"
	"strings"
	"time"

	"github.com/listwatch/listwatch/apitest/internal/columns"
	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/apitest/internal/rules"
)

// certificatesKinds are the kinds of certificates.k8s.io.
func certificatesKinds() []Kind {
	return []Kind{
		{
			Info: object.Info{Resource: cluster("certificates.k8s.io", "certificatesigningrequests", "CertificateSigningRequest"), ShortNames: []string{"csr"}, Status: true, NoCount: true,
				Fields: []string{"spec.signerName"}},
			Defaults: func(d *rules.Defaults, o map[string]any) {
				d.Object(o, "spec")
			},
			Status:   `{}`,
			Zero:     `"spec":{"request":null,"signerName":""},"status":{}`,
			Printer:  signingPrinter,
			Strategy: Strategy{name: rules.SegmentName},
		},
		{
			Info: object.Info{Resource: cluster("certificates.k8s.io", "clustertrustbundles", "ClusterTrustBundle"), NoCount: true, Fields: []string{"spec.signerName"}},
			Defaults: func(d *rules.Defaults, o map[string]any) {
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

var signingPrinter = columns.Printer{
	Columns: columns.List(
		columns.AgeColumn(),
		columns.Text("SignerName", "who is to sign"),
		columns.Text("Requestor", "who asks"),
		columns.Text("RequestedDuration", "how long the certificate is to be good"),
		columns.Text("Condition", "what became of it"),
	),
	Cells: func(r *columns.Row) {
		var spec struct {
			SignerName, Username string
			ExpirationSeconds    *int64
		}
		var status struct {
			Conditions  columns.Conditions
			Certificate string
		}
		r.Read("spec", &spec)
		r.Read("status", &status)
		duration := columns.None
		if s := spec.ExpirationSeconds; s != nil {
			duration = columns.Human(time.Duration(*s) * time.Second)
		}
		is := status.Conditions.Has
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
		r.Add(r.Meta.Name, r.Age(), cmp.Or(spec.SignerName, columns.None), spec.Username, duration, state)
	},
}

var trustPrinter = columns.Printer{
	Columns: columns.List(columns.Text("SignerName", "whose certificates these are")),
	Cells: func(r *columns.Row) {
		var spec struct{ SignerName string }
		r.Read("spec", &spec)
		r.Add(r.Meta.Name, cmp.Or(spec.SignerName, columns.None))
	},
}

var podCertificatePrinter = columns.Printer{
	Columns: columns.List(
		columns.Text("PodName", "whose certificate it is to be"),
		columns.Text("ServiceAccountName", "as whom the pod runs"),
		columns.Text("NodeName", "where it runs"),
		columns.Text("SignerName", "who is to sign"),
		columns.Text("State", "what became of it"),
		columns.Text("UnverifiedUserAnnotations", "what the pod adds"),
	),
	Cells: func(r *columns.Row) {
		var spec struct {
			PodName, ServiceAccountName, NodeName, SignerName string
			UnverifiedUserAnnotations                         map[string]string
		}
		var status struct{ Conditions columns.Conditions }
		r.Read("spec", &spec)
		r.Read("status", &status)
		state := "Pending"
		for _, typ := range [...]string{"Denied", "Failed", "Issued"} {
			if status.Conditions.Has(typ) {
				state = typ
				break
			}
		}
		r.Add(r.Meta.Name, spec.PodName, spec.ServiceAccountName, spec.NodeName, spec.SignerName, state, columns.LabelList(spec.UnverifiedUserAnnotations))
	},
}

// bundleName says what is wrong with the name of a ClusterTrustBundle: one of a
// signer begins with the signer's, with colons for slashes.
func bundleName(s string) (wrong []string) {
	for part := range strings.SplitSeq(s, ":") {
		if wrong = rules.Subdomain(part); len(wrong) > 0 {
			return wrong
		}
	}
	return nil
}
