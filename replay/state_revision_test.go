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
