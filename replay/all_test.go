package replay_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/replay"
	"github.com/listwatch/listwatch/watch"
)

// tracing writes down the calls of hooks, and when.
func tracing(lines *[]string) watch.Trace {
	start := time.Now()
	add := func(format string, args ...any) {
		*lines = append(*lines, pause.ReplaceAllString(time.Since(start).String()+" "+fmt.Sprintf(format, args...), " later"))
	}
	return watch.Trace{
		Listed:      func(p list.Progress) { add("listed %+v", p) },
		Connected:   func(op watch.Op, from kube.Revision, gap time.Duration) { add("connected %s %s %v", op, from, gap) },
		Interrupted: func(i watch.Interruption) { add("interrupted %v, next %s after %v", &i, i.Next, i.Wait) },
		Fallback:    func(err error) { add("fallback %v", err) },
	}
}

// TestSourceTracesWhatTheWatcherTraced: also what the loop did not receive, such as a
// 410, at the same times.
func TestSourceTracesWhatTheWatcherTraced(t *testing.T) {
	for name, story := range map[string]func(*apitest.Server){
		"eventful": eventful,
		"no streams": func(srv *apitest.Server) {
			srv.On(apitest.Match{Verb: "watch"}, faults.Answer(&kube.Status{Code: 422, Reason: "Invalid", Message: "no streams"})).Times(1)
			srv.Expire()
			srv.CloseWatches()
			pass(time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var live, again []string
				o := watch.Options{Initial: watch.Paged, Limit: 2}
				if name == "no streams" {
					o = watch.Options{}
				}
				o.Trace = tracing(&live)
				_, b := record(t, replay.Options{}, o, story)
				src, err := replay.NewSource[codec.Raw](load(t, b), 0, replay.SourceOptions{Trace: tracing(&again)})
				if err != nil {
					t.Fatal(err)
				}
				for range src.Events(t.Context()) {
				}
				if diff := cmp.Diff(live, again); diff != "" || len(live) < 4 {
					t.Errorf("trace (-live +replayed):\n%s", diff)
				}
			})
		})
	}
}

const two = `{"t":"header","format":"lwrec","version":1}
{"t":"stream","at":1000000000,"id":1,"target":{"version":"v1","plural":"pods","kind":"Pod","namespaced":true}}
{"t":"stream","at":2000000000,"id":3,"target":{"version":"v1","plural":"nodes","kind":"Node"}}
{"t":"ev","at":4000000000,"id":1,"type":"ADDED","rv":"6","object":{"metadata":{"name":"second","resourceVersion":"6"}}}
{"t":"ev","at":3000000000,"id":3,"type":"ADDED","rv":"5","object":{"metadata":{"name":"first","resourceVersion":"5"}}}
{"t":"mark","at":5000000000,"label":"third"}
{"t":"req","at":5000000000,"id":2,"method":"GET","url":"/version"}
{"t":"note","at":6000000000,"id":3,"note":"connected","type":"watch","rv":"5"}
{"t":"note","at":7000000000,"id":1,"note":"error","failure":{"text":"fourth"}}
`

// TestAllDeliversTheStreamsInOrder, however it is paced, until its context ends.
func TestAllDeliversTheStreamsInOrder(t *testing.T) {
	one := &replay.Step{}
	one.Release(2)
	for _, test := range []struct {
		name string
		pace replay.Pace
		want []string
	}{
		{"as recorded", replay.Pace{}, []string{"0s 1 first", "1s 0 second", "2s -1 third", "connected 1", "4s 0 fourth", "ended after 4s"}},
		{"twice as fast", replay.Pace{Speed: 2}, []string{"0s 1 first", "500ms 0 second", "1s -1 third", "connected 1", "2s 0 fourth", "ended after 2s"}},
		{"at once", replay.Pace{Fast: true}, []string{"0s 1 first", "0s 0 second", "0s -1 third", "connected 1", "0s 0 fourth", "ended after 0s"}},
		{"by hand", replay.Pace{Step: one}, []string{"0s 1 first", "0s 0 second", "0s -1 third", "connected 1", "ended after 1m0s"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var got []string
				start := time.Now()
				trace := func(n int) watch.Trace {
					return watch.Trace{Connected: func(watch.Op, kube.Revision, time.Duration) { got = append(got, fmt.Sprint("connected ", n)) }}
				}
				for d := range replay.All[kube.Partial](ctx, load(t, []byte(two)), test.pace, trace) {
					text := d.Mark + d.Event.Key.Name
					if d.Err != nil {
						text += d.Err.Error()
					}
					got = append(got, fmt.Sprintf("%v %d %s", time.Since(start), d.Stream, text))
				}
				got = append(got, fmt.Sprintf("ended after %v", time.Since(start)))
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
