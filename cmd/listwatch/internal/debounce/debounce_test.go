package debounce

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/internal/record"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// TestDebounceShowsConditionsEachState: also one that is replaced before it is delivered, and
// at once; nothing that comes after the end is delivered.
func TestDebounceShowsConditionsEachState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := func(rv string) record.Record {
			return record.Record{Type: "MODIFIED", ID: codec.Identity{Name: "a", UID: "1", ResourceVersion: rv}, Time: time.Now()}
		}
		records, delivered := make(chan record.Record), make(chan record.Record)
		var seen, got []string
		d := &Debouncer{Wait: time.Hour, See: func(r *record.Record) bool {
			seen = append(seen, r.ID.ResourceVersion)
			return r.ID.ResourceVersion == "3"
		}}
		go func() {
			d.Run(records, delivered)
			close(delivered)
		}()
		said := make(chan struct{})
		go func() {
			for _, rv := range []string{"2", "3", "4"} {
				records <- state(rv)
			}
			records <- record.Record{Say: func() { close(said) }}
			close(records)
		}()
		for r := range delivered {
			if r.Say != nil {
				r.Say()
				continue
			}
			got = append(got, r.ID.ResourceVersion)
		}
		<-said
		if diff := gocmp.Diff([][]string{{"2", "3"}, {"3"}}, [][]string{seen, got}); diff != "" {
			t.Errorf("what conditions saw, and what was delivered (-want +got):\n%s", diff)
		}
	})
}

// TestDebounce: what is delivered of what comes, and when, in milliseconds.
func TestDebounce(t *testing.T) {
	type in struct {
		at   int
		r    record.Record
		from string // of a change: the state before
	}
	object := func(kind, uid, rv string) record.Record {
		return record.Record{Type: kind, ID: codec.Identity{Name: "a", UID: uid, ResourceVersion: rv}}
	}
	first := object("ADDED", "1", "1")
	first.Initial = true
	mark := func(rv string) record.Record { return record.Record{Mark: record.MarkAt, At: kube.Revision(rv)} }
	for _, test := range []struct {
		name string
		in   []in
		want []string
	}{
		{"the last of several, with the state before the first", []in{{0, object("MODIFIED", "1", "2"), "1"}, {50, object("MODIFIED", "1", "3"), "2"}, {99, object("MODIFIED", "1", "4"), "3"}, {150, object("MODIFIED", "1", "5"), "4"}},
			[]string{"100 MODIFIED 1 4 from 1", "250 MODIFIED 1 5 from 4"}},
		{"what is added and changes is added", []in{{0, object("ADDED", "1", "2"), ""}, {50, object("MODIFIED", "1", "3"), "2"}},
			[]string{"100 ADDED 1 3 from "}},
		{"a first list does not wait", []in{{0, first, ""}}, []string{"0 ADDED 1 1 from "}},
		{"nor does a deletion, alone", []in{{7, object("DELETED", "1", "2"), ""}}, []string{"7 DELETED 1 2 from "}},
		{"a deletion replaces a change", []in{{0, object("MODIFIED", "1", "2"), "1"}, {10, object("DELETED", "1", "3"), ""}},
			[]string{"100 DELETED 1 3 from "}},
		{"but not an addition", []in{{0, object("ADDED", "1", "2"), ""}, {10, object("DELETED", "1", "3"), ""}},
			[]string{"100 ADDED 1 2 from ", "100 DELETED 1 3 from "}},
		{"a namesake is another object", []in{{0, object("ADDED", "1", "2"), ""}, {10, object("DELETED", "1", "3"), ""}, {20, object("ADDED", "2", "4"), ""}, {30, object("MODIFIED", "2", "5"), "4"}},
			[]string{"100 ADDED 1 2 from ", "100 DELETED 1 3 from ", "120 ADDED 2 5 from "}},
		{"a mark stays behind what it is about", []in{{0, mark("1"), ""}, {10, object("MODIFIED", "1", "2"), "1"}, {10, mark("2"), ""}, {20, object("MODIFIED", "2", "3"), "1"}, {20, mark("3"), ""}, {30, object("MODIFIED", "1", "4"), "2"}, {30, mark("4"), ""}},
			[]string{"0 mark 1", "110 MODIFIED 1 4 from 1", "110 mark 2", "120 MODIFIED 2 3 from 1", "120 mark 3", "120 mark 4"}},
		{"what was delivered is on the disk in time", []in{{0, object("MODIFIED", "1", "2"), "1"}, {10, record.Record{Mark: record.MarkSync}, ""}},
			[]string{"10 mark ", "100 MODIFIED 1 2 from 1"}},
		{"the end tells all", []in{{0, object("ADDED", "1", "2"), ""}, {5, object("MODIFIED", "2", "3"), "1"}, {20, object("", "", ""), "end"}},
			[]string{"20 ADDED 1 2 from ", "20 MODIFIED 2 3 from 1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				records, delivered := make(chan record.Record), make(chan record.Record)
				go func() {
					(&Debouncer{Wait: 100 * time.Millisecond}).Run(records, delivered)
					close(delivered)
				}()
				go func() {
					for _, in := range test.in {
						time.Sleep(time.Until(began.Add(time.Duration(in.at) * time.Millisecond)))
						if in.from == "end" {
							break
						}
						in.r.Time = time.Now()
						if in.from != "" {
							in.r.Old = raw1(t, in.from)
						}
						records <- in.r
					}
					if test.in[len(test.in)-1].from != "end" {
						time.Sleep(time.Second)
					}
					close(records)
				}()
				var got []string
				for r := range delivered {
					ms := time.Since(began).Milliseconds()
					if r.Mark != record.NoMark {
						got = append(got, fmt.Sprintf("%d mark %s", ms, r.At))
						continue
					}
					got = append(got, fmt.Sprintf("%d %s %s %s from %s", ms, r.Type, r.ID.UID, r.ID.ResourceVersion, r.Old.GetResourceVersion()))
				}
				if diff := gocmp.Diff(test.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func raw1(t *testing.T, rv string) codec.Raw {
	t.Helper()
	o, err := codec.ParseRaw([]byte(`{"metadata":{"name":"a","resourceVersion":"` + rv + `"}}`))
	if err != nil {
		t.Error(err)
	}
	return o
}

// TestDebounceIsBounded: objects that come and go are delivered before their time where they
// would fill the memory, none is passed over, and what is delivered once is not held.
func TestDebounceIsBounded(t *testing.T) {
	big, err := codec.ParseRaw([]byte(`{"metadata":{"name":"a"},"spec":"` + strings.Repeat("x", 1<<20) + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	d := &Debouncer{Wait: time.Hour}
	records, delivered := make(chan record.Record), make(chan record.Record, 400)
	done := make(chan struct{})
	go func() {
		d.Run(records, delivered)
		close(done)
	}()
	for i := range 100 {
		for _, kind := range []string{"ADDED", "DELETED"} {
			records <- record.Record{Type: kind, Object: big, Time: time.Now(), ID: codec.Identity{Name: fmt.Sprint(i), UID: fmt.Sprint(i)}}
		}
	}
	for range 100 { // of one object in a row
		records <- record.Record{Type: "MODIFIED", Object: big, Old: big, Time: time.Now(), ID: codec.Identity{Name: "b", UID: "b"}}
	}
	if early := len(delivered); early < 100 || early > 200 {
		t.Errorf("%d of 200 were delivered before their time", early)
	}
	close(records)
	<-done
	if len(delivered) != 201 || d.held != 0 {
		t.Errorf("%d were delivered, %d bytes are held; want 201, 0", len(delivered), d.held)
	}
}
