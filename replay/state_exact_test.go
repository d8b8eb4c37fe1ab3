package replay_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
)

// TestStatePlaysChangesOfWhatIsRedacted: a new password of the same length is a change, though
// the recording has the same bytes for both, and so is a new generation. The metadata of
// an object that is being deleted is that of the recording.
func TestStatePlaysChangesOfWhatIsRedacted(t *testing.T) {
	text := `{"t":"header","format":"lwrec","version":1}
{"t":"stream","at":0,"id":1,"target":{"version":"v1","plural":"secrets","kind":"Secret","namespaced":true}}
`
	want := []string{
		`{"resourceVersion":"1000","generation":3}`,
		`{"resourceVersion":"1005","generation":3}`,
		`{"resourceVersion":"1006","generation":5}`,
		`{"resourceVersion":"1007","generation":5,"deletionTimestamp":"2026-01-02T03:04:05Z","deletionGracePeriodSeconds":30}`,
	}
	for i, meta := range want {
		var m map[string]any
		if err := json.Unmarshal([]byte(meta), &m); err != nil {
			t.Fatal(err)
		}
		typ, rev := "MODIFIED", m["resourceVersion"]
		if i == 0 {
			typ = "ADDED"
		}
		text += fmt.Sprintf(`{"t":"ev","at":%d,"id":1,"type":%q,"rv":%q,"object":{"metadata":{"namespace":"a","name":"s","uid":"1",%s},"data":{"password":"REDACTED"}}}`+"\n", i, typ, rev, meta[1:len(meta)-1])
	}
	srv := apitest.NewInMemory(t)
	s, err := replay.NewState(t.Context(), load(t, []byte(text)), srv)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := srv.Client().Get(srv.URL + kube.Secrets.Path("a") + "?watch=1&resourceVersion=" + string(srv.Revision()))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := s.Play(t.Context(), replay.Pace{Fast: true}); err != nil {
		t.Fatal(err)
	}
	srv.CloseWatches()
	var got []string
	for d := json.NewDecoder(resp.Body); d.More(); {
		var e struct {
			Object struct {
				Metadata struct {
					ResourceVersion            string `json:"resourceVersion"`
					Generation                 int    `json:"generation"`
					DeletionTimestamp          string `json:"deletionTimestamp,omitempty"`
					DeletionGracePeriodSeconds int    `json:"deletionGracePeriodSeconds,omitempty"`
				}
			}
		}
		if err := d.Decode(&e); err != nil {
			t.Fatal(err)
		}
		b, _ := json.Marshal(e.Object.Metadata)
		got = append(got, string(b))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-recorded +served)\n%s", d)
	}
}
