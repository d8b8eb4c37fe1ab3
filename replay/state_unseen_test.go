package replay_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
)

// TestStateTakesFreeRevisionsForUnseenDeletions: a listing shows that objects were deleted, or
// created again, but not at which revision.
func TestStateTakesFreeRevisionsForUnseenDeletions(t *testing.T) {
	for name, c := range map[string]struct{ events, want []string }{
		"created again": {
			[]string{"0 1 ADDED 1000 c u 1", "0 2 ADDED 1001 s u 1", "60 2 MODIFIED 1002 s u 2", "60 2 MODIFIED 1003 s u 3",
				"60 1 RESTART", "60 1 ADDED 1010 c v 1", "60 1 SYNCED 1010"},
			[]string{"ADDED 1000 c u 1", "DELETED 1009 c u 1", "ADDED 1010 c v 1", "ADDED 1001 s u 1", "MODIFIED 1002 s u 2", "MODIFIED 1003 s u 3"},
		},
		"gone": {
			[]string{"0 1 ADDED 1000 c u 1", "0 1 ADDED 1001 d u 1", "0 1 ADDED 1002 e u 1", "0 2 ADDED 1003 s u 1", "60 2 MODIFIED 1008 s u 2", "60 2 MODIFIED 1011 s u 3",
				"60 1 RESTART", "60 1 ADDED 1009 f u 1", "60 1 SYNCED 1010"},
			[]string{"ADDED 1000 c u 1", "ADDED 1001 d u 1", "ADDED 1002 e u 1", "DELETED 1006 e u 1", "DELETED 1007 d u 1", "ADDED 1009 f u 1", "DELETED 1010 c u 1",
				"ADDED 1003 s u 1", "MODIFIED 1008 s u 2", "MODIFIED 1011 s u 3"},
		},
		"gone, and the listing has the revision of a change": {
			[]string{"0 1 ADDED 1000 c u 1", "0 2 ADDED 1001 s u 1", "60 2 MODIFIED 1010 s u 2", "60 1 RESTART", "60 1 SYNCED 1010"},
			[]string{"ADDED 1000 c u 1", "DELETED 1009 c u 1", "ADDED 1001 s u 1", "MODIFIED 1010 s u 2"},
		},
		"created again, and none is free": {
			[]string{"0 1 ADDED 1000 c u 1", "0 2 ADDED 1001 s u 1", "0 2 MODIFIED 1003 s u 2", "0 2 MODIFIED 1010 s u 3",
				"1 1 RESTART", "1 1 ADDED 1002 c v 1", "1 1 SYNCED 1002"},
			[]string{"ADDED 1000 c u 1", "DELETED 1002 c u 1", "ADDED 1003 c v 1", "ADDED 1001 s u 1", "MODIFIED 1004 s u 2", "MODIFIED 1010 s u 3"},
		},
		"gone, and found long after later changes": {
			[]string{"0 1 ADDED 1000 c u 1", "0 2 ADDED 1010 s u 1", "60 1 RESTART", "60 1 SYNCED 1010", "61 2 MODIFIED 1011 s u 2", "62 2 MODIFIED 1020 s u 3"},
			[]string{"ADDED 1000 c u 1", "DELETED 1011 c u 1", "ADDED 1010 s u 1", "MODIFIED 1012 s u 2", "MODIFIED 1020 s u 3"},
		},
		"gone after a restore": {
			[]string{"0 1 ADDED 1000 c u 1", "0 1 ADDED 1001 d u 1", "0 1 MODIFIED 1005 d u 2",
				"1 1 RESTART", "1 1 ADDED 1001 d u 1", "1 1 SYNCED 1001", "2 1 ADDED 1002 c v 1"},
			[]string{"ADDED 1000 c u 1", "ADDED 1001 d u 1", "MODIFIED 1005 d u 2", "MODIFIED 1006 d u 1", "DELETED 1007 c u 1", "ADDED 1008 c v 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, got := servedOf(t, load(t, []byte(twoStreams+eventLines(c.events...))), kube.ConfigMaps, kube.Secrets)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +served)\n%s", d)
			}
			if s.Len() != len(c.want) {
				t.Errorf("Len is %d", s.Len())
			}
		})
	}
}
