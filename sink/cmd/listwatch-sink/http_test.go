package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink/cloudevents"
)

func TestProgramPostsCloudEvents(t *testing.T) {
	var mu sync.Mutex
	var got []string
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var events []cloudevents.Event
		if err := json.NewDecoder(r.Body).Decode(&events); err != nil {
			t.Error(err)
		}
		for _, e := range events {
			got = append(got, e.Type+" "+e.Subject)
		}
	}))
	t.Cleanup(srv.Close)
	s := newStage(t)
	s.put(kube.Pods, "web-0", webPod)
	s.args = append(s.args[:2:2], "--to", srv.URL+"/events", "--companion", "sqlite:"+s.db)
	errs, stop := s.start("pods")
	errs.wait(t, "phase=LIVE", 1)
	if code := stop(); code != exitOK {
		t.Errorf("exit code %d after a signal\n%s", code, errs)
	}
	if diff := cmp.Diff([]string{"io.listwatch.added pods/shop/web-0"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if code, out, errs := s.run("verify"); code != exitOK {
		t.Errorf("verify: exit code %d\n%s%s", code, out, errs)
	}
	for _, companion := range []string{"nats://127.0.0.1", "postgres://u:hunter2@127.0.0.1/db"} {
		s.args[len(s.args)-1] = companion
		if code, _, errs := s.run("pods"); code != exitUsage {
			t.Errorf("%s: exit code %d\n%s", companion, code, errs)
		}
	}
}

// TestHistoryOfACompanionIsPruned at the start, as that of the other sinks.
func TestHistoryOfACompanionIsPruned(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(srv.Close)
	s := newStage(t)
	s.put(kube.Pods, "web-0", webPod)
	s.args = append(s.args[:2:2], "--to", srv.URL, "--companion", "sqlite:"+s.db)
	errs, stop := s.start("pods")
	errs.wait(t, "phase=LIVE", 1)
	stop()
	s.plant(`UPDATE history SET time = '2020-01-01T00:00:00.000000Z'`)
	s.start("pods")
	s.until(`SELECT count(*) FROM history`, "0")
}
