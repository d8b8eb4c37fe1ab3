package sinktest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

const cluster = "6c2c7a53-0d15-4b2c-9b7e-000000000001"

func configMaps() sink.Scope {
	return sink.Scope{Cluster: cluster, Resource: kube.ConfigMaps, Shards: 1}
}

// possession is an opened scope of a connection.
type possession struct {
	t     *testing.T
	sink  Sink
	pos   sink.Position
	known sink.Known
	batch []sink.Record
}

func possess(t *testing.T, s Sink, scope sink.Scope) *possession {
	t.Helper()
	pos, known, err := s.Open(t.Context(), scope)
	if err != nil {
		t.Fatalf("open %s: %v", scope, err)
	}
	return &possession{t: t, sink: s, pos: pos, known: known}
}

// commit commits records as the next position, which must succeed.
func (p *possession) commit(phase sink.Phase, rev kube.Revision, records ...sink.Record) {
	p.t.Helper()
	next := p.next(phase, rev)
	if err := p.sink.Commit(p.t.Context(), records, next); err != nil {
		p.t.Fatalf("commit %d: %v", next.Sequence, err)
	}
	p.pos = next
}

func (p *possession) next(phase sink.Phase, rev kube.Revision) sink.Position {
	next := p.pos
	next.Sequence++
	next.Phase, next.Revision, next.Time = phase, rev, moment
	return next
}

func (p *possession) held() []sink.Held {
	p.t.Helper()
	var all []sink.Held
	for h, err := range p.known(p.t.Context()) {
		if err != nil {
			p.t.Fatalf("known: %v", err)
		}
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b sink.Held) int { return a.Key.Compare(b.Key) })
	return all
}

// heldOf returns what Known yields of an object after r.
func heldOf(r sink.Record) sink.Held {
	return sink.Held{Key: r.Key(), UID: r.UID, Revision: r.Revision, Epoch: r.Epoch}
}

// moment has no more digits than what any database keeps.
var moment = time.Date(2026, 11, 22, 12, 0, 0, 123456000, time.UTC)

func record(typ sink.Type, scope sink.Scope, name, uid string, rev kube.Revision) sink.Record {
	r := sink.Record{
		ID: sink.RecordID(scope.Cluster, 1, uid, rev), Type: typ, Cluster: scope.Cluster, Group: scope.Resource.Group, Resource: scope.Resource.Plural,
		APIVersion: scope.Resource.APIVersion(), Kind: scope.Resource.Kind, Shard: scope.Shard, Namespace: "default", Name: name, UID: uid, Revision: rev,
		Epoch: 1, Time: moment, Phase: sink.Live, Labels: map[string]string{"app": name},
		Object: json.RawMessage(fmt.Sprintf(`{"metadata":{"name":%q,"uid":%q,"resourceVersion":%q},"data":{"n":"1"}}`, name, uid, rev)),
	}
	if typ == sink.Deleted {
		r.ID = sink.DeletionID(scope.Cluster, 1, uid)
	}
	return r
}

func rows(t *testing.T, s sink.Reader, cluster string, r kube.Resource) []sink.Row {
	t.Helper()
	var all []sink.Row
	for row, err := range s.Rows(t.Context(), cluster, r) {
		if err != nil {
			t.Fatalf("read the table: %v", err)
		}
		all = append(all, row)
	}
	return all
}

func records(t *testing.T, s sink.Reader, cluster string, r kube.Resource) []sink.Record {
	t.Helper()
	var all []sink.Record
	for rec, err := range s.Records(t.Context(), cluster, r) {
		if err != nil {
			t.Fatalf("read the history: %v", err)
		}
		all = append(all, rec)
	}
	return all
}

// sameJSON compares objects by their values: a database may write them in another form.
var sameJSON = cmp.Options{cmp.Transformer("JSON", func(b json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if len(b) > 0 && dec.Decode(&v) != nil {
		return string(b)
	}
	canonical, err := json.Marshal(exact(v)) // go-cmp takes exponential time for deep values
	if err != nil {
		return string(b)
	}
	return string(canonical)
})}

// exact replaces the numbers in a JSON value by what they are, of any size.
func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		if r, ok := new(big.Rat).SetString(string(v)); ok {
			return r.RatString()
		}
	case map[string]any:
		for k := range v {
			v[k] = exact(v[k])
		}
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	}
	return v
}

// holds compares what another connection reads with what should be there.
func holds(t *testing.T, s sink.Reader, scope sink.Scope, wantRows []sink.Row, wantRecords []sink.Record) {
	t.Helper()
	if diff := cmp.Diff(wantRows, rows(t, s, scope.Cluster, scope.Resource), sameJSON); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantRecords, records(t, s, scope.Cluster, scope.Resource), sameJSON); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

func opensAScope(t *testing.T, store Store) {
	scope := configMaps()
	p := possess(t, store.Connect(t), scope)
	want := sink.Position{Scope: scope, Generation: 1, Epoch: 1, Phase: sink.Loading}
	if diff := cmp.Diff(want, p.pos, cmpopts.IgnoreFields(sink.Position{}, "Time")); diff != "" {
		t.Errorf("position (-want +got):\n%s", diff)
	}
	if got := p.held(); len(got) != 0 {
		t.Errorf("known of a new table: %v", got)
	}
	holds(t, p.sink, scope, nil, nil)
}

