package sinktest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

// lines returns the history as text.
func (s *story) lines() []string {
	s.t.Helper()
	var all []string
	for _, r := range s.history() {
		text := string(r.Type)
		if r.Name != "" {
			text += " " + r.Name
		}
		if r.Synthetic {
			text += " synthetic"
		}
		all = append(all, text)
	}
	return all
}

func (s *story) wantHistory(want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.lines()); diff != "" {
		s.t.Errorf("history (-want +got):\n%s", diff)
	}
}

func (s *story) names(want ...string) {
	s.t.Helper()
	got := []string{}
	for _, row := range rows(s.t, s.store.read(s.t), cluster, Resource) {
		got = append(got, row.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("table (-want +got):\n%s", diff)
	}
}

func storyOfSelections(t *testing.T, store Store) {
	s := newStory(t, store)
	s.Put("a", "web", "1")
	s.Put("b", "db", "1")
	s.Put("c", "web", "1")
	web := func(o *sink.Options) { o.Scope.Labels = "app=web" }
	p := s.start(web)
	p.live()
	s.names("a", "c")
	s.Put("a", "db", "2")  // leaves
	s.Put("b", "web", "2") // comes
	p.live()
	s.Delete("c")
	p.live()
	s.names("b")
	s.Put("a", "web", "3") // comes back
	p.live()
	p.end()
	s.Put("a", "db", "4")
	s.Put("d", "web", "1")
	s.Delete("b")
	s.Expire()
	p = s.start(web)
	p.live()
	s.names("d")
	s.wantHistory("ADDED a synthetic", "ADDED c synthetic", "LEFT a", "ADDED b", "DELETED c", "ADDED a",
		"ADDED d synthetic", "LEFT a synthetic", "DELETED b synthetic", "GAP synthetic")
}

func storyOfWhere(t *testing.T, store Store) {
	s := newStory(t, store)
	s.Put("a", "web", "1")
	s.Put("b", "db", "1")
	web := func(o *sink.Options) {
		o.Scope.Where = "app is web"
		o.Where = func(r codec.Raw) (bool, error) {
			app, _ := r.Label("app")
			if app == "broken" {
				return false, errors.New("cannot say")
			}
			return app == "web", nil
		}
	}
	p := s.start(web)
	p.live()
	s.Put("a", "db", "2")
	s.Put("a", "db", "3")
	s.Put("b", "web", "2")
	s.Put("b", "web", "3")
	s.Delete("a") // nobody knows it any more
	p.live()
	p.end()
	s.names("b")
	p = s.start(web) // learns from the sink which objects are selected
	s.Put("b", "broken", "4")
	s.Put("c", "web", "1")
	p.live()
	p.end()
	s.Put("c", "db", "2")
	s.Put("d", "web", "1")
	s.Expire()
	p = s.start(web)
	p.live()
	s.names("d")
	s.wantHistory("ADDED a synthetic", "LEFT a", "ADDED b", "MODIFIED b", "LEFT b", "ADDED c",
		"ADDED d synthetic", "LEFT c synthetic", "GAP synthetic")
}

func storyOfShards(t *testing.T, store Store) {
	s := newStory(t, store)
	if store.OneWriter {
		s.shared = store.Connect(t)
	}
	s.churn("first")
	const shards = 3
	var running [shards]*process
	begin := func(shard int) {
		running[shard] = s.start(func(o *sink.Options) { o.Scope.Shard, o.Scope.Shards = shard, shards })
	}
	for i := range running {
		begin(i)
	}
	for i := range 3 {
		s.churn(fmt.Sprint("round-", i))
		for _, p := range running {
			p.live()
		}
	}
	s.names(namesOf(s.World)...)
	running[1].end()
	s.Delete("n-3")
	s.Delete("n-4")
	s.Expire()
	begin(1)
	for _, p := range running {
		p.live()
	}
	s.names(namesOf(s.World)...)
	for _, r := range s.history() {
		if r.UID != "" && sink.ShardOf(r.UID, shards) != r.Shard {
			t.Errorf("%s was written by shard %d", line(&r), r.Shard)
		}
	}
}

func namesOf(w *World) []string {
	objects, _ := w.Server.List(Resource)
	names := []string{}
	for _, b := range objects {
		id, err := codec.Skim(b)
		if err != nil {
			panic(err)
		}
		names = append(names, id.Name)
	}
	return names
}

func storyOfRescope(t *testing.T, store Store) {
	s := newStory(t, store)
	s.Put("a", "web", "1")
	s.Put("b", "db", "1")
	s.Put("c", "db", "1")
	p := s.start(nil)
	p.live()
	p.end()
	s.Delete("c")
	p = s.start(func(o *sink.Options) { o.Scope.Labels = "app=web" })
	<-p.ended
	if !errors.Is(p.err, sink.ErrRefused) {
		t.Errorf("another selection: the process ended with %v, want ErrRefused", p.err)
	}
	p = s.start(func(o *sink.Options) { o.Scope.Labels, o.Scope.Rescope = "app=web", true })
	p.until("another epoch", func(pos sink.Position) bool { return pos.Epoch == 2 })
	p.live()
	s.names("a")
	s.wantHistory("ADDED a synthetic", "ADDED b synthetic", "ADDED c synthetic",
		"MODIFIED a synthetic", "LEFT b synthetic", "DELETED c synthetic", "GAP synthetic")
}

// storyOfQuarantine has an object that cannot be projected, and one above the limit.
func storyOfQuarantine(t *testing.T, store Store) {
	s := newStory(t, store)
	s.Put("a", "web", "good")
	s.Put("b", "web", "poison")
	s.Put("c", "web", strings.Repeat("long ", 1000))
	options := func(o *sink.Options) {
		o.MaxObject = 1000
		o.Scope.Project = "all"
		o.Project = func(r codec.Raw) ([]byte, error) {
			if strings.Contains(r.JSON(), "poison") {
				return nil, errors.New("cannot be projected")
			}
			return []byte(r.JSON()), nil
		}
	}
	p := s.start(options)
	p.live()
	s.Put("a", "web", "poison")
	s.Put("b", "web", "good")
	p.live()
	p.end()
	s.Expire()
	p = s.start(options)
	p.live()
	s.wantHistory("ADDED a synthetic", "QUARANTINED b synthetic", "ADDED c synthetic", "QUARANTINED a", "MODIFIED b", "GAP synthetic")
	type row struct {
		Name, Quarantined string
		Trimmed, Object   bool
	}
	var got []row
	for _, r := range rows(t, s.store.read(t), cluster, Resource) {
		got = append(got, row{r.Name, r.Quarantined, r.Trimmed, r.Object != nil})
		if id, err := codec.Skim(r.Object); r.Trimmed && (err != nil || id.UID != r.UID || len(r.Object) > 1000) {
			t.Errorf("%s is trimmed to %s, error %v", r.Name, r.Object, err)
		}
	}
	want := []row{{"a", "project: cannot be projected", false, false}, {"b", "", false, true}, {"c", "", true, true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	s.Delete("a")
	p.live()
	if len(rows(t, s.store.read(t), cluster, kube.ConfigMaps)) != 2 {
		t.Error("a quarantined object stays in the table after its deletion")
	}
}
