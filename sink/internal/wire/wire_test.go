package wire_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/internal/wire"
)

func FuzzToken(f *testing.F) {
	for _, s := range []string{"", "-", "=", "=2D", "system:controller:a", "a.b", "*", ">", "é", "\x00", " "} {
		f.Add(s, "a")
	}
	f.Fuzz(func(t *testing.T, s, other string) {
		token := wire.Token(s)
		if token == "" || strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-=") != "" {
			t.Errorf("%q becomes %q", s, token)
		}
		if back, err := wire.ParseToken(token); err != nil || back != s {
			t.Errorf("%q becomes %q, which is read as %q, error %v", s, token, back, err)
		}
		if s != other && token == wire.Token(other) {
			t.Errorf("%q and %q both become %q", s, other, token)
		}
		wire.ParseToken(s) // must not panic
	})
}

func TestPositionIsReadAsItWasWritten(t *testing.T) {
	want := sink.Position{
		Scope: sink.Scope{Cluster: "c", Resource: kube.Resource{Group: "apps", Version: "v1", Plural: "deployments"}, Namespace: "default",
			Labels: `a="b"`, Fields: "f", Where: ".w", Project: ".p", Shard: 1, Shards: 3, Mode: sink.ModeTable},
		Revision: "12", Generation: 3, Sequence: 4, Epoch: 2, Phase: sink.Live, Cause: "c", Time: time.Date(2026, 11, 22, 1, 2, 3, 4, time.UTC),
	}
	got, err := wire.DecodePosition(wire.EncodePosition(want))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

// TestPositionOfALaterReleaseIsRefused whatever else it says; one without a format is of the
// first.
func TestPositionOfALaterReleaseIsRefused(t *testing.T) {
	_, err := wire.DecodePosition([]byte(`{"format":2,"revision":{"another":"form"}}`))
	if !errors.Is(err, sink.ErrRefused) || !strings.Contains(err.Error(), "use a later release") {
		t.Errorf("format 2: error %v, want ErrRefused", err)
	}
	p, err := wire.DecodePosition([]byte(`{"cluster":"c","resource":"pods","selection":{},"revision":"7"}`))
	if err != nil || p.Revision != "7" {
		t.Errorf("no format: %+v, error %v", p, err)
	}
}

func TestRecordAboveTheLimitIsQuarantined(t *testing.T) {
	r := sink.Record{ID: "i", Type: sink.Modified, Name: "a", UID: "u", Object: json.RawMessage(`"` + strings.Repeat("<", 1000) + `"`)}
	got, b, err := wire.EncodeRecord(r, 1200)
	if err != nil || got.Type != sink.Modified || !strings.Contains(string(b), "<<<") {
		t.Errorf("within the limit: %s, error %v", b, err)
	}
	for _, object := range []string{string(r.Object), `{"not":"JSON"`} {
		r.Object, r.Type = json.RawMessage(object), sink.Modified
		got, b, err = wire.EncodeRecord(r, 500)
		if err != nil || got.Type != sink.Quarantined || got.Reason == "" || got.Object != nil || len(b) > 500 {
			t.Errorf("above the limit: %+v, %s, error %v", got, b, err)
		}
		if back, err := wire.DecodeRecord(b); err != nil || back.Type != sink.Quarantined {
			t.Errorf("read again: %+v, error %v", back, err)
		}
		r.Type = sink.Deleted
		if got, b, err = wire.EncodeRecord(r, 500); err != nil || got.Type != sink.Deleted || !got.Trimmed || len(b) > 500 {
			t.Errorf("a deletion above the limit: %+v, %s, error %v", got, b, err)
		}
	}
	if _, _, err = wire.EncodeRecord(r, 10); err == nil {
		t.Error("a limit that no record can keep is no error")
	}
}

func TestTakeRefusesWhatContradicts(t *testing.T) {
	scope := sink.Scope{Cluster: "c", Resource: kube.Pods}
	first, err := wire.Take(scope, nil, nil)
	want := sink.Position{Scope: scope, Phase: sink.Loading, Epoch: 1, Generation: 1}
	if diff := cmp.Diff(want, first); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	shards := scope
	shards.Shards = 2
	if _, err := wire.Take(shards, nil, []sink.Position{first}); !errors.Is(err, sink.ErrRefused) {
		t.Errorf("another number of shards: error %v, want ErrRefused", err)
	}
	other := scope
	other.Labels = "a=b"
	if _, err := wire.Take(other, &first, []sink.Position{first}); !errors.Is(err, sink.ErrRefused) {
		t.Errorf("another selection: error %v, want ErrRefused", err)
	}
	other.Rescope = true
	got, err := wire.Take(other, &first, []sink.Position{first})
	want = sink.Position{Scope: other, Phase: sink.Loading, Epoch: 2, Generation: 2, Cause: sink.CauseRescoped}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("rescoped: error %v (-want +got):\n%s", err, diff)
	}
}
