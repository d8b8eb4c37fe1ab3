// Package client makes one HTTP round trip to a Kubernetes API server.
//
// A [Client] holds a server's address, its TLS, who we are and how fast we may
// ask. [Client.Do] is the whole of it: it sends one request and returns either a
// 2xx answer, whose body the caller closes, or an error; what the server says in
// a Status comes back as a *kube.Status. Nothing is retried here except a 401
// after the credential was read again: whoever lists and watches knows better
// when to come back.
//
// A [Collection] is a typed view of one resource: what package list lists and
// package watch watches.
//
//	c, err := client.New(client.Config{Server: "https://127.0.0.1:6443", TokenFile: path})
//	pods := client.Of[Pod](c, kube.Pods).In("default")
//	pod, err := pods.Get(ctx, kube.Key{Namespace: "default", Name: "web-0"})
//
// It writes, too: Create, Update, UpdateStatus, Patch, Apply, Delete, DeleteAll, and
// Edit and CreateOrUpdate, which try again after a conflict. Where T knows only some
// members of an object, the others stay; where it cannot be told which element of a list
// they belong to, the write fails with an *[AmbiguousError].
//
// Watches use a connection pool of their own, so that a connection lost to a
// thousand watches never takes a write with it.
package client
