package replay_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
)

// twoStreams is the start of a recording: ConfigMaps are stream 1, Secrets stream 2.
const twoStreams = `{"t":"header","format":"lwrec","version":1}
{"t":"stream","at":0,"id":1,"target":{"version":"v1","plural":"configmaps","kind":"ConfigMap","namespaced":true}}
{"t":"stream","at":0,"id":2,"target":{"version":"v1","plural":"secrets","kind":"Secret","namespaced":true}}
`

// eventLines returns the lines of events: "second stream type revision", and for an object its
// name, UID and generation.
func eventLines(events ...string) string {
	text := ""
	for _, e := range events {
		f := append(strings.Fields(e), "", "", "", "")
		at, _ := time.ParseDuration(f[0] + "s")
		text += fmt.Sprintf(`{"t":"ev","at":%d,"id":%s,"type":%q,"rv":%q`, at, f[1], f[2], f[3])
		if f[4] != "" {
			text += fmt.Sprintf(`,"object":{"metadata":{"namespace":"a","name":%q,"uid":%q,"resourceVersion":%q,"generation":%s},"data":{"p":"REDACTED"}}`, f[4], f[5], f[3], f[6])
		}
		text += "}\n"
	}
	return text
}

// servedOf plays a recording into a server, and returns the events that watches of resources
// from before it get.
func servedOf(t *testing.T, rec *replay.Recording, resources ...kube.Resource) (s *replay.State, srv *apitest.Server, events []string) {
	t.Helper()
	srv = apitest.NewInMemory(t)
	s, err := replay.NewState(t.Context(), rec, srv)
	if err != nil {
		t.Fatal(err)
	}
	var bodies []io.ReadCloser
	for _, r := range resources {
		resp, err := srv.Client().Get(srv.URL + r.Path("") + "?watch=1&resourceVersion=" + string(srv.Revision()))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		bodies = append(bodies, resp.Body)
	}
	if err := s.Play(t.Context(), replay.Pace{Fast: true}); err != nil {
		t.Fatal(err)
	}
	srv.CloseWatches()
	for _, body := range bodies {
		for d := json.NewDecoder(body); d.More(); {
			var e struct {
				Type   string
				Object kube.Partial
			}
			if err := d.Decode(&e); err != nil {
				t.Fatal(err)
			}
			events = append(events, fmt.Sprintf("%s %s %s %s %d", e.Type, e.Object.ResourceVersion, e.Object.Name, e.Object.UID, e.Object.Generation))
		}
	}
	return s, srv, events
}

// TestStatePlaysEachChangeAfterARestore: etcd assigns revisions again, so that one is that of two
// changes, which the redaction may hide.
func TestStatePlaysEachChangeAfterARestore(t *testing.T) {
	s, _, got := servedOf(t, load(t, []byte(twoStreams+eventLines(
		"0 2 RESTART", "0 2 ADDED 1000 s u 7", "0 2 SYNCED 1000", "1 2 MODIFIED 1001 s u 8", "2 2 MODIFIED 1002 s u 8",
		"60 2 RESTART", "60 2 ADDED 1000 s u 7", "60 2 SYNCED 1000", "61 2 MODIFIED 1001 s u 7", "62 2 MODIFIED 1002 s u 20",
	))), kube.Secrets)
	want := []string{"ADDED 1000 s u 7", "MODIFIED 1001 s u 8", "MODIFIED 1002 s u 8", "MODIFIED 1003 s u 7", "MODIFIED 1004 s u 7", "MODIFIED 1005 s u 20"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-recorded +served)\n%s", d)
	}
	if s.Len() != len(want) {
		t.Errorf("Len is %d", s.Len())
	}
	if rev, _ := s.Revision("1001"); rev != "1004" {
		t.Errorf("the last change at 1001 is at %s", rev)
	}
}

// TestStatePlaysAnEventOfTwoGroupsOnce: both have the same Events.
func TestStatePlaysAnEventOfTwoGroupsOnce(t *testing.T) {
	both := strings.ReplaceAll(strings.ReplaceAll(twoStreams, `"plural":"configmaps","kind":"ConfigMap"`, `"plural":"events","kind":"Event"`),
		`"version":"v1","plural":"secrets","kind":"Secret"`, `"group":"events.k8s.io","version":"v1","plural":"events","kind":"Event"`)
	lines := eventLines("0 1 ADDED 1000 c u 0", "0 2 ADDED 1000 c u 0", "1 1 MODIFIED 1001 c u 0", "1 2 MODIFIED 1001 c u 0", "2 2 DELETED 1002 c u 0", "2 1 DELETED 1002 c u 0")
	events := strings.Split(lines, "\n")
	for i, l := range events { // as events.k8s.io has them
		if strings.Contains(l, `"id":2`) {
			events[i] = strings.ReplaceAll(l, `"data":`, `"note":`)
		}
	}
	s, _, got := servedOf(t, load(t, []byte(both+strings.Join(events, "\n"))), kube.Events)
	if d := cmp.Diff([]string{"ADDED 1000 c u 0", "MODIFIED 1001 c u 0", "DELETED 1002 c u 0"}, got); d != "" || s.Len() != 3 {
		t.Errorf("Len is %d (-recorded +served)\n%s", s.Len(), d)
	}
}

// TestStatePlaysAChangeOfTwoStreamsOnce: two streams that have the same objects.
func TestStatePlaysAChangeOfTwoStreamsOnce(t *testing.T) {
	both := strings.ReplaceAll(twoStreams, `"plural":"secrets","kind":"Secret"`, `"plural":"configmaps","kind":"ConfigMap"`)
	s, _, got := servedOf(t, load(t, []byte(both+eventLines(
		"0 1 ADDED 1000 c u 1", "0 2 ADDED 1000 c u 1", "1 1 MODIFIED 1001 c u 1", "1 1 DELETED 1002 c u 1", "2 2 MODIFIED 1001 c u 1", "2 2 DELETED 1002 c u 1",
	))), kube.ConfigMaps)
	want := []string{"ADDED 1000 c u 1", "MODIFIED 1001 c u 1", "DELETED 1002 c u 1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-recorded +served)\n%s", d)
	}
	if s.Len() != len(want) {
		t.Errorf("Len is %d", s.Len())
	}
}
