package diff

import "testing"

// TestHeadlinesOfARollout: a deployment's history can be read without its differences.
func TestHeadlinesOfARollout(t *testing.T) {
	c := func(path, old, now string) Change {
		side := func(s string) *string {
			if s == "" {
				return nil
			}
			return &s
		}
		return Change{path, side(old), side(now)}
	}
	for _, test := range []struct {
		want    string
		changes []Change
	}{
		{"Available 3 → 4", []Change{c("status.availableReplicas", "3", "4"), c("status.readyReplicas", "3", "4")}},
		{"Available 0 → 1", []Change{c("status.availableReplicas", "", "1")}},
		{"Terminating 1 → 0", []Change{c("status.terminatingReplicas", "1", "")}},
		{"Updated 1 → 2", []Change{c("status.replicas", "3", "4"), c("status.updatedReplicas", "1", "2")}},
		{"ProgressDeadlineExceeded", []Change{c("status.conditions[type=Progressing].reason", "ReplicaSetUpdated", "ProgressDeadlineExceeded"), c("status.conditions[type=Progressing].status", "True", "False")}},
		{"NewReplicaSetCreated", []Change{c("status.conditions[type=Progressing]", "", `{"type":"Progressing","reason":"NewReplicaSetCreated"}`)}},
		{"Not available", []Change{c("status.availableReplicas", "4", "2"), c("status.conditions[type=Available].status", "True", "False")}},
		{"MemoryPressure True", []Change{c("status.conditions[type=MemoryPressure].status", "False", "True")}},
		{"MemoryPressure False", []Change{c("status.conditions[type=MemoryPressure].status", "True", "False")}},
		{"Changed status", []Change{c("status.observedGeneration", "1", "2")}},
	} {
		if got := Headline(test.changes); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
