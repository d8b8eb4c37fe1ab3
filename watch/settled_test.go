package watch

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
)

// TestMachineIsSettledByWhatWasDelivered: a request that is refused as invalid ends the loop
// before anything was synced or delivered, and is a reason to list again after that.
func TestMachineIsSettledByWhatWasDelivered(t *testing.T) {
	page := outcome{events: 1, meta: codec.ListMeta{ResourceVersion: "5"}}
	tests := []struct {
		name string
		s    state
		o    []outcome
		ends bool
	}{
		{"a revision that was given", state{op: OpWatch, from: "5"}, nil, true},
		{"a revision that was given, and an event", state{op: OpWatch, from: "5"}, []outcome{{opened: true, revision: "6", events: 1}}, false},
		{"a list", state{op: OpList}, []outcome{page}, false},
		{"a stream", state{op: OpStream}, []outcome{{opened: true, synced: "5", revision: "5", events: 1}}, false},
	}
	for _, tt := range tests {
		p, s := testProtocol(Auto), tt.s
		for _, o := range append(tt.o, outcome{err: invalid}) {
			s = p.step(s, o)
		}
		if ends := s.op == OpNone; ends != tt.ends {
			t.Errorf("%s: the next request is %q", tt.name, s.op)
		}
	}
}

// TestMachineForgetsUnendedStreamsAtTheMark: only consecutive ones are a reason for lists.
func TestMachineForgetsUnendedStreamsAtTheMark(t *testing.T) {
	p, s := testProtocol(Auto), state{op: OpStream}
	unended := outcome{opened: true, err: errCut}
	var ops []Op
	for _, o := range []outcome{unended, unended, {opened: true, synced: "5", revision: "5", err: gone}, unended, unended, unended} {
		s = p.step(s, o)
		ops = append(ops, s.op)
	}
	if diff := cmp.Diff([]Op{OpStream, OpStream, OpStream, OpStream, OpStream, OpList}, ops); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
