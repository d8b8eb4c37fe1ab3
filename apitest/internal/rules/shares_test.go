package rules_test

import (
	"testing"

	"github.com/listwatch/listwatch/apitest/internal/rules"
)

// TestShares: the maxSurge of a Deployment is a portion, its maxUnavailable a share.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		v              any
		portion, share int
	}{
		{int64(0), 0, 0}, {int64(200), 0, 0}, {int64(-1), 1, 1}, {nil, 0, 0},
		{"0%", 0, 0}, {"100%", 0, 0}, {"101%", 0, 1}, {"-1%", 1, 1}, {"5", 1, 1}, {"x%", 1, 1},
	} {
		portion, share := &rules.Refusals{}, &rules.Refusals{}
		portion.Portion("f", c.v)
		share.Share("f", c.v)
		if len(portion.Causes) != c.portion || len(share.Causes) != c.share {
			t.Errorf("%v: as a portion %v, as a share %v", c.v, portion.Causes, share.Causes)
		}
	}
}
