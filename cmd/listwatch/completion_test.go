package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestCompletionScriptsParse: by the shells that are everywhere.
func TestCompletionScriptsParse(t *testing.T) {
	for script, shell := range map[string]string{"bash": "bash", "kubectl": "sh"} {
		cmd := exec.CommandContext(t.Context(), shell, "-n")
		cmd.Stdin = strings.NewReader(stdoutOf(t, 0, "completion", script))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s -n: %v\n%s", shell, err, out)
		}
	}
}
