package client

import "github.com/listwatch/listwatch/client/internal/alert"

// InClusterAt is InCluster with another environment and directory.
var InClusterAt = inCluster

// Judge says what an answer is taken for.
var Judge = judge

// Verdicts.
const (
	Welcome   = welcome
	Refused   = refused
	Untrusted = untrusted
	Doubtful  = doubtful
)

// Listening is how connections are opened.
var Listening = alert.Listen
