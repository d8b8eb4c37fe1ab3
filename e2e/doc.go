// Package e2e holds the tests against a real kube-apiserver and etcd. It is a
// Go module of its own, so that the main one never sees what they need.
//
//	go run ./cmd/build       builds kube-apiserver and etcd once, in minutes
//	go test -race ./...      starts them in seconds and stops them itself
//	go run ./cmd/cluster     runs them for a person, until interrupted
//
// TestChaos watches through a proxy while 5,000 writes go on, breaks what can
// break, kills the apiserver and expires its history, and holds every line of the
// output against the writes. TestProgram compares the program with kubectl, lists
// in every way, and fails in every way that is foreseen. TestConform runs the
// suite that the fake apiserver passes. TestInformer kills an informer with a
// snapshot, and the apiserver, at every kind of moment, and holds the log of all
// its lives against the writes.
//
// Package binaries builds the programs, cluster runs them and breaks their
// connections, and load makes writes that a watcher can be checked against.
//
// TestAuth comes to the server in every way, good and bad, and holds what the
// program says against testdata/auth; -update writes it anew.
//
// TestCRD applies definitions of package crd to the real server and to the fake, and
// compares what they accept, prune, default and refuse.
//
// TestOperators runs the operators of examples/ beside a real
// kube-controller-manager, TestLease replicas that elect a leader, and TestEvents
// lets kubectl show what a recorder wrote. TestWebhook writes through the webhooks of two
// replicas while their certificates rotate and they are replaced.
//
// TestKubectlOutput compares what listwatch and kubectl print, byte for byte, in
// every format and for objects of every kind; its table acceptedDifferences has
// where they differ, and why.
//
// TestTables and TestDefaults hold what apitest is compared with against the real
// server, and cmd/schema and cmd/protobuf write what apitest embeds of it.
//
// The versions are pinned in kubernetes/go.mod, kubectl-1.36/go.mod (the kubectl
// of the release before) and etcd/go.mod, and in cmd/protobuf/go.mod. To move to
// another one, change every v1.37.0 and v0.37.0 there, copy the godebug line
// from the new version's go.mod, and run go mod tidy in that folder. What is
// pinned in the other folders is not built again.
package e2e
