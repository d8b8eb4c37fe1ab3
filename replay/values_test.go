package replay_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/replay"
)

func TestRedactReplacesWhatTheRulesSay(t *testing.T) {
	const pod = `{"kind":"Pod","metadata":{"name":"a","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"hunter2","x":"y"}},"spec":{"containers":[{"env":[{"name":"P","value":"hunter2"},{"name":"Q","valueFrom":{"secretKeyRef":{"name":"s"}}}],"value":"stays"}]},"data":{"value":"stays"}}`
	const want = `{"kind":"Pod","metadata":{"name":"a","annotations":{"kubectl.kubernetes.io/last-applied-configuration":"REDACTE","x":"y"}},"spec":{"containers":[{"env":[{"name":"P","value":"REDACTE"},{"name":"Q","valueFrom":{"secretKeyRef":{"name":"s"}}}],"value":"stays"}]},"data":{"value":"stays"}}`
	b := []byte(pod)
	if got := string(replay.Redact(b, replay.Redaction{Env: true})); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if string(b) != pod {
		t.Errorf("the argument was changed: %s", b)
	}
}

// TestRedactHoldsBackNoMoreThanAWriter: too many values before the kind of their object count as
// secret.
func TestRedactHoldsBackNoMoreThanAWriter(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		n           int
	}{
		{"values", "2,", 1 << 19},
		{"bytes", `"` + strings.Repeat("x", 1000) + `",`, 5000},
	} {
		b := []byte(`{"data":[` + strings.Repeat(tt.value, tt.n) + `2],"kind":"ConfigMap"}`)
		got := replay.Redact(b, replay.Redaction{Secrets: true})
		if len(got) != len(b) || bytes.ContainsAny(got[:len(got)/2], "2x") || !bytes.HasSuffix(got, []byte(`,1],"kind":"ConfigMap"}`)) {
			t.Errorf("%s: %d bytes of %d, which end in %.30q", tt.name, len(got), len(b), got[max(0, len(got)-30):])
		}
	}
}
