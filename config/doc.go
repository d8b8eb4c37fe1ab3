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
// It opens no connection and starts no command. Errors and warnings name the
// file and the key that is wrong, and never hold a token, password or key.
package config
