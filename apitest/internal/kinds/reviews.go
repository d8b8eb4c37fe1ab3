package kinds

import (
	"slices"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// Reviews are questions in the form of a create; nothing is stored. See
// https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access.
var Reviews = []kube.Resource{
	cluster("authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview"),
	cluster("authentication.k8s.io", "tokenreviews", "TokenReview"),
	Named("authorization.k8s.io", "localsubjectaccessreviews", "LocalSubjectAccessReview"),
	cluster("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview"),
	cluster("authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview"),
	cluster("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview"),
}

// reviewKinds are the kinds of Reviews.
func reviewKinds() (list []Kind) {
	for _, r := range Reviews {
		list = append(list, Kind{Info: object.Info{Resource: r, NoCount: true}})
	}
	return list
}

// IsReview reports whether r is one of Reviews.
func IsReview(r kube.Resource) bool { return slices.Contains(Reviews, r) }
