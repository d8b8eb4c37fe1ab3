package replay_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
)

// TestStateTakesNoRevisionThatEndsTheServers: a recording may say any number. Behind the
// largest there would be none for the next write.
func TestStateTakesNoRevisionThatEndsTheServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := replay.Load(strings.NewReader(`{"t":"header","format":"lwrec","version":1}
{"t":"stream","id":1,"target":{"version":"v1","plural":"pods","kind":"Pod","namespaced":true}}
{"t":"ev","id":1,"type":"ADDED","rv":"18446744073709551615","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"d","uid":"u","resourceVersion":"18446744073709551615"}}}
{"t":"ev","id":1,"type":"ADDED","rv":"200","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b","namespace":"d","uid":"v","resourceVersion":"200"}}}
{"t":"ev","id":1,"type":"ADDED","rv":"9223372036854775807","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"c","namespace":"d","uid":"w","resourceVersion":"9223372036854775807"}}}
`), 0)
		if err != nil {
			t.Fatal(err)
		}
		srv := apitest.NewInMemory(t)
		s, err := replay.NewState(t.Context(), r, srv)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Play(t.Context(), replay.Pace{Fast: true}); err != nil {
			t.Fatal(err)
		}
		got := []kube.Revision{srv.Tick()}
		for _, recorded := range []kube.Revision{"18446744073709551615", "200", "9223372036854775807"} {
			rv, _ := s.Revision(recorded)
			got = append(got, rv)
		}
		want := []kube.Revision{"9223372036854775808", "101", "200", "9223372036854775807"}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}

// TestStateKeepsRevisionsOverAListing: what was deleted before it takes no revision of what was
// changed, then or later.
func TestStateKeepsRevisionsOverAListing(t *testing.T) {
	text := `{"t":"header","format":"lwrec","version":1}
{"t":"stream","at":0,"id":1,"target":{"version":"v1","plural":"configmaps","kind":"ConfigMap","namespaced":true}}
`
	for _, e := range [][4]string{ // type, name, uid, revision
		{"RESTART"}, {"ADDED", "p", "1", "1000"}, {"ADDED", "q", "2", "1001"}, {"ADDED", "r", "3", "1002"}, {"ADDED", "s", "4", "1003"}, {"SYNCED", "", "", "1010"},
		{"RESTART"}, {"ADDED", "r", "5", "1015"}, {"ADDED", "s", "4", "1016"}, {"SYNCED", "", "", "1020"}, // without p and q
		{"MODIFIED", "r", "5", "1021"}, {"DELETED", "s", "4", "1022"},
	} {
		text += `{"t":"ev","at":1,"id":1,"type":"` + e[0] + `","rv":"` + e[3] + `"`
		if e[1] != "" {
			text += `,"object":{"metadata":{"namespace":"a","name":"` + e[1] + `","uid":"` + e[2] + `","resourceVersion":"` + e[3] + `"},"data":{"at":"` + e[3] + `"}}`
		}
		text += "}\n"
	}
	srv := apitest.NewInMemory(t)
	s, err := replay.NewState(t.Context(), load(t, []byte(text)), srv)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Play(t.Context(), replay.Pace{Fast: true}); err != nil {
		t.Fatal(err)
	}
	for _, rev := range []kube.Revision{"1000", "1001", "1002", "1003", "1015", "1016", "1020", "1021", "1022"} {
		if got, ok := s.Revision(rev); got != rev || !ok {
			t.Errorf("the change at %s is at %q", rev, got)
		}
	}
	if _, rev := srv.List(kube.ConfigMaps); rev != "1022" {
		t.Errorf("the server is at %s", rev)
	}
}
