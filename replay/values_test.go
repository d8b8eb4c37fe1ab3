package replay_test

import (
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
