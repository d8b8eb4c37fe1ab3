package sinktest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/sink"
)

func separatesScopes(t *testing.T, store Store) {
	s := store.Connect(t)
	first := configMaps()
	others := []sink.Scope{first, first, first, first}
	others[0].Resource = kube.Secrets
	others[1].Cluster = "another-cluster"
	others[2].Resource = kube.Deployments
	others[3].Resource.Group = "example.com" // a namesake of another group
	a := record(sink.Added, first, "a", "uid-a", "5")
	p := possess(t, s, first)
	p.commit(sink.Live, "5", a)
	for i, scope := range others {
		o := possess(t, s, scope)
		if o.pos.Generation != 1 || o.pos.Sequence != 0 || len(o.held()) != 0 {
			t.Errorf("scope %d begins at %+v, with %v", i, o.pos, o.held())
		}
		b := record(sink.Added, scope, "a", "uid-a", "5")
		b.ID += fmt.Sprint(i)
		o.commit(sink.Live, "5", b)
		holds(t, s, scope, []sink.Row{sink.RowOf(&b)}, []sink.Record{b})
	}
	p.commit(sink.Live, "6")
	holds(t, s, first, []sink.Row{sink.RowOf(&a)}, []sink.Record{a})
}

func knowsItsShard(t *testing.T, store Store) {
	s := store.Connect(t)
	var of [3]*possession
	for shard := range of {
		scope := configMaps()
		scope.Shard, scope.Shards = shard, len(of)
		of[shard] = possess(t, s, scope)
	}
	want := [3][]sink.Held{}
	for i := range 30 {
		uid := sink.RecordID("", int64(i), "", "") // the hash of short texts is not spread
		p := of[sink.ShardOf(uid, len(of))]
		r := record(sink.Added, p.pos.Scope, fmt.Sprintf("n-%02d", i), uid, kube.Revision(fmt.Sprint(i+1)))
		p.commit(sink.Live, r.Revision, r)
		want[p.pos.Scope.Shard] = append(want[p.pos.Scope.Shard], heldOf(r))
	}
	for shard, p := range of {
		if diff := cmp.Diff(want[shard], p.held()); diff != "" || len(want[shard]) == 0 {
			t.Errorf("shard %d knows (-want +got):\n%s", shard, diff)
		}
	}
}

// knowsEpochs writes an object again in the next epoch, as a Backfill does, and leaves another.
func knowsEpochs(t *testing.T, store Store) {
	scope := configMaps()
	p := possess(t, store.Connect(t), scope)
	a, b := record(sink.Added, scope, "a", "uid-a", "5"), record(sink.Added, scope, "b", "uid-b", "6")
	p.commit(sink.Live, "6", a, b)
	again := b
	again.Type, again.Epoch, again.ID = sink.Modified, 2, sink.RecordID(cluster, 2, b.UID, b.Revision)
	p.pos.Epoch = 2
	p.commit(sink.Live, "7", again)
	want := []sink.Held{heldOf(a), heldOf(again)}
	if diff := cmp.Diff(want, p.held()); diff != "" {
		t.Errorf("known (-want +got):\n%s", diff)
	}
	p = possess(t, store.Connect(t), scope)
	if diff := cmp.Diff(want, p.held()); diff != "" || p.pos.Epoch != 2 {
		t.Errorf("opened again in epoch %d, want 2; known (-want +got):\n%s", p.pos.Epoch, diff)
	}
}

// sparesNamesakes: an object is created again, maybe in another shard, before the deletion
// of the first is committed.
func sparesNamesakes(t *testing.T, store Store) {
	scope := configMaps()
	p := possess(t, store.Connect(t), scope)
	first, second := record(sink.Added, scope, "a", "uid-1", "5"), record(sink.Added, scope, "a", "uid-2", "9")
	gone := record(sink.Deleted, scope, "a", "uid-1", "")
	gone.Object, gone.Labels, gone.Synthetic = nil, nil, true
	p.commit(sink.Live, "5", first)
	p.commit(sink.Live, "9", second, gone)
	holds(t, p.sink, scope, []sink.Row{sink.RowOf(&second)}, []sink.Record{first, second, gone})
}

func refusesSelections(t *testing.T, store Store) {
	s, scope := store.Connect(t), configMaps()
	p := possess(t, s, scope)
	a := record(sink.Added, scope, "a", "uid-a", "5")
	p.commit(sink.Live, "5", a)
	for _, change := range []func(*sink.Scope){
		func(o *sink.Scope) { o.Labels = "app=a" },
		func(o *sink.Scope) { o.Fields = "metadata.name=a" },
		func(o *sink.Scope) { o.Namespace = "default" },
		func(o *sink.Scope) { o.Where = ".data" },
		func(o *sink.Scope) { o.Project = ".data" },
	} {
		other := scope
		change(&other)
		if _, _, err := s.Open(t.Context(), other); !errors.Is(err, sink.ErrRefused) {
			t.Errorf("open %s: error %v, want ErrRefused", other.Selection(), err)
		}
	}
	p.commit(sink.Live, "6") // a refusal takes possession of nothing

	other := scope
	other.Labels, other.Rescope = "app=a", true
	r := possess(t, s, other)
	want := p.pos
	want.Scope = other
	want.Generation, want.Epoch, want.Phase, want.Cause = p.pos.Generation+1, p.pos.Epoch+1, sink.Loading, sink.CauseRescoped
	if diff := cmp.Diff(want, r.pos); diff != "" {
		t.Errorf("after --rescope (-want +got):\n%s", diff)
	}
	r.commit(sink.Live, "7")
	other.Rescope = false
	if again := possess(t, s, other); again.pos.Epoch != want.Epoch || again.pos.Phase != sink.Live {
		t.Errorf("opened again: %+v", again.pos)
	}
	other.Rescope = true
	if again := possess(t, s, other); again.pos.Epoch != want.Epoch || again.pos.Phase != sink.Live {
		t.Errorf("rescoped to the same: %+v", again.pos)
	}
}

