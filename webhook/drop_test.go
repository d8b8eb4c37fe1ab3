package webhook

import (
	"slices"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/kube"
)

// webhooks returns the names of the webhooks in both configurations.
func (s *stage) webhooks() (names []string) {
	for _, r := range []kube.Resource{mutatingConfigurations, validatingConfigurations} {
		o, _ := apitest.Object[struct {
			Webhooks []struct{ Name, SideEffects string }
		}](s.srv, r, kube.Key{Name: "hooks"})
		for _, w := range o.Webhooks {
			names = append(names, w.Name)
			if w.SideEffects == "" {
				s.t.Errorf("a part of %s is left", w.Name)
			}
		}
	}
	return names
}

// TestDroppedWebhooksAreRemoved: a program has fewer webhooks than the one before, whose
// replicas may run a little longer and write theirs again. The CA may have an owner of its
// own, which it has since the first rotation.
func TestDroppedWebhooksAreRemoved(t *testing.T) {
	for name, o := range map[string]Options{"service": {}, "url": {URL: "https://" + host + ":9443"}} {
		for _, age := range []time.Duration{time.Minute, 130 * time.Minute} {
			t.Run(name+" "+age.String(), func(t *testing.T) {
				o.Install, o.Lifetime = true, 3*time.Hour
				play(t, o, func(s *stage) {
					s.start(0)
					s.pass(age)
					foreign := map[string]any{"name": "foreign.example.com", "clientConfig": map[string]any{"url": "https://other"}, "sideEffects": "None", "admissionReviewVersions": []string{"v1"}}
					_, err := client.Of[kube.Partial](s.client, validatingConfigurations).With(client.WriteOptions{FieldManager: "other"}).
						Apply(s.t.Context(), kube.Key{Name: "hooks"}, map[string]any{"webhooks": []any{foreign}}, client.ApplyOptions{})
					if err != nil {
						t.Fatal(err)
					}
					s.startWith(0, func(server *Server) { Validate(server, widgets, Rule{}, accept) })
					s.pass(3 * time.Minute)
					s.kill(0)
					s.pass(2 * time.Minute)
					if got, want := s.webhooks(), []string{"validate.widgets.example.com", "foreign.example.com"}; !slices.Equal(got, want) {
						t.Errorf("got %q, want %q", got, want)
					}
				})
			})
		}
	}
}

// TestAddedWebhooksAreKept: those of a newer program, by the older one, which runs a little
// longer.
func TestAddedWebhooksAreKept(t *testing.T) {
	play(t, Options{Install: true}, func(s *stage) {
		s.startWith(0, func(server *Server) { Validate(server, widgets, Rule{}, accept) })
		s.pass(time.Minute)
		s.start(0)
		for range 300 {
			s.pass(time.Second)
			if n := len(s.webhooks()); n != 3 {
				t.Fatalf("%d webhooks, want 3", n)
			}
		}
	})
}
