// Package compat proves that the clients of the world take package apitest for
// a real API server. Each story lets a real client work against apitest and
// against kube-apiserver, writes down what the client saw, and compares the two.
// It is a Go module of its own, so that nothing of k8s.io is in the main one.
//
//	go test ./...                            all stories
//	go test -run TestCompat/Kubectl ./...    one story, on both servers
//	go test -run '//apitest' ./...           apitest alone, compared with nothing
//	go test -run TestCompat/Random -operations 10000 -seed 7 ./...
//
// With -transcripts FOLDER both transcripts of each story are written there. With
// -ignore managedFields that member of objects is not compared, which shows what
// else differs. With -seed and -epoch one epoch of the random requests is played
// alone, and with -v each of its answers is printed.
//
// The stories are: informers of client-go (typed, dynamic, metadata; streaming
// and paged lists), leader election and event recorder, a manager of
// controller-runtime, kubectl in two versions, and random requests over plain
// HTTP. README.md is the page for users; -update writes its tables.
//
// A failure shows lines of a transcript, - those of kube-apiserver and + those
// of apitest. What differs from run to run, such as UIDs, times and revisions,
// is replaced before. What may differ for another reason stands with that reason
// in differences_test.go, and nowhere else.
//
// kube-apiserver, etcd and kubectl come from the module e2e, which builds them
// once. All traffic stays on loopback.
package compat
