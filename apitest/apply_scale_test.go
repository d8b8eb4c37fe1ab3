package apitest_test

import (
	"testing"

	"github.com/listwatch/listwatch/apitest"
)

// TestApplyToAScaleIsRefused: an apply to a scale is checked as every other one, and
// kube-apiserver can apply none to that of a custom resource.
func TestApplyToAScaleIsRefused(t *testing.T) {
	srv := apitest.New(t)
	const things, apply = "/apis/y.io/v1/namespaces/a/things", "\n> Content-Type: application/apply-patch+yaml\nPATCH "
	const d = "/apis/apps/v1/namespaces/a/deployments/d"
	playWritesOn(t, srv, `
POST /apis/apps/v1/namespaces/a/deployments {"metadata":{"name":"d"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}
201
`+apply+d+`/scale?fieldManager=m&force=true {"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":9}}
400
{"message":"invalid object type: apps/v1, Kind=Deployment"}
`+apply+d+`/scale?fieldManager=m&force=true {"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"e"},"spec":{"replicas":9}}
400
{"message":"the name of the object (e) does not match the name on the URL (d)"}
`+apply+d+`/scale?fieldManager=m&force=true {"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d","resourceVersion":"1"},"spec":{"replicas":9}}
409

GET `+d+`
200
{"spec":{"replicas":1}}

POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions {"metadata":{"name":"things.y.io"},"spec":{"group":"y.io","scope":"Namespaced","names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"spec":{"type":"object","properties":{"replicas":{"type":"integer"}}}}}}}]}}
201

POST `+things+` {"apiVersion":"y.io/v1","kind":"Thing","metadata":{"name":"x"},"spec":{"replicas":2}}
201
`+apply+things+`/x/scale?fieldManager=m {"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"x"},"spec":{"replicas":3}}
409
`+apply+things+`/x/scale?fieldManager=m&force=true {"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"x"},"spec":{"replicas":3}}
500
{"message":"failed to convert new object (/x; autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid group/version: autoscaling/v1"}

GET `+things+`/x
200
{"spec":{"replicas":2}}
`)
}