func commits(t *testing.T, store Store) {
	WriteExample(t, store.Connect(t))
	CheckExample(t, store.Connect(t))
}

// fenced requires that a commit is refused and leaves no trace.
func (p *possession) fenced(next sink.Position, what string) {
	p.t.Helper()
	rec := record(sink.Added, p.pos.Scope, "fenced", "uid-fenced", "99")
	if err := p.sink.Commit(p.t.Context(), []sink.Record{rec}, next); !errors.Is(err, sink.ErrFenced) {
		p.t.Errorf("%s: error %v, want ErrFenced", what, err)
	}
}

func fencesRepeats(t *testing.T, store Store) {
	scope := configMaps()
	p := possess(t, store.Connect(t), scope)
	a := record(sink.Added, scope, "a", "uid-a", "5")
	p.commit(sink.Live, "5", a)
	p.fenced(p.pos, "the same position")
	skipped := p.next(sink.Live, "9")
	skipped.Sequence++
	p.fenced(skipped, "a position that skips a commit")
	p.commit(sink.Live, "6")
	holds(t, p.sink, scope, []sink.Row{sink.RowOf(&a)}, []sink.Record{a})
}

func fencesFormer(t *testing.T, store Store) {
	if store.OneWriter {
		return // the lock on the storage is the fence, which Connect waits for
	}
	scope := configMaps()
	former := possess(t, store.Connect(t), scope)
	a := record(sink.Added, scope, "a", "uid-a", "5")
	former.commit(sink.Live, "5", a)
	latter := possess(t, store.Connect(t), scope)
	former.fenced(former.next(sink.Live, "9"), "the generation before")
	b := record(sink.Added, scope, "b", "uid-b", "6")
	latter.commit(sink.Live, "6", b)
	former.fenced(former.next(sink.Live, "9"), "the generation before, later")
	third := possess(t, former.sink, scope)
	latter.fenced(latter.next(sink.Live, "9"), "after it was fenced itself")
	c := record(sink.Added, scope, "c", "uid-c", "7")
	third.commit(sink.Live, "7", c)
	holds(t, third.sink, scope, []sink.Row{sink.RowOf(&a), sink.RowOf(&b), sink.RowOf(&c)}, []sink.Record{a, b, c})
}

// fencesRaces lets several connections open and commit at once. Each commit that succeeds
// has a sequence of its own, and is in the history once.
func fencesRaces(t *testing.T, store Store) {
	if store.OneWriter {
		return
	}
	scope := configMaps()
	var mu sync.Mutex
	var won []sink.Record
	var group sync.WaitGroup
	for worker := range 4 {
		s := store.Connect(t)
		group.Go(func() {
			for round := range 5 {
				pos, _, err := s.Open(t.Context(), scope)
				if err != nil {
					continue // unknown: not the holder
				}
				for n := range 3 {
					pos.Sequence++
					pos.Phase, pos.Time = sink.Live, moment
					pos.Revision = kube.Revision(fmt.Sprint(pos.Sequence))
					uid := fmt.Sprintf("uid-%d-%d-%d", worker, round, n)
					rec := record(sink.Added, scope, "x-"+uid, uid, pos.Revision)
					if err := s.Commit(t.Context(), []sink.Record{rec}, pos); err != nil {
						break
					}
					mu.Lock()
					won = append(won, rec)
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	if len(won) == 0 {
		t.Fatal("nobody could commit")
	}
	byID := func(a, b sink.Record) int { return strings.Compare(a.ID, b.ID) }
	got := records(t, store.read(t), cluster, scope.Resource)
	if store.Duplicates { // who is fenced may have sent its records before it learnt of it
		ids := map[string]bool{}
		for _, r := range won {
			ids[r.ID] = true
		}
		got = slices.DeleteFunc(got, func(r sink.Record) bool { return !ids[r.ID] })
	}
	for i := 1; i < len(got); i++ {
		if !store.Duplicates && !got[i].Revision.Newer(got[i-1].Revision) {
			t.Errorf("commit %s follows commit %s", got[i].Revision, got[i-1].Revision)
		}
	}
	slices.SortFunc(won, byID)
	slices.SortFunc(got, byID)
	if diff := cmp.Diff(won, got, sameJSON); diff != "" {
		t.Errorf("the commits that succeeded, and the history (-want +got):\n%s", diff)
	}
}

func commitsFullBatches(t *testing.T, store Store) {
	scope := configMaps()
	p := possess(t, store.Connect(t), scope)
	var batch []sink.Record
	var want []sink.Row
	for i := range 500 {
		r := record(sink.Added, scope, fmt.Sprintf("n-%03d", i), fmt.Sprintf("uid-%d", i), kube.Revision(fmt.Sprint(i+1)))
		batch, want = append(batch, r), append(want, sink.RowOf(&r))
	}
	p.commit(sink.Live, "500", batch...)
	holds(t, store.read(t), scope, want, batch)
}
