// Package rules is what kinds fill objects in with and refuse them by: [Defaults] sets
// members that are missing, [Refusals] collects causes in kube-apiserver's words, and the
// rest says what is wrong with names, labels, keys and metadata, and how a quantity is
// written.
//
// Values are those of package schema. Nothing here knows a kind.
package rules
