// Package protojson translates objects between the protobuf form of Kubernetes,
// media type application/vnd.kubernetes.protobuf, and JSON.
//
//	b, apiVersion, kind, err := protojson.Decode(body, 1<<20)
//
// The result is the JSON that Kubernetes' own types would give: what they leave
// out when it is empty is left out, what they always write is there.
//
// It knows the stable kinds of all groups that kube-apiserver serves, and those of
// the bodies that are no resources: DeleteOptions, Scale, Eviction, Binding,
// TokenRequest, reviews. What their messages look like stands in messages.txt,
// which is made from the Go types of one Kubernetes version; fields of a later
// version are skipped. Lists of objects, alpha and beta kinds are not known.
//
// Nothing is validated: a quantity, a name or an enumeration passes as it is.
package protojson
