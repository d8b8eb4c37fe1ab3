package monitor

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/target"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

// A state is as old as the oldest of its streams.
func TestFreshness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Monitor{limit: StaleAfter}
		pods := m.Add(target.Target{Resource: kube.Pods, Namespace: "shop"})
		nodes := m.Add(target.Target{Resource: kube.Nodes})
		heard := &quiet{}
		pods.Bind(heard.contact, func() int { return 0 })
		expect := func(when string, want ...Freshness) {
			t.Helper()
			if diff := cmp.Diff(want, m.Freshness()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		one := func(asOf time.Time, why string) Freshness {
			return Freshness{Namespaces: []string{"shop"}, AsOf: asOf, Why: why}
		}
		see := func(s *State, kind string, detail any) {
			s.See(&record.Record{Type: kind, Time: time.Now(), Detail: detail})
		}
		expect("at the start", one(time.Time{}, "listing"))
		see(nodes, string(watch.Synced), nil)
		expect("with one list complete", one(time.Time{}, "pods: listing"))
		see(pods, record.ErrorType, record.ErrorDetail{Error: "refused"})
		expect("with an error of the other", one(time.Time{}, "pods: no connection"))
		see(pods, string(watch.Synced), nil)
		heard.hear()
		expect("complete", one(time.Time{}, ""))

		first := time.Now()
		see(nodes, record.DisconnectedType, record.DisconnectedDetail{})
		<-time.After(time.Minute)
		expect("with a lost connection", one(first, "nodes: connection lost"))
		see(nodes, record.ErrorType, record.ErrorDetail{Error: "x", Status: &record.StatusView{Code: 503}})
		see(pods, record.ErrorType, record.ErrorDetail{Error: "x", Status: &record.StatusView{Code: 403, Reason: "Forbidden"}})
		expect("with two lost connections", one(first, "the server reports 503"))
		nodes.List()
		see(pods, record.QuarantinedType, record.ErrorDetail{Error: "too large"})
		expect("while it is listed again", one(first, "listing again"))
		see(nodes, record.RelistedType, nil)
		expect("with one listed again", one(first.Add(time.Minute), "pods: the server reports Forbidden"))
		pods.Connect(watch.OpStream)
		expect("while initial events come", one(first.Add(time.Minute), "pods: the server reports Forbidden"))
		pods.Connect(watch.OpWatch)
		heard.hear()
		expect("with both", one(time.Time{}, ""))

		last := time.Now()
		<-time.After(StaleAfter)
		expect("after a long silence", one(last, "pods: no contact"))
		pods.Skip(errors.New("forbidden"), false)
		expect("with one skipped", one(time.Time{}, ""))
	})
}

func TestFreshnessOfClusters(t *testing.T) {
	m := &Monitor{limit: StaleAfter}
	for _, at := range []target.Target{{Cluster: "west", Resource: kube.Pods}, {Cluster: "east", Resource: kube.Pods, Namespace: "b"}, {Cluster: "east", Resource: kube.Pods, Namespace: "a", Apart: true}} {
		m.Add(at)
	}
	m.Absent("south", "refused")
	m.Stream(1).Connect(watch.OpWatch)
	want := []Freshness{
		{Cluster: "west", All: true, Why: "listing"},
		{Cluster: "east", Namespaces: []string{"a", "b"}, Why: "pods in a: listing"},
		{Cluster: "south", Why: "not reached: refused"},
	}
	if diff := cmp.Diff(want, m.Freshness()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
