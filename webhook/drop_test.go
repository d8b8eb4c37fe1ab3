package webhook

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
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

// TestMovedWebhooksAreRemoved: a program with fewer webhooks is reached elsewhere. The
// API server refuses what an apply would leave of the dropped ones.
func TestMovedWebhooksAreRemoved(t *testing.T) {
	for name, move := range map[string]func(*Options){
		"service": func(o *Options) { o.Service = kube.Key{Namespace: "shop", Name: "others"} },
		"url":     func(o *Options) { o.URL = "https://other:9443" },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{Install: true, Lifetime: 3 * time.Hour}, func(s *stage) {
				s.start(0)
				s.pass(130 * time.Minute)
				s.kill(0)
				move(&s.options)
				s.startWith(0, func(server *Server) { Validate(server, widgets, Rule{}, accept) })
				s.pass(2 * time.Minute)
				if got, want := s.webhooks(), []string{"validate.widgets.example.com"}; !slices.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		})
	}
}

// TestAllWebhooksAreRemoved: of a program that has none any more.
func TestAllWebhooksAreRemoved(t *testing.T) {
	play(t, Options{Install: true}, func(s *stage) {
		s.start(0)
		s.pass(time.Minute)
		s.kill(0)
		s.startWith(0, func(*Server) {})
		s.pass(2 * time.Minute)
		if got := s.webhooks(); len(got) > 0 {
			t.Errorf("%q are left", got)
		}
		if strings.Contains(s.log.String(), "API servers do not call") {
			t.Error("a webhook that nobody has is missed")
		}
	})
}

// TestDroppedWebhooksWithFiles: the program does not make the certificates.
func TestDroppedWebhooksWithFiles(t *testing.T) {
	dir := t.TempDir()
	o := Options{Install: true, CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key")}
	play(t, o, func(s *stage) {
		p := mustIssue(t, time.Now(), time.Hour, host)
		for file, b := range map[string][]byte{o.CertFile: p.certPEM, o.KeyFile: p.keyPEM} {
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s.start(0)
		s.pass(time.Minute)
		s.kill(0)
		s.startWith(0, func(server *Server) { Validate(server, kube.ConfigMaps, Rule{}, accept) })
		s.pass(2 * time.Minute)
		if got, want := s.webhooks(), []string{"validate.configmaps.core"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestRemovalsThatAreRefused: the log says it once, and the rest is installed.
func TestRemovalsThatAreRefused(t *testing.T) {
	play(t, Options{Install: true}, func(s *stage) {
		s.start(0)
		s.pass(time.Minute)
		s.kill(0)
		s.srv.On(apitest.Match{Verb: "patch", Resource: mutatingConfigurations.GroupResource()}, faults.Answer(apitest.StatusForbidden("hooks", "patch", mutatingConfigurations, "")))
		before := len(s.log.String())
		r := s.startWith(0, func(server *Server) { Validate(server, kube.ConfigMaps, Rule{}, accept) })
		s.pass(4 * time.Minute)
		if err := r.Ready(); err != nil {
			t.Error(err)
		}
		if got, want := s.webhooks(), []string{"mutate.widgets.example.com", "validate.configmaps.core"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if n := strings.Count(s.log.String()[before:], "err=\"patch mutatingwebhookconfigurations"); n != 1 || strings.Contains(s.log.String()[before:], "MutatingWebhookConfiguration") {
			t.Errorf("%d lines about it:\n%s", n, s.log.String()[before:])
		}
	})
}
