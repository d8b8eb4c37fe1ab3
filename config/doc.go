// Package config finds out which cluster is meant, and as whom: it reads
// kubeconfig files and a pod's service account into a client.Config.
//
// The first of these that configures anything is used: [Options.Path]
// (--kubeconfig), the files that KUBECONFIG lists, the service account of the
// pod we run in, ~/.kube/config. The other Options override single values as
// the flags of kubectl of the same name do, and errors name those flags. See
// https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/.
//
//	cfg, err := config.Load(config.Options{Context: "staging"})
//	...
//	c, err := client.New(cfg.Client)
//
// What kubectl can read is read, and means the same; e2e compares the two, and
// ARCHITECTURE.md says where it differs on purpose.
//
// A user whose credentials come from a command gets a plugin of package config/plugin;
// the auth-providers that preceded those commands are not supported, and the error
// names the plugin to use. It opens no connection and starts no command: the plugin
// does, with the first request.
//
// Errors and warnings name the file and the key that is wrong, and never hold a
// token, password or key, nor an argument or a variable of a command. Warnings
// are about what works and should not stay so: certificates that nobody
// verifies, or that have expired, and files with credentials that others may
// read.
package config
