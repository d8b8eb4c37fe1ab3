// Package plugin runs client-go credential plugins: commands that print an
// ExecCredential, which holds a token, a client certificate, or both. A
// kubeconfig names them under users[].user.exec. See
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
// and KEP-541.
//
//	p, err := plugin.New(plugin.Options{APIVersion: "client.authentication.k8s.io/v1", Command: "aws", ...})
//	...
//	c, err := client.New(client.Config{Server: server, Credentials: p})
//
// What a command printed is kept in memory until shortly before it expires, or
// until the server answers 401, and never written, logged or quoted. However
// many ask, one command runs at a time, and one that fails is not started again
// at once.
package plugin
