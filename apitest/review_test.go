package apitest_test

import (
	"testing"

	"github.com/listwatch/listwatch/apitest"
)

// TestReviewsAreValidated, with the answers of kube-apiserver.
func TestReviewsAreValidated(t *testing.T) {
	const exactlyOne = `exactly one of nonResourceAttributes or resourceAttributes must be specified`
	playWritesOn(t, apitest.NewInMemory(t), `
POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews {"spec":{}}
422
{"reason":"Invalid","message":".authorization.k8s.io \"\" is invalid: spec: Invalid value: null: `+exactlyOne+`",
	"details":{"group":"authorization.k8s.io","causes":[{"reason":"FieldValueInvalid","field":"spec","message":"Invalid value: null: `+exactlyOne+`"}]}}

POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews {"spec":{"resourceAttributes":{},"nonResourceAttributes":{"path":"/a"}}}
422
{"message":".authorization.k8s.io \"\" is invalid: spec: Invalid value: {\"Path\":\"/a\",\"Verb\":\"\"}: `+exactlyOne+`"}

POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews {"metadata":{"name":"x","namespace":"a"},"spec":{}}
422
{"message":".authorization.k8s.io \"\" is invalid: [spec: Invalid value: null: `+exactlyOne+`, metadata: Invalid value: {\"name\":\"x\"}: must be empty]"}

POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews {"spec":{"resourceAttributes":{"fieldSelector":{},"labelSelector":{"rawSelector":"a=b","requirements":[{"key":"a","operator":"Exists"}]}}}}
422
{"message":".authorization.k8s.io \"\" is invalid: [spec.resourceAttributes.fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required, spec.resourceAttributes.labelSelector.rawSelector: Invalid value: \"a=b\": may not specified at the same time as requirements]"}

POST /apis/authorization.k8s.io/v1/subjectaccessreviews {"spec":{}}
422
{"message":".authorization.k8s.io \"\" is invalid: [spec: Invalid value: null: `+exactlyOne+`, spec.user: Invalid value: \"\": at least one of user or group must be specified]"}

POST /apis/authorization.k8s.io/v1/subjectaccessreviews {"spec":{"groups":["g"],"resourceAttributes":{"verb":"get"}}}
201
{"status":{"allowed":true}}

POST /apis/authorization.k8s.io/v1/namespaces/a/localsubjectaccessreviews {"spec":{"user":"u","resourceAttributes":{"namespace":"other"}}}
422
{"message":".authorization.k8s.io \"\" is invalid: spec.resourceAttributes.namespace: Invalid value: \"other\": must match metadata.namespace"}

POST /apis/authorization.k8s.io/v1/namespaces/a/localsubjectaccessreviews {"metadata":{"namespace":"other"},"spec":{"user":"u","resourceAttributes":{"namespace":"other"}}}
400
{"reason":"BadRequest","message":"the namespace of the provided object does not match the namespace sent on the request"}

POST /apis/authorization.k8s.io/v1/namespaces/a/localsubjectaccessreviews {"spec":{"user":"u","nonResourceAttributes":{"path":"/a"}}}
422
{"message":".authorization.k8s.io \"\" is invalid: spec.nonResourceAttributes: Invalid value: {\"Path\":\"/a\",\"Verb\":\"\"}: disallowed on this kind of request"}

POST /apis/authorization.k8s.io/v1/namespaces/a/localsubjectaccessreviews {"spec":{"user":"u","resourceAttributes":{"namespace":"a"}}}
201
{"status":{"allowed":true}}

POST /apis/authorization.k8s.io/v1/selfsubjectrulesreviews {"spec":{}}
400
{"reason":"BadRequest","message":"no namespace on request"}

POST /apis/authentication.k8s.io/v1/tokenreviews {"spec":{}}
400
{"reason":"BadRequest","message":"token is required for TokenReview in authentication"}
`)
}