func refusesShards(t *testing.T, store Store) {
	s, scope := store.Connect(t), configMaps()
	scope.Shards = 2
	possess(t, s, scope)
	for _, n := range []int{1, 3} {
		other := scope
		other.Shards = n
		if _, _, err := s.Open(t.Context(), other); !errors.Is(err, sink.ErrRefused) {
			t.Errorf("open with %d shards: error %v, want ErrRefused", n, err)
		}
	}
	scope.Shard = 1
	possess(t, s, scope)
}

func keepsModes(t *testing.T, store Store) {
	for i, mode := range []sink.Mode{sink.ModeTable, sink.ModeHistory} {
		scope := configMaps()
		scope.Cluster, scope.Mode = fmt.Sprint("cluster-", i), mode
		p := possess(t, store.Connect(t), scope)
		a, b := record(sink.Added, scope, "a", "uid-a", "5"), record(sink.Added, scope, "b", "uid-b", "6")
		gap := sink.Record{ID: "gap-" + string(mode), Type: sink.Gap, Cluster: scope.Cluster, Resource: "configmaps", Epoch: 1, Time: moment, Phase: sink.Live, From: "5", To: "6", Reason: "r"}
		p.commit(sink.Live, "6", a, b, gap)
		wantRows, wantRecords := []sink.Row{sink.RowOf(&a), sink.RowOf(&b)}, []sink.Record{gap}
		if mode == sink.ModeHistory {
			wantRows[0].Object, wantRows[1].Object = nil, nil
			wantRecords = []sink.Record{a, b, gap}
		}
		holds(t, p.sink, scope, wantRows, wantRecords)
		if n := len(p.held()); n != 2 {
			t.Errorf("mode %q: %d objects known, want 2", mode, n)
		}
	}
}

// storesAwkwardObjects commits what some system or other cannot store. Each object is
// stored as it is, or quarantined with a reason; the others of its batch are not affected.
func storesAwkwardObjects(t *testing.T, store Store) {
	scope := configMaps()
	p := possess(t, store.Connect(t), scope)
	awkward := []string{
		`{"data":{"nul":"a\u0000b"}}`,
		`{"data":{"lone surrogate":"\ud800"}}`,
		`{"data":{"":"an empty name"}}`,
		`{"data":{"emoji":"😀","quotes":"'\";--","backslash":"\\u0000"}}`,
		`{"data":{"big":9007199254740993,"huge":1e400,"small":-0.0}}`,
		`{"data":{"twice":"1","twice":"2"}}`,
		`{"data":{"long":"` + strings.Repeat("x", 300_000) + `"}}`,
		`{"data":{"deep":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}}`,
		`{"data":{"label":"see below"}}`,
	}
	names := []string{"system:controller:a", "a.b_c", "A", "%2F", "..a", "a*b>c", "*", strings.Repeat("n", 253), "label"}
	for i := range awkward {
		r := record(sink.Added, scope, names[i], fmt.Sprint("uid-", i), kube.Revision(fmt.Sprint(10*i+10)))
		r.Object = json.RawMessage(awkward[i])
		r.Labels = map[string]string{"example.com/a.b": "c_d"}
		if names[i] == "label" {
			r.Labels["nul"] = "a\x00b"
		}
		plain := record(sink.Added, scope, fmt.Sprint("plain-", i), fmt.Sprint("uid-plain-", i), kube.Revision(fmt.Sprint(10*i+11)))
		p.commit(sink.Live, plain.Revision, r, plain)
	}
	table := map[string]sink.Row{}
	for _, row := range rows(t, p.sink, cluster, scope.Resource) {
		table[row.Name] = row
	}
	history := map[string]sink.Record{}
	for _, rec := range records(t, p.sink, cluster, scope.Resource) {
		history[rec.Name] = rec
	}
	for i := range awkward {
		row, ok := table[names[i]]
		rec := history[names[i]]
		switch {
		case !ok:
			t.Errorf("%q is not in the table", names[i])
		case row.UID != fmt.Sprint("uid-", i) || rec.UID != row.UID:
			t.Errorf("%q has UID %q in the table and %q in the history", names[i], row.UID, rec.UID)
		case row.Quarantined == "" && rec.Type == sink.Added:
			if diff := cmp.Diff(json.RawMessage(awkward[i]), row.Object, sameJSON); diff != "" {
				t.Errorf("%q in the table (-want +got):\n%s", names[i], diff)
			}
		case row.Quarantined == "" || rec.Type != sink.Quarantined || rec.Reason == "":
			t.Errorf("%q: the table says %q, the history %s %q", names[i], row.Quarantined, rec.Type, rec.Reason)
		}
		if row := table[fmt.Sprint("plain-", i)]; row.Quarantined != "" || row.Object == nil {
			t.Errorf("the neighbour of %q: %+v", names[i], row)
		}
	}
	if n := len(p.held()); n != 2*len(awkward) {
		t.Errorf("%d objects known, want %d", n, 2*len(awkward))
	}
}
