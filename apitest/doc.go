// Package apitest is a fake Kubernetes API server, like net/http/httptest: it serves LIST, WATCH,
// GET and writes over HTTP from an in-memory store with history, so that a client cannot tell its
// lists and watches from those of kube-apiserver. Both pass the tests of apitest/conform.
//
// Writes behave as on kube-apiserver, too: patches of every kind, server-side apply
// with managedFields, definitions of custom resources with their schemas, subresources,
// admission, and the protobuf of client-go's typed clients.
//
// It is not a control plane: nothing runs, so that pods are deleted without a grace period, and
// unless [Options] says otherwise a namespace need not exist and garbage is not collected. Custom
// resources are validated by their schemas, but CEL is not evaluated: rules
// (x-kubernetes-validations) are ignored, and webhooks are called as if their matchConditions were
// true. A definition with a conversion webhook is refused. Built-in objects are validated as by
// kube-apiserver, with its errors: e2e/objects compares thousands of invalid objects, and its
// testdata/differences.txt lists the known differences. Of a written status, and of a schema in a
// definition, only types are checked; of the groups admissionregistration, flowcontrol, resource
// and certificates little more than types. Responses are JSON or YAML.
//
// A test controls both sides: [Server.Put], [Server.PutYAML], [Server.Delete] and
// [Server.Expire] change the state, [Server.On] sets faults of package apitest/faults,
// and [Server.Requests] returns the requests of the client. [NewInMemory] uses no
// sockets and only package time, so that a test of hours takes no time inside a
// testing/synctest bubble.
//
//	srv := apitest.New(t, apitest.Fixture{Resource: kube.Pods, Object: `{"metadata":{"namespace":"a","name":"b"}}`})
//	srv.On(apitest.Match{Verb: "watch", AfterEvent: 3}, faults.Reset()).Times(1)
//
// [Object] and [Objects] decode objects into structs, and package apitest/connect
// configures a client of this module. The package does not import testing; a program may embed it
// with [Start].
package apitest
