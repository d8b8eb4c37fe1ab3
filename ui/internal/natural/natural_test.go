package natural

import "testing"

func TestHolds(t *testing.T) {
	for _, tt := range []struct {
		text, word string
		want       bool
	}{
		{"modified by kube-controller-manager", "kube", true},
		{"modified by kube-controller-manager", "kube-controller", true},
		{"scaled by kubectl", "kube", false},
		{"spec changed: podselector", "pods", false},
		{"podsx pods", "pods", true},
		{"pods", "pods", true},
		{"aa aaa", "a", false},
		{"größer", "größe", false},
		{"", "a", false},
	} {
		if got := Holds(tt.text, tt.word); got != tt.want {
			t.Errorf("%q in %q: %v", tt.word, tt.text, got)
		}
	}
}
