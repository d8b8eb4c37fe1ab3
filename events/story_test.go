package events_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/events"
	"github.com/listwatch/listwatch/kube"
)

// A story is a recorder and the server it writes to, in virtual time.
type story struct {
	t      *testing.T
	srv    *apitest.Server
	client *client.Client
	r      *events.Recorder
	log    bytes.Buffer // written by the recorder; to be read when all is quiet
	stop   context.CancelCauseFunc
	done   chan struct{}
	err    error // of Run, after done
}

var errStop = errors.New("the story is over")

// play runs a test of a recorder that runs.
func play(t *testing.T, o events.Options, act func(*story)) {
	t.Helper()
	prepare(t, apitest.Options{}, o, func(s *story) {
		s.start()
		act(s)
	})
}

// prepare runs a test of a recorder that does not run before it is started.
func prepare(t *testing.T, ao apitest.Options, o events.Options, act func(*story)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ao.InMemory = true
		s := &story{t: t, srv: apitest.NewWith(t, ao)}
		c, err := client.New(client.Config{Server: s.srv.URL, Dial: s.srv.Dial})
		if err != nil {
			t.Fatal(err)
		}
		s.client = c
		t.Cleanup(c.CloseIdleConnections)
		o.Component = "test"
		o.Logger = slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: withoutTime}))
		s.r = events.New(c, o)
		act(s)
		if s.stop != nil {
			s.end()
		}
		s.conserved()
	})
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

func (s *story) start() {
	ctx, cancel := context.WithCancelCause(s.t.Context())
	s.stop, s.done = cancel, make(chan struct{})
	go func() {
		defer close(s.done)
		s.err = s.r.Run(ctx)
	}()
	synctest.Wait()
}

// end stops the recorder and returns how long that took.
func (s *story) end() time.Duration {
	begin := time.Now()
	s.stop(errStop)
	<-s.done
	if !errors.Is(s.err, errStop) {
		s.t.Errorf("Run returned %v, want the cause of its context", s.err)
	}
	return time.Since(begin)
}

// conserved checks that each call of Eventf was counted once.
func (s *story) conserved() {
	s.t.Helper()
	if n := s.r.Stats(); n.Recorded != n.Written+n.Waiting+n.Filtered+n.Dropped() || n.Waiting < 0 {
		s.t.Errorf("counts do not add up: %+v", n)
	}
}

// pass lets virtual time pass until all that can happen has happened.
func (s *story) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

var pod = kube.Partial{Meta: kube.Meta{Namespace: "shop", Name: "web-0", UID: "u-0", ResourceVersion: "7"}}

// emit records an Event about the pod.
func (s *story) emit(reason, message string) {
	s.r.Eventf(events.About(kube.Pods, pod), events.Normal, reason, "%s", message)
}

// recorded is what an Event on the server says.
type recorded struct {
	Message string
	Count   int
}

type stored struct {
	Metadata struct{ Name, Namespace string }
	Reason   string
	Type     string

	Message        string
	Count          int
	InvolvedObject events.Reference
	FirstTimestamp time.Time
	LastTimestamp  time.Time
}

// stored returns the Events of the server in the order of their first time.
func (s *story) stored() []stored {
	s.t.Helper()
	var all []stored
	list, _ := s.srv.List(kube.Events)
	for _, b := range list {
		var e stored
		if err := json.Unmarshal(b, &e); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b stored) int { return a.FirstTimestamp.Compare(b.FirstTimestamp) })
	return all
}

// has checks what the Events of the server say, in whatever order.
func (s *story) has(want ...recorded) {
	s.t.Helper()
	synctest.Wait()
	var got []recorded
	for _, e := range s.stored() {
		got = append(got, recorded{e.Message, e.Count})
	}
	order := func(a, b recorded) int { return strings.Compare(a.Message, b.Message) }
	want = slices.Clone(want)
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("Events (-want +got):\n%s", diff)
	}
}

// asked checks the requests since it was last asked: "create 201".
func (s *story) asked(want ...string) {
	s.t.Helper()
	synctest.Wait()
	var got []string
	for _, r := range s.srv.Requests() {
		got = append(got, fmt.Sprintf("%s %d", r.Verb, r.Code))
	}
	s.srv.ForgetRequests()
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// counts checks the counts.
func (s *story) counts(want events.Stats) {
	s.t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(want, s.r.Stats()); diff != "" {
		s.t.Errorf("counts (-want +got):\n%s", diff)
	}
	s.conserved()
}

// logged checks the log since it was last checked, each line by a part of it.
func (s *story) logged(want ...string) {
	s.t.Helper()
	synctest.Wait()
	lines := strings.Split(strings.TrimSuffix(s.log.String(), "\n"), "\n")
	if s.log.Len() == 0 {
		lines = nil
	}
	s.log.Reset()
	if len(lines) != len(want) {
		s.t.Errorf("%d lines in the log, want %d:\n%s", len(lines), len(want), strings.Join(lines, "\n"))
		return
	}
	for i, line := range lines {
		if !strings.Contains(line, want[i]) {
			s.t.Errorf("log line %d is %s\nwant %s", i, line, want[i])
		}
	}
}
