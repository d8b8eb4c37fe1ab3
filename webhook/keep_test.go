package webhook

import (
	"flag"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/apitest/faults"
	"github.com/listwatch/listwatch/kube"
)

// TestReplicasShareOneCertificate: they are ready within seconds, and no two make a pair.
func TestReplicasShareOneCertificate(t *testing.T) {
	play(t, Options{Install: true}, func(s *stage) {
		for range 3 {
			s.start(0)
		}
		s.ready(10 * time.Second)
		for _, r := range s.replicas {
			if !r.current().same(s.replicas[0].current()) {
				t.Error("two certificates are served")
			}
		}
		if b := parseBundle(s.secret()[caCerts]); len(b) != 1 {
			t.Errorf("%d CAs", len(b))
		}
		s.pass(time.Hour)
		s.check(time.Minute)
		s.srv.ForgetRequests()
		s.pass(time.Hour)
		for _, r := range s.srv.Requests() {
			if r.Method != http.MethodGet {
				t.Errorf("%s %s when there is nothing to do", r.Method, r.Path)
			}
		}
	})
}

// TestRotationWaitsUntilTheNewCAIsKnown: the new pair is in the Secret at two thirds of
// the time, in the configurations at once, and served after Settle.
func TestRotationWaitsUntilTheNewCAIsKnown(t *testing.T) {
	play(t, Options{Install: true, Lifetime: 3 * time.Hour}, func(s *stage) {
		s.start(0)
		s.start(0)
		s.ready(10 * time.Second)
		first := s.replicas[0].current()
		s.pass(115 * time.Minute)
		if len(parseBundle(s.secret()[caCerts])) != 1 {
			t.Fatal("there is a new pair too early")
		}
		s.pass(7 * time.Minute)
		if len(parseBundle(s.secret()[caCerts])) != 2 {
			t.Fatal("there is no new pair")
		}
		for _, r := range s.replicas {
			if !r.current().same(first) || !r.Stats().Pending {
				t.Error("the new pair is served before the CA has settled")
			}
		}
		young := s.start(0) // amid the rotation
		s.ready(10 * time.Second)
		if !young.current().same(first) {
			t.Error("a new replica serves the new pair before the CA has settled")
		}
		s.check(299 * time.Second)
		s.pass(10 * time.Minute)
		for _, r := range s.replicas {
			if r.current().same(first) || r.Stats().Pending {
				t.Error("the new pair is not served")
			}
		}
		late := s.start(0)
		s.ready(10 * time.Second)
		if !late.current().same(s.replicas[0].current()) {
			t.Error("a replica that starts after the rotation serves by the previous pair")
		}
		s.check(299 * time.Second)
	})
}

// TestRotationThatWasDueWhileNobodyRan: the next replica makes the new pair, and serves
// by the previous one until the new CA has settled.
func TestRotationThatWasDueWhileNobodyRan(t *testing.T) {
	play(t, Options{Install: true, Lifetime: 3 * time.Hour}, func(s *stage) {
		s.start(0)
		s.ready(10 * time.Second)
		first := s.replicas[0].current()
		s.pass(10 * time.Minute)
		s.kill(0)
		s.pass(2 * time.Hour)
		r := s.start(0)
		s.ready(10 * time.Second)
		if !r.current().same(first) || !r.Stats().Pending || len(parseBundle(s.secret()[caCerts])) != 2 {
			t.Error("the previous pair is not served, or there is no new one")
		}
		s.pass(10 * time.Minute)
		if r.current().same(first) {
			t.Error("the new pair is not served")
		}
		s.check(299 * time.Second)
	})
}

// TestNewPairIsStoredWithThePreviousOne, in one write: the replica that makes it may end
// before another one could add what it serves.
func TestNewPairIsStoredWithThePreviousOne(t *testing.T) {
	now := time.Now()
	first := mustIssue(t, now.Add(-2*time.Hour-time.Minute), 3*time.Hour, "x")
	s := &Server{options: Options{Lifetime: 3 * time.Hour, URL: "https://x"}}
	v := &vault{newest: first, settled: mark(first.ca), trusted: bundle{mark(first.ca): first.ca}}
	next, why, err := s.revise(v, nil, bundle{}, now)
	if err != nil || !next.old.same(first) || next.newest.same(first) || next.settled != "" || len(next.trusted) != 2 {
		t.Errorf("%q, %v: %d CAs", why, err, len(next.trusted))
	}
}

