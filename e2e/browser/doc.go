// Package browser tests the live page in a real Chromium, without a window. It is a Go
// module of its own, so that the others do not see chromedp.
//
//	make ui-test             says what to install, and runs the tests
//	go test ./...            the same, where chromium is on the path
//	SCREENSHOTS=DIR go test  also writes what the page looked like into DIR
//
// The stories run package ui over apitest. What a cluster cannot be made to say at will,
// such as markup in each field and each state of a type, a scripted handler says in the
// words of ui/PROTOCOL.md. TestRealCluster, of make ui-e2e, kills a kube-apiserver.
// Tests wait for conditions of the DOM, never for time.
package browser
