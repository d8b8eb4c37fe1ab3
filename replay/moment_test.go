package replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/replay"
	"github.com/listwatch/listwatch/watch"
)

// moment returns what a recording knows of a time.
func moment(t *testing.T, recording []byte, at time.Duration) *replay.Moment {
	t.Helper()
	r, err := replay.NewReader(bytes.NewReader(recording))
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.At(at, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMomentIsTheStateOfTheServer compares a random history with its recording: at each
// time the objects are those that the server had then, or those before a gap that is named.
func TestMomentIsTheStateOfTheServer(t *testing.T) {
	for seed := range uint64(2) {
		synctest.Test(t, func(t *testing.T) {
			rnd, began := rand.New(rand.NewPCG(seed, 3)), time.Now()
			states := map[time.Duration]string{} // of the server
			var seen []time.Duration
			sample := func(srv *apitest.Server) time.Duration {
				objects, _ := srv.List(kube.ConfigMaps)
				states[time.Since(began)] = fmt.Sprintf("%s", objects)
				return time.Since(began)
			}
			_, b := record(t, replay.Options{}, watch.Options{}, func(srv *apitest.Server) {
				for act := range 60 {
					sample(srv)
					name := fmt.Sprint("a", rnd.IntN(6))
					switch n := rnd.IntN(40); {
					case n == 0:
						srv.CutWatches()
					case n == 1:
						srv.Expire()
						srv.CutWatches()
					case n == 2 || act == 30:
						if err := srv.SetDoor(apitest.Refusing); err != nil {
							t.Error(err)
						}
						srv.Cut()
						pass(3*time.Second - time.Millisecond)
						seen = append(seen, sample(srv))
						if err := srv.SetDoor(apitest.Open); err != nil {
							t.Error(err)
						}
					case n < 14:
						srv.Delete(kube.ConfigMaps, kube.Key{Namespace: "d", Name: name})
					default:
						srv.Put(kube.ConfigMaps, configMap(name, fmt.Sprint(rnd.IntN(1000))))
					}
					pass(time.Second - time.Millisecond)
					seen = append(seen, sample(srv))
					pass(time.Millisecond) // a change at the same time would count
				}
			})
			gaps := 0
			for _, at := range seen {
				m := moment(t, b, at)
				if len(m.Streams) != 1 || !m.Streams[0].Synced {
					t.Fatalf("seed %d, at %v: %d streams", seed, at, len(m.Streams))
				}
				stream, then := m.Streams[0], at
				if stream.Gap != "" {
					then = stream.Until
					gaps++
				}
				got := [][]byte{}
				for _, o := range stream.Objects {
					got = append(got, o.JSON)
				}
				if diff := cmp.Diff(states[then], fmt.Sprintf("%s", got)); diff != "" && states[then] != "" {
					t.Fatalf("seed %d, at %v, the gap %q since %v (-server +recording):\n%s", seed, at, stream.Gap, stream.Until, diff)
				}
			}
			if len(seen)-gaps < 10 || gaps == 0 {
				t.Errorf("seed %d: %d of %d states are in gaps", seed, gaps, len(seen))
			}
		})
	}
}

// TestMomentNamesWhatIsNotKnown: before the first list, in an interruption, behind the end.
func TestMomentNamesWhatIsNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b := record(t, replay.Options{}, watch.Options{}, func(srv *apitest.Server) {
			pass(10 * time.Second)
			srv.SetDoor(apitest.Refusing)
			srv.Cut()
			srv.Delete(kube.ConfigMaps, kube.Key{Namespace: "d", Name: "a0"})
			srv.Expire()
			pass(10 * time.Second)
			srv.SetDoor(apitest.Open)
			pass(time.Minute)
		})
		for _, tt := range []struct {
			at      time.Duration
			objects int
			gap     string
			until   time.Duration
		}{
			{5 * time.Second, 3, "", 0},
			{15 * time.Second, 3, "connection", 11 * time.Second},
			{70 * time.Second, 2, "", 0},
			{time.Hour, 2, "ended", 81 * time.Second},
		} {
			s := moment(t, b, tt.at).Streams[0]
			if len(s.Objects) != tt.objects || (tt.gap == "") != (s.Gap == "") || !strings.Contains(s.Gap, tt.gap) || s.Gap != "" && s.Until.Truncate(time.Second) != tt.until {
				t.Errorf("at %v: %d objects, gap %q since %v, want %d, %q, %v", tt.at, len(s.Objects), s.Gap, s.Until, tt.objects, tt.gap, tt.until)
			}
		}
		if m := moment(t, []byte(strings.Replace(small, `,"labels":7`, "", 1)), 3*time.Second); len(m.Streams) != 1 || m.Streams[0].Synced {
			t.Errorf("in the first list: %+v", m)
		}
		r, err := replay.NewReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.At(time.Hour, 100); !errors.Is(err, codec.ErrTooLarge) {
			t.Errorf("with a limit of 100 bytes: %v", err)
		}
	})
}

// TestRestoredServerGivesARevisionTwice: a server that is restored from a backup assigns
// the revision of a lost change to another one of the same object.
func TestRestoredServerGivesARevisionTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, b := record(t, replay.Options{}, watch.Options{}, func(srv *apitest.Server) {
			lost := srv.Put(kube.ConfigMaps, configMap("a1", "lost"))
			pass(time.Second)
			srv.Rewind(1)
			if rev := srv.Put(kube.ConfigMaps, configMap("a1", "kept")); rev != lost {
				t.Fatalf("revision %s, want %s again", rev, lost)
			}
			srv.Expire()
			pass(time.Minute)
		})
		if o := moment(t, b, time.Minute).Streams[0].Objects; len(o) != 3 || !bytes.Contains(o[1].JSON, []byte("kept")) {
			t.Errorf("the moment has %s", o)
		}
		srv := apitest.NewInMemory(t)
		s, err := replay.NewState(t.Context(), load(t, b), srv)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Play(t.Context(), replay.Pace{Fast: true}); err != nil {
			t.Fatal(err)
		}
		if o := srv.Get(kube.ConfigMaps, kube.Key{Namespace: "d", Name: "a1"}); !bytes.Contains(o, []byte("kept")) {
			t.Errorf("the server has %s", o)
		}
	})
}
