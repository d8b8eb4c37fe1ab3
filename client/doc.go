// Package client sends HTTP requests to a Kubernetes API server.
//
// A [Client] holds a server's address, the TLS configuration, the credentials and the
// rate limit. [Client.Do] sends one request and returns either a 2xx response, whose body
// the caller closes, or an error; a Status from the server is a *kube.Status. If there is a newer
// credential or CA, Do sends a request again after a 401 or a failed handshake, and a GET of a
// client with a certificate also after a lost connection. After a 406 a Collection sends a request
// again, for JSON. Package net/http sends a GET again if a connection that was used before breaks
// before the response. All other retries, except those after a conflict, are left to the caller.
//
// A [Collection] is a typed view of one resource, for packages list and watch.
//
//	c, err := client.New(client.Config{Server: "https://127.0.0.1:6443", TokenFile: path})
//	pods := client.Of[Pod](c, kube.Pods).In("default")
//	pod, err := pods.Get(ctx, kube.Key{Namespace: "default", Name: "web-0"})
//
// A Collection also writes: Create, Update, UpdateStatus, Patch, Apply, Delete,
// DeleteAll, and Edit, CreateOrUpdate and CreateOrPatch, which retry after a conflict.
// Members of an object that T does not have are kept; if it is not certain which list
// element such a member belongs to, the write fails with an *[AmbiguousError].
//
// Watches use their own connection pool, so that they cannot block the connection of a
// write.
package client
