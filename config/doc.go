// Package config finds the cluster and the credentials to use: it reads kubeconfig files
// and a pod's service account into a client.Config.
//
// It uses the first of these sources that contains a configuration: [Options.Path]
// (--kubeconfig), the files in KUBECONFIG, the service account of the pod that the
// process runs in, ~/.kube/config. The other Options override single values, as
// kubectl's flags of the same names do; errors name those flags. See
// https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/.
//
//	cfg, err := config.Load(config.Options{Context: "staging"})
//	...
//	c, err := client.New(cfg.Client)
//
// It reads every file that kubectl reads, with the same meaning; e2e compares the two,
// and ARCHITECTURE.md lists the deliberate differences.
//
// For a user with an exec entry the result contains a plugin of package config/plugin,
// which starts the command at the first request. Auth-providers, the predecessors of exec
// plugins, are not supported; the error names the plugin to use. Load itself opens no
// connection and starts no command.
//
// Errors and warnings name the file and the key that is wrong. They never contain a
// token, password or key, nor an argument or a variable of a command. Warnings report
// unsafe settings that work: servers whose certificates are not verified, expired client
// certificates, files with credentials that other users can read.
package config
