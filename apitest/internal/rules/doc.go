// Package rules has the rules by which kinds set defaults and validate: [Defaults] sets
// missing members, [Refusals] collects causes with kube-apiserver's texts, and the rest
// validates names, labels, keys and metadata, and formats quantities.
//
// Values are those of package schema. The package does not depend on any kind.
package rules
