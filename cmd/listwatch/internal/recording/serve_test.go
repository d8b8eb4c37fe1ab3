package recording

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
)

// TestTypesOfRecordingsAreNoFlags: the command that is offered runs what it says.
func TestTypesOfRecordingsAreNoFlags(t *testing.T) {
	for typ, want := range map[string]string{
		"deployments.apps": "; try: listwatch watch -A -s http://127.0.0.1:1 deployments.apps",
		"--exec=id":        "",
		"-oname":           "",
		"pods;id":          "",
		"pods id":          "",
		"":                 "",
	} {
		if got := tryIt("http://127.0.0.1:1", typ); got != want {
			t.Errorf("%q: %q, want %q", typ, got, want)
		}
	}
}

// TestServedStatesAreAllKept: a client can list the first state of a recording that has more
// than the 32 MiB which a server keeps by default.
func TestServedStatesAreAllKept(t *testing.T) {
	rec := &replay.Recording{Entries: []*replay.Entry{{Kind: replay.KindStream, ID: 1, Target: &replay.Target{Resource: kube.ConfigMaps}}}}
	value := strings.Repeat("x", 1<<20)
	for i := range 36 {
		rec.Entries = append(rec.Entries, &replay.Entry{Kind: replay.KindEvent, ID: 1, Type: "MODIFIED", Revision: fmt.Sprint(1000 + i),
			Object: fmt.Appendf(nil, `{"metadata":{"namespace":"a","name":"c","uid":"u","resourceVersion":"%d"},"data":{"v":%q}}`, 1000+i, value)})
	}
	srv, err := apitest.Start(serverOptions(rec))
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	state, err := replay.NewState(t.Context(), rec, srv)
	if err != nil {
		t.Fatal(err)
	}
	if err := state.Play(t.Context(), replay.Pace{Fast: true}); err != nil {
		t.Fatal(err)
	}
	resp, err := srv.Client().Get(srv.URL + kube.ConfigMaps.Path("a") + "?resourceVersion=1000&resourceVersionMatch=Exact")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("the list at the first revision: %s", resp.Status)
	}
}
