package print

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/internal/record"
)

// TestMaskPair: of a Secret it is seen what differs, and never what it holds, whatever
// form the server gives it.
func TestMaskPair(t *testing.T) {
	for _, tt := range []struct{ name, before, now, want string }{
		{"values", `{"data":{"a":"x","b":"y","c":"z"}}`, `{"data":{"a":"x","b":"w","d":"v"}}`,
			`[{"data":{"a":"[redacted]","b":"[redacted]","c":"[redacted]"}},{"data":{"a":"[redacted]","b":"[redacted, changed]","d":"[redacted]"}}]`},
		{"out of a checkpoint", `{"data":{"a":"[redacted]"}}`, `{"data":{"a":"x"}}`, `[{"data":{"a":"[redacted]"}},{"data":{"a":"[redacted]"}}]`},
		{"what was applied", `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"x","n":"1"}}}`, `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"y","n":"2"}}}`,
			`[{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"[redacted]","n":"1"}}},{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"[redacted, changed]","n":"2"}}}]`},
		{"no map", `{"data":"x","stringData":["y"]}`, `{"data":{"a":"x"},"stringData":"z"}`, `[{"data":"[redacted]","stringData":"[redacted]"},{"data":{"a":"[redacted]"},"stringData":"[redacted]"}]`},
	} {
		before, now := tree(t, tt.before).(map[string]any), tree(t, tt.now).(map[string]any)
		record.MaskPair(before, now)
		got, err := json.Marshal([]any{before, now})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