// TestLostSecretIsStoredAgain: by a replica that serves, while another one starts.
func TestLostSecretIsStoredAgain(t *testing.T) {
	for name, lose := range map[string]func(*apitest.Server){
		"deleted": func(srv *apitest.Server) { srv.Delete(kube.Secrets, secretKey) },
		"emptied": func(srv *apitest.Server) {
			srv.Put(kube.Secrets, `{"metadata":{"namespace":"shop","name":"hooks"}}`)
		},
		"damaged": func(srv *apitest.Server) {
			srv.Put(kube.Secrets, `{"metadata":{"namespace":"shop","name":"hooks"},"data":{"tls.crt":"eA==","tls.key":"eA==","other":"eA=="}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{Install: true}, func(s *stage) {
				s.start(0)
				s.ready(10 * time.Second)
				s.pass(time.Hour)
				lose(s.srv)
				s.start(0)
				for range 20 {
					s.pass(30 * time.Second)
					s.check(299 * time.Second)
				}
				s.ready(time.Second)
				if s.secret()[newCert] == nil {
					t.Error("the Secret is still lost")
				}
				if name == "damaged" && string(s.secret()["other"]) != "x" {
					t.Error("other data is lost")
				}
			})
		})
	}
}

// TestLostSecretWithoutAReplica: the next replica is not ready before API servers know
// its CA: they trust the lost one, and other replicas may serve by it.
func TestLostSecretWithoutAReplica(t *testing.T) {
	play(t, Options{Install: true}, func(s *stage) {
		s.start(0)
		s.ready(10 * time.Second)
		s.kill(0)
		s.srv.Delete(kube.Secrets, secretKey)
		r := s.start(0)
		for range 9 {
			s.pass(30 * time.Second)
			if err := r.Ready(); err == nil || !strings.Contains(err.Error(), "may not trust") {
				t.Errorf("ready: %v", err)
			}
		}
		s.ready(2 * time.Minute)
		s.check(299 * time.Second)
	})
}

// TestLostSecretAndConfigurations: without a CA that other replicas may serve by, nothing is
// waited for.
func TestLostSecretAndConfigurations(t *testing.T) {
	play(t, Options{Install: true}, func(s *stage) {
		s.start(0)
		s.ready(10 * time.Second)
		s.kill(0)
		s.srv.Delete(kube.Secrets, secretKey)
		for _, r := range []kube.Resource{mutatingConfigurations, validatingConfigurations} {
			s.srv.Delete(r, kube.Key{Name: secretKey.Name})
		}
		s.start(0)
		s.ready(10 * time.Second)
	})
}

// TestConfigurationsOfOthersAreKept: without Install only the CA is written, into those
// that exist, and what others trust stays.
func TestConfigurationsOfOthersAreKept(t *testing.T) {
	play(t, Options{}, func(s *stage) {
		other := mustIssue(t, time.Now(), 24*time.Hour, "x")
		r := s.start(0)
		s.ready(10 * time.Second)
		if !strings.Contains(s.log.String(), "API servers do not call some webhooks") {
			t.Error("a missing configuration is not reported")
		}
		s.srv.Put(validatingConfigurations, map[string]any{"metadata": map[string]any{"name": "hooks"}, "webhooks": []any{
			map[string]any{"name": "validate.widgets.example.com", "sideEffects": "None", "admissionReviewVersions": []string{"v1"}, "timeoutSeconds": 7,
				"clientConfig": map[string]any{"url": "https://127.0.0.1:1/x", "caBundle": encode("CERTIFICATE", other.ca.Raw)}},
			map[string]any{"name": "other.example.com", "sideEffects": "None", "admissionReviewVersions": []string{"v1"}, "clientConfig": map[string]any{"url": "https://127.0.0.1:1/y"}},
		}})
		s.pass(2 * time.Minute)
		stored, _ := apitest.Object[struct {
			Webhooks []struct {
				Name           string
				TimeoutSeconds int
				ClientConfig   clientConfig
			}
		}](s.srv, validatingConfigurations, kube.Key{Name: "hooks"})
		ours, theirs := stored.Webhooks[0], stored.Webhooks[1]
		if b := parseBundle(ours.ClientConfig.CABundle); len(b) != 2 || !b.holds(other) || !b.holds(r.current()) || ours.TimeoutSeconds != 7 {
			t.Errorf("ours: %d CAs, %+v", len(b), ours)
		}
		if len(theirs.ClientConfig.CABundle) != 0 {
			t.Error("the webhook of somebody else has our CA")
		}
	})
}

// TestBundleOfManyCAs: a configuration that was made with the CAs of a whole system, which
// end long after ours, comes to trust the certificate, and nobody writes any more then.
func TestBundleOfManyCAs(t *testing.T) {
	play(t, Options{}, func(s *stage) {
		var system []byte
		for range 2 * maxBundle {
			system = append(system, encode("CERTIFICATE", mustIssue(t, time.Now(), 10*365*24*time.Hour, "x").ca.Raw)...)
		}
		s.srv.Put(validatingConfigurations, map[string]any{"metadata": map[string]any{"name": "hooks"}, "webhooks": []any{
			map[string]any{"name": "validate.widgets.example.com", "sideEffects": "None", "admissionReviewVersions": []string{"v1"},
				"clientConfig": map[string]any{"url": "https://127.0.0.1:1/x", "caBundle": system}},
		}})
		s.start(0)
		s.start(0)
		s.ready(10 * time.Minute)
		s.check(0)
		before := s.srv.Revision()
		s.pass(time.Hour)
		if after := s.srv.Revision(); after != before {
			t.Errorf("the revision went from %v to %v in an hour without a change", before, after)
		}
	})
}

// TestInstallTakesRulesBack: a new version of the program removes what it has no more.
func TestInstallTakesRulesBack(t *testing.T) {
	play(t, Options{Install: true}, func(s *stage) {
		s.start(0)
		s.ready(10 * time.Second)
		s.kill(0)
		s.srv.Edit(validatingConfigurations, kube.Key{Name: "hooks"}, func(old []byte) any {
			return strings.Replace(string(old), `"timeoutSeconds":10`, `"timeoutSeconds":3`, 1)
		})
		s.start(0)
		s.ready(10 * time.Second)
		s.pass(5 * time.Second)
		if b := string(s.srv.Get(validatingConfigurations, kube.Key{Name: "hooks"})); strings.Contains(b, `"timeoutSeconds":3`) || strings.Count(b, `"timeoutSeconds":10`) != 2 {
			t.Error(b)
		}
		s.check(0)
	})
}

// TestForbiddenIsNotReady: with the server's reason, and until it is permitted.
func TestForbiddenIsNotReady(t *testing.T) {
	play(t, Options{Install: true}, func(s *stage) {
		remove := s.srv.Deny("", apitest.Match{Resource: "secrets"})
		r := s.start(0)
		s.pass(time.Minute)
		if err := r.Ready(); err == nil || !strings.Contains(err.Error(), "secrets") {
			t.Errorf("ready: %v", err)
		}
		remove()
		s.ready(2 * time.Minute)
	})
}

// TestTwoServicesDoNotRotateInTurns: replicas of two versions of a program, with other
// names, run at the same time.
func TestTwoServicesDoNotRotateInTurns(t *testing.T) {
	play(t, Options{Install: true}, func(s *stage) {
		s.start(0)
		s.ready(10 * time.Second)
		s.options.Service = kube.Key{Namespace: "shop", Name: "new"}
		r := s.start(0)
		s.pass(30 * time.Minute)
		if b := parseBundle(s.secret()[caCerts]); len(b) != 2 {
			t.Errorf("%d CAs", len(b))
		}
		if p := r.current(); !p.serves([]string{host, "new.shop.svc"}) {
			t.Error("the certificate is not for both names")
		}
	})
}

// TestClockAhead: a certificate of a replica whose clock is ahead is not valid yet. The others
// neither serve it nor, if they have one, make another one.
func TestClockAhead(t *testing.T) {
	const day = 24 * time.Hour
	for _, tt := range []struct {
		ahead time.Duration
		first bool // that replica is the first one
	}{{20 * day, true}, {85 * day, false}} {
		t.Run(tt.ahead.String(), func(t *testing.T) {
			play(t, Options{Install: true}, func(s *stage) {
				var good []*replica
				if tt.first {
					s.start(tt.ahead)
					s.pass(10 * time.Minute)
				}
				good = append(good, s.start(0), s.start(0))
				s.ready(10 * time.Minute)
				if !tt.first {
					s.start(tt.ahead)
				}
				served := good[0].current()
				for range 3 * 60 {
					s.pass(20 * time.Second)
					for _, r := range good {
						p := r.current()
						if err := r.Ready(); err != nil || !p.same(served) {
							t.Fatalf("another certificate, or none: %v", err)
						}
						for name, states := range s.states {
							if err := trusts(states[len(states)-1].bundle, p, host, time.Now()); err != nil {
								t.Fatalf("%s refuses a replica that is ready: %v", name, err)
							}
						}
					}
				}
			})
		})
	}
}

// TestTrustHoldsWhateverHappens: replicas die and start, their clocks are wrong, writes
// and responses are lost, requests are late, the Secret is deleted, damaged, or restored
// from a backup. At no moment does an API server that learns of configurations five
// minutes late refuse the certificate of a replica that is ready, and there is a ready
// replica some minutes after the last misfortune.
func TestTrustHoldsWhateverHappens(t *testing.T) {
	seeds, hours := []uint64{3, 6, 9}, 24*time.Hour // each seed found a defect
	if !*long {
		seeds, hours = seeds[:1], 10*time.Hour
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			play(t, Options{Install: true, Lifetime: 6 * time.Hour}, func(s *stage) { chaos(s, seed, hours) })
		})
	}
}

var long = flag.Bool("long", false, "TestTrustHoldsWhateverHappens takes three days, of virtual time")

func chaos(s *stage, seed uint64, long time.Duration) {
	const lag = 299 * time.Second
	d := dice(seed)
	start := func() { s.start(time.Duration(d.Int64N(int64(time.Hour))) - 30*time.Minute) }
	start()
	start()
	s.ready(10 * time.Second)
	var backup []byte
	served := map[string]bool{}
	for end := time.Now().Add(long); time.Now().Before(end); {
		switch n := d.IntN(24); {
		case n < 3:
			start()
		case n < 6 && len(s.replicas) > 0:
			s.kill(d.IntN(len(s.replicas)))
		case n < 8:
			s.srv.Delete(kube.Secrets, secretKey)
		case n == 8:
			backup = s.srv.Get(kube.Secrets, secretKey)
		case n == 9 && backup != nil:
			s.srv.Put(kube.Secrets, backup)
		case n == 10:
			s.srv.Put(kube.Secrets, `{"metadata":{"namespace":"shop","name":"hooks"},"data":{"tls.crt":"eA==","tls.key":"eA=="}}`)
		case n < 18:
			verb := []string{"get", "create", "update", "patch"}[d.IntN(4)]
			fault := []http.HandlerFunc{faults.Reset(), faults.Truncate(10), faults.Delay(5 * time.Second), faults.Hang(), faults.Throttle("1"), faults.HTML(500)}[d.IntN(6)]
			s.srv.On(apitest.Match{Verb: verb}, fault).Times(1 + d.IntN(6))
		}
		for len(s.replicas) > 4 {
			s.kill(0)
		}
		pause := time.Duration(d.Int64N(int64(2 * time.Minute)))
		if d.IntN(6) == 0 {
			pause *= 20
		}
		for ; pause > 0; pause -= 20 * time.Second {
			s.pass(min(pause, 20*time.Second))
			s.check(lag)
			for _, r := range s.replicas {
				if p := r.current(); p != nil && r.Ready() == nil {
					served[mark(p.ca)] = true
				}
			}
		}
	}
	if len(s.replicas) == 0 {
		start()
	}
	for range 30 {
		s.pass(20 * time.Second)
		s.check(lag)
	}
	s.ready(2 * time.Minute)
	if len(served) < 3 {
		s.t.Errorf("only %d certificates were served: the test tests little", len(served))
	}
}
