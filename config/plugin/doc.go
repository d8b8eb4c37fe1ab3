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
// A credential is kept in memory until shortly before it expires, or until the server
// answers 401. It is never written, logged or quoted. One command runs at a time, for all
// callers, and a command that fails is started again only after a pause.
package plugin
