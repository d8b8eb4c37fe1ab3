package live

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/connect"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/monitor"
	"github.com/listwatch/listwatch/config"
	"github.com/listwatch/listwatch/internal/print"
)

func TestHeaderNamesWhatIsShownAndHowOldItIs(t *testing.T) {
	lost := boardStart.Add(-12 * time.Second)
	one := []connect.Cluster{{Config: &config.Config{Context: "prod", Cluster: "prod\x1b-eu"}}}
	server := []connect.Cluster{{Config: &config.Config{Client: client.Config{Server: "https://user:secret@10.0.0.1:6443/prefix"}}}}
	var four []connect.Cluster
	for _, name := range []string{"a", "b", "c", "d"} {
		four = append(four, connect.Cluster{Name: name, Config: &config.Config{Context: name, Cluster: "k"}})
	}
	for _, c := range []struct {
		clusters []connect.Cluster
		fresh    []monitor.Freshness
		width    int
		most     int
		want     []string
		behind   bool
	}{
		{one, []monitor.Freshness{{Namespaces: []string{"shop"}}}, 80, 3, []string{"context prod, cluster prod^[-eu, namespace shop"}, false},
		{one, []monitor.Freshness{{Namespaces: []string{"a", "b"}}}, 80, 3, []string{"context prod, cluster prod^[-eu, namespaces a b"}, false},
		{one, []monitor.Freshness{{AsOf: boardStart.Add(-lostAfter + 1), Why: "connection lost"}}, 80, 3, []string{"context prod, cluster prod^[-eu"}, false},
		{one, []monitor.Freshness{{All: true, AsOf: lost, Why: "pods: connection lost"}}, 80, 3, []string{"context prod, as of 12s ago: pods: connection lost, cluster prod^[-eu, all", "namespaces"}, true},
		{one, []monitor.Freshness{{Namespaces: []string{"shop"}, AsOf: lost, Why: "connection lost"}}, 20, 3, []string{"context prod, as of", "12s ago: connection", "lost, cluster prod^…"}, true},
		{one, []monitor.Freshness{{AsOf: lost, Why: "connection lost"}}, 80, 0, nil, true},
		{one, nil, 80, 3, []string{"context prod, cluster prod^[-eu"}, false},
		{server, []monitor.Freshness{{Why: "listing"}}, 80, 3, []string{"server 10.0.0.1:6443, no complete state yet: listing"}, true},
		{four, []monitor.Freshness{{Cluster: "b", AsOf: lost, Why: "no contact"}, {Cluster: "d", Why: "not reached: refused"}}, 60, 8,
			[]string{"context a, cluster k", "context b, as of 12s ago: no contact, cluster k", "context c, cluster k", "context d, no complete state yet: not reached: refused,", "cluster k"}, true},
		{four, []monitor.Freshness{{Cluster: "b", AsOf: lost, Why: "no contact"}, {Cluster: "d", AsOf: lost, Why: "no contact"}}, 60, 3,
			[]string{"context b, as of 12s ago: no contact, cluster k", "context d, as of 12s ago: no contact, cluster k", "and 2 more clusters"}, true},
		{four, nil, 60, 1, []string{"and 4 more clusters"}, false},
	} {
		b := newBoard(&print.Format{})
		b.places, b.fresh = placesOf(c.clusters), func() []monitor.Freshness { return c.fresh }
		got, behind := b.header(boardStart, c.width, c.most)
		if diff := cmp.Diff(c.want, got); diff != "" || behind != c.behind {
			t.Errorf("%+v: behind %v (-want +got):\n%s", c.fresh, behind, diff)
		}
	}
}

// The last message stays while something is not current: it has the whole reason.
func TestMessageStaysWhileTheStateIsOld(t *testing.T) {
	fresh := monitor.Freshness{AsOf: boardStart, Why: "connection lost"}
	b := newBoard(&print.Format{Headers: true, Color: true})
	b.places, b.fresh = []place{{first: "context prod"}}, func() []monitor.Freshness { return []monitor.Freshness{fresh} }
	b.apply(podRecord(t, "ADDED", "a", "Pending", 0, 0))
	b.note("pods: cannot watch: connection refused", boardStart)
	at := func() []string { return finish(b).draw(80, 24, boardStart.Add(10*time.Minute)) }
	if lines := at(); lines[1] != red+"context prod, as of 10m ago: connection lost"+plain || lines[23] != "pods: cannot watch: connection refused" {
		t.Errorf("%q", lines)
	}
	fresh = monitor.Freshness{}
	if lines := at(); lines[1] != "context prod" || lines[23] != keys {
		t.Errorf("%q", lines)
	}
}

// Namesakes of two clusters are two rows.
func TestBoardOfTwoClusters(t *testing.T) {
	b := newBoard(&print.Format{Headers: true, Clusters: true})
	for i, name := range []string{"west", "east"} {
		r := podRecord(t, "ADDED", "a", fmt.Sprint("Phase", i), i, 0)
		r.Cluster = name
		b.apply(r)
	}
	got := strings.Join(finish(b).draw(60, 6, boardStart), "\n")
	want := `2 objects, 0 events
  CLUSTER   NAME   STATUS   RESTARTS   AGE
  east      a      Phase1   1          5s
  west      a      Phase0   0          5s

? help   q quit   / filter   Enter open   s sort   r revers…`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
