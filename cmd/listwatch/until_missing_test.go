package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/until"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/target"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// waitingFor returns a session that has been told of pods of these names; "ready" is so.
func waitingFor(t *testing.T, f *watchFlags, synced bool, names ...string) *session {
	t.Helper()
	v, err := f.waiting.Compile()
	if err != nil {
		t.Fatal(err)
	}
	s := &session{flags: f, output: output{verdict: v, maxEvents: f.reporting.maxEvents}}
	if v == nil {
		return s
	}
	pods := target.Target{Resource: kube.Pods, Namespace: "d"}
	if f.initialList == "named" {
		pods.Names = map[string]bool{"must": true}
	}
	v.Expect([]target.Target{pods}, 1)
	for _, name := range names {
		condition := ""
		if name == "ready" {
			condition = `{"type":"Ready","status":"True"}`
		}
		o, err := codec.ParseRaw(fmt.Appendf(nil, `{"metadata":{"namespace":"d","name":%q},"status":{"conditions":[%s]}}`, name, condition))
		if err != nil {
			t.Fatal(err)
		}
		if end := v.See(&record.Record{Type: string(watch.Added), Resource: kube.Pods, ID: o.Identity(), Object: o}); end != nil {
			t.Fatal(end)
		}
	}
	if synced {
		if end := v.See(&record.Record{Type: string(watch.Synced)}); end != nil {
			t.Fatal(end)
		}
	}
	return s
}

func TestTimeoutSaysWhatHasNotCome(t *testing.T) {
	these := func(texts ...string) until.Flags { return until.Flags{Until: texts} }
	for _, test := range []struct {
		flags  watchFlags
		early  bool // before the end of the first list
		names  []string
		events int
		want   string
	}{
		{flags: watchFlags{}},
		{flags: watchFlags{once: true}, want: "; the first list has not come in whole"},
		{flags: watchFlags{waiting: these("create")}, early: true, names: []string{"a"}, want: "; the first list has not come in whole"},
		{flags: watchFlags{waiting: these("create")}, want: "; this does not hold: create (there are no objects)"},
		{flags: watchFlags{waiting: these("delete")}, names: []string{"b", "a", "ready"}, want: "; this does not hold: delete (there is pod/a and 2 more)"},
		{flags: watchFlags{waiting: these("condition=Ready", "create")}, names: []string{"b", "ready"}, want: "; this does not hold: condition=Ready (not of pod/b)"},
		{flags: watchFlags{waiting: these("condition=Ready", "count>2")}, names: []string{"a"}, want: "; this does not hold: condition=Ready (not of pod/a), count>2 (there are 1)"},
		{flags: watchFlags{waiting: these("create"), initialList: "named"}, names: []string{"a"}, want: "; this does not hold: create (there is no pod/must)"},
		{flags: watchFlags{waiting: until.Flags{Until: []string{"count=9"}, UntilAny: []string{"condition=Ready"}}}, names: []string{"a"}, want: "; this does not hold: count=9 (there are 1), condition=Ready (not of pod/a)"},
		{flags: watchFlags{waiting: until.Flags{FailOn: []string{"count=9"}}}, names: []string{"a"}},
		{flags: watchFlags{reporting: reporting{maxEvents: 7}}, events: 2, want: "; 2 of 7 events came"},
		{flags: watchFlags{reporting: reporting{maxEvents: 1}, waiting: these("count=9")}, want: "; this does not hold: count=9 (there are 0); 0 of 1 event came"},
	} {
		s := waitingFor(t, &test.flags, !test.early, test.names...)
		err := s.overdue(fmt.Errorf("%w: 5m0s", exit.ErrTimedOut), test.events)
		if diff := gocmp.Diff("--timeout is over: 5m0s"+test.want, err.Error()); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.flags.waiting, diff)
		}
		if !errors.Is(err, exit.ErrTimedOut) {
			t.Errorf("%+v: the exit code would be another", test.flags.waiting)
		}
		for _, other := range []error{nil, context.Canceled, exit.ErrAskedFor} {
			if got := s.overdue(other, 0); got != other {
				t.Errorf("%v became %v", other, got)
			}
		}
	}
}
