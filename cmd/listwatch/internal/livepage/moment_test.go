package livepage

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui"
)

// TestMomentRefusesWhatIsNotKnown: a server of a moment does not say that there was nothing of a
// type that nobody watched.
func TestMomentRefusesWhatIsNotKnown(t *testing.T) {
	m, err := openMoment(t.Context())(t.Context(), time.Now(), []ui.Object{
		{Resource: kube.Pods},
		{Resource: kube.Pods, JSON: []byte(`{"metadata":{"namespace":"shop","name":"web","resourceVersion":"7"}}`)},
		{Resource: kube.Pods, JSON: []byte(`{"kind":"Node","metadata":{"namespace":"shop","name":"other","resourceVersion":"7"}}`)},
		{Resource: kube.Secrets},
		{Resource: kube.Secrets, JSON: []byte(`{"metadata":{"namespace":"shop","name":"key","resourceVersion":"8"},"type":"Opaque","data":{"a":"[redacted #67dd]"}}`)},
		{Resource: kube.Services}, // it is known that there were none
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.LeftOut) != 1 || !strings.HasPrefix(m.LeftOut[0], "pod/other in shop is left out: ") {
		t.Errorf("left out: %q", m.LeftOut)
	}
	for r, want := range map[kube.Resource]int{kube.Pods: 1, kube.Secrets: 1, kube.Services: 0, kube.Leases: -1, kube.Namespaces: -1} {
		resp, err := http.Get(m.Server + r.Path(""))
		if err != nil {
			t.Fatal(err)
		}
		var list struct {
			Items []struct{ Data map[string][]byte }
		}
		err = json.NewDecoder(resp.Body).Decode(&list)
		resp.Body.Close()
		got := len(list.Items)
		if r == kube.Secrets && (got != 1 || string(list.Items[0].Data["a"]) != "[redacted #67dd]") {
			t.Errorf("Secrets: %+v, %v", list.Items, err)
		}
		if resp.StatusCode == http.StatusServiceUnavailable {
			got = -1
		}
		if err != nil || got != want || slices.Contains(m.Unknown, r.GroupResource()) != (want < 0) {
			t.Errorf("%s: %d objects (%v), want %d (-1 = refused); unknown types: %q", r, got, err, want, m.Unknown)
		}
	}
}
