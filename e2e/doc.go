// Package e2e holds the tests against a real kube-apiserver and etcd. It is a
// Go module of its own, so that the main one never sees what they need.
//
//	go run ./cmd/build       builds kube-apiserver and etcd once, in minutes
//	go test -race ./...      starts them in seconds and stops them itself
//	go run ./cmd/cluster     runs them for a person, until interrupted
//	go run ./cmd/pictures    records and draws the animations of README.md, in tmux
//
// Package program runs the built listwatch. TestChaos watches through a proxy while
// 5,000 writes go on, breaks what can break, kills the apiserver and expires its
// history, and compares every line of the output with the writes. TestProgram lists in
// every way, and fails in every way that is foreseen. TestTerminal needs tmux.
//
// Package kubectl compares what listwatch and kubectl print, byte for byte, in every
// format and for objects of every kind; its table acceptedDifferences says where they
// differ, and why.
//
// Package auth connects to the server in every way, good and bad, and compares what the
// program prints with its testdata; -update writes it. It reads kubeconfigs as kubectl
// does.
//
// Package library tests what programs embed. TestInformer kills an informer with a
// snapshot, and the apiserver, at every kind of moment, and compares the log of all its
// lives with the writes. TestCRD applies definitions of package crd to the real server
// and to the fake, and compares what they accept, prune, default and refuse. TestLease
// runs replicas that elect a leader, and TestEvents lets kubectl show what a recorder
// wrote. TestWebhook writes through the webhooks of two replicas while their
// certificates rotate and they are replaced. TestPods reads logs from a kubelet that it
// plays, evicts, and requests tokens.
//
// Package servers compares the real server with apitest: TestConform runs the suite that
// the fake passes, TestTables and TestDefaults check what apitest is compared with. Package
// objects does the same for objects that people write. cmd/schema and cmd/protobuf write
// what apitest embeds of the real server.
//
// Package operators runs the operators of examples/ beside a real
// kube-controller-manager.
//
// Package binaries builds the programs of Kubernetes, cluster runs them and breaks their
// connections, and load makes writes that a watcher can be checked against. What the
// packages of tests share is in internal/setup.
//
// The versions are pinned in kubernetes/go.mod, kubectl-1.36/go.mod (the kubectl
// of the release before) and etcd/go.mod, and in cmd/protobuf/go.mod. To move to
// another one, change every v1.37.0 and v0.37.0 there, copy the godebug line
// from the new version's go.mod, and run go mod tidy in that folder. What is
// pinned in the other folders is not built again.
package e2e
