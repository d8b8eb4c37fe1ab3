// Package apitest is a fake Kubernetes API server, in the way of
// net/http/httptest: it serves LIST, WATCH, GET and writes over HTTP from an
// in-memory store with history, so that a client cannot tell it from
// kube-apiserver where list and watch are concerned. Package apitest/conform
// holds the suite that both pass.
//
// Writes go as on the real one, too: patches of every kind, server-side apply with
// managedFields, definitions of custom resources with their schemas, subresources,
// admission, and the protobuf of client-go's typed clients.
//
// It is not a control plane: nothing runs, and unless [Options] asks for it a
// namespace need not exist and nobody collects garbage. Custom resources are
// validated by their schemas. Built-in objects are refused, in kube-apiserver's
// words, for what users meet most: names, labels, required fields, ports, selectors,
// what may not change; a real server refuses more. Answers are JSON, or YAML for a
// client that prefers it.
//
// A test drives both sides: [Server.Put], [Server.PutYAML], [Server.Delete] and [Server.Expire]
// change the world, [Server.On] sets faults, which package apitest/faults makes, [Server.Requests] says what
// the client sent. [NewInMemory] uses no sockets and only package time, so a
// story of hours runs at once inside a testing/synctest bubble.
//
//	srv := apitest.New(t, apitest.Fixture{Resource: kube.Pods, Object: `{"metadata":{"namespace":"a","name":"b"}}`})
//	srv.On(apitest.Match{Verb: "watch", AfterEvent: 3}, faults.Reset()).Times(1)
//
// [Object] and [Objects] read objects as structs, and package apitest/connect configures a
// client of this module. The package does not import testing; a program may embed it by
// [Start].
package apitest
