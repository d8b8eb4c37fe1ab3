package webhook

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
)

// patches matches the writes of a CA into the validating webhooks.
var patches = apitest.Match{Verb: "patch", Resource: "validatingwebhookconfigurations"}

// putWidgets stores a configuration that somebody else has applied, with a bundle.
func (s *stage) putWidgets(ca []byte) {
	s.srv.Put(validatingConfigurations, map[string]any{"metadata": map[string]any{"name": "hooks"}, "webhooks": []any{
		map[string]any{"name": "validate.widgets.example.com", "sideEffects": "None", "admissionReviewVersions": []string{"v1"},
			"clientConfig": map[string]any{"url": "https://127.0.0.1:1/x", "caBundle": ca}},
	}})
}

// TestNotReadyBeforeAConfigurationHasTheCA: the server refuses to write it.
func TestNotReadyBeforeAConfigurationHasTheCA(t *testing.T) {
	play(t, Options{}, func(s *stage) {
		s.putWidgets(nil)
		refusal := s.srv.On(patches, faults.HTML(http.StatusForbidden))
		r := s.start(0)
		s.pass(20 * time.Minute)
		if err := r.Ready(); err == nil || !strings.Contains(err.Error(), "does not have its CA") {
			t.Errorf("ready: %v", err)
		}
		refusal.Remove()
		s.ready(2 * time.Minute)
	})
}

// TestRotationWaitsForEachConfiguration: the new CA can be written into one of two.
func TestRotationWaitsForEachConfiguration(t *testing.T) {
	play(t, Options{Install: true, Lifetime: 3 * time.Hour}, func(s *stage) {
		r := s.start(0)
		s.ready(10 * time.Second)
		first := r.current()
		s.pass(time.Hour)
		refusal := s.srv.On(patches, faults.HTML(http.StatusForbidden))
		s.pass(85 * time.Minute)
		if len(parseBundle(s.secret()[caCerts])) != 2 {
			t.Fatal("there is no new pair")
		}
		if !r.current().same(first) {
			t.Error("the new pair is served before each configuration has its CA")
		}
		s.check(299 * time.Second)
		refusal.Remove()
		s.pass(10 * time.Minute)
		if r.current().same(first) {
			t.Error("the new pair is not served")
		}
		s.check(299 * time.Second)
	})
}

// TestConfigurationIsNotSetBack: another replica adds a CA after this one has read the
// configuration.
func TestConfigurationIsNotSetBack(t *testing.T) {
	play(t, Options{}, func(s *stage) {
		other := mustIssue(t, time.Now(), 24*time.Hour, host)
		s.putWidgets(nil)
		var once sync.Once
		s.srv.On(patches, func(w http.ResponseWriter, r *http.Request) {
			once.Do(func() { s.putWidgets(encode("CERTIFICATE", other.ca.Raw)) })
			apitest.Continue(w, r)
		})
		r := s.start(0)
		s.pass(10 * time.Minute)
		stored, _ := apitest.Object[struct {
			Webhooks []struct{ ClientConfig clientConfig }
		}](s.srv, validatingConfigurations, kube.Key{Name: "hooks"})
		if b := parseBundle(stored.Webhooks[0].ClientConfig.CABundle); !b.holds(other) || !b.holds(r.current()) {
			t.Errorf("the bundle has %d CAs, want that of the other replica and ours", len(b))
		}
	})
}
