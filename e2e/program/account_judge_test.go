package program_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/e2e/internal/setup"
	"github.com/listwatch/listwatch/e2e/load"
)

// judgedWrite returns a write to the pod of TestAccount, whose UID is u.
func judgedWrite(op load.Op, rv, after string) load.Write {
	return load.Write{Op: op, Resource: "pods", Namespace: "load-a", Name: "p", UID: "u", RV: rv, After: after}
}

// judged returns a record of the pod from a watch.
func judged(typ, rv string) record {
	r := record{Type: typ, Resource: "pods", Namespace: "load-a", Name: "p", UID: "u", RV: rv}
	r.Object.Metadata = setup.Metadata{Namespace: r.Namespace, Name: r.Name, UID: r.UID, ResourceVersion: rv}
	return r
}

// marked returns r with a deletionTimestamp.
func marked(r record) record {
	r.Object.Metadata.DeletionTimestamp = "2026-11-22T00:00:00Z"
	return r
}

// judgedGap returns the records of a relist that found the given ones.
func judgedGap(from, to string, found ...record) []record {
	end := record{Type: "RELISTED", Resource: "pods", RV: to, Cause: "history expired (410)"}
	records := []record{
		{Type: "DISCONNECTED", Resource: "pods", RV: from, Cause: "too old resource version"},
		{Type: "RECONNECTED", Resource: "pods", RV: from},
	}
	for _, r := range found {
		r.Synthetic = "relist"
		switch records = append(records, r); r.Type {
		case "ADDED":
			end.Added++
		case "MODIFIED":
			end.Modified++
		case "DELETED":
			end.Deleted++
		}
	}
	return append(records, end)
}

// TestAccount holds the judge of TestChaos against records that are right and
// records that lost an event. A pod's delete is two versions: the mark, a MODIFIED
// with a deletionTimestamp that the load does not record, and the end.
func TestAccount(t *testing.T) {
	synced := record{Type: "SYNCED", Resource: "pods", RV: "5"}
	created := judgedWrite(load.Created, "10", "")
	updated := judgedWrite(load.Updated, "20", "10")
	deleted := judgedWrite(load.Deleted, "31", "20")
	for _, c := range []struct {
		name    string
		writes  []load.Write
		records []record
		final   string // the version in the end; empty = deleted
		want    []string
	}{
		{
			name:    "live",
			writes:  []load.Write{created, updated, deleted},
			records: []record{judged("ADDED", "10"), judged("MODIFIED", "20"), marked(judged("MODIFIED", "30")), judged("DELETED", "31")},
		},
		{
			name:    "lost while live",
			writes:  []load.Write{created, updated, deleted},
			records: []record{judged("ADDED", "10"), marked(judged("MODIFIED", "30")), judged("DELETED", "31")},
			want:    []string{"pods: no event of {Op:updated Resource:pods Namespace:load-a Name:p UID:u RV:20 After:10}"},
		},
		{
			name:   "the mark hides an update",
			writes: []load.Write{created, updated, deleted},
			records: slices.Concat([]record{judged("ADDED", "10")},
				judgedGap("10", "30", marked(judged("MODIFIED", "30"))), []record{judged("DELETED", "31")}),
		},
		{
			name:   "the mark after the relist hides nothing",
			writes: []load.Write{created, updated, deleted},
			records: slices.Concat([]record{judged("ADDED", "10")},
				judgedGap("10", "25"), []record{marked(judged("MODIFIED", "30")), judged("DELETED", "31")}),
			want: []string{"pods: no event of {Op:updated Resource:pods Namespace:load-a Name:p UID:u RV:20 After:10}"},
		},
		{
			name:   "the mark hides a creation",
			writes: []load.Write{created, deleted},
			records: slices.Concat(judgedGap("5", "30", marked(judged("ADDED", "30"))),
				[]record{judged("DELETED", "31")}),
		},
		{
			name:    "a live creation has no mark",
			writes:  []load.Write{created, deleted},
			records: []record{marked(judged("ADDED", "30")), judged("DELETED", "31")},
			want: []string{
				"pods: no event of {Op:created Resource:pods Namespace:load-a Name:p UID:u RV:10 After:}",
				"seq 2: ADDED of {pods load-a p} {UID:u RV:30}, which nobody wrote",
			},
		},
		{
			name:   "a delete after the relist hides nothing",
			writes: []load.Write{created, updated, judgedWrite(load.Deleted, "", "20")},
			records: slices.Concat([]record{judged("ADDED", "10")},
				judgedGap("10", "25"), []record{judged("DELETED", "31")}),
			want: []string{"pods: no event of {Op:updated Resource:pods Namespace:load-a Name:p UID:u RV:20 After:10}"},
		},
		{
			name:   "a delete in the gap hides an update",
			writes: []load.Write{created, updated, judgedWrite(load.Deleted, "", "20")},
			records: slices.Concat([]record{judged("ADDED", "10")},
				judgedGap("10", "35", judged("DELETED", "35"))),
		},
		{
			name:    "nobody knows of a life within the gap",
			writes:  []load.Write{created, updated, judgedWrite(load.Deleted, "", "20")},
			records: judgedGap("5", "35"),
		},
		{
			name:    "the list lacks a pod",
			writes:  []load.Write{created, judgedWrite(load.Deleted, "31", "10")},
			records: judgedGap("5", "25"),
			want:    []string{"pods: no event of {Op:created Resource:pods Namespace:load-a Name:p UID:u RV:10 After:}"},
		},
		{
			name:   "lost before the gap",
			writes: []load.Write{created, updated, deleted},
			records: slices.Concat([]record{judged("ADDED", "10")},
				judgedGap("25", "30", marked(judged("MODIFIED", "30"))), []record{judged("DELETED", "31")}),
			want: []string{"pods: no event of {Op:updated Resource:pods Namespace:load-a Name:p UID:u RV:20 After:10}"},
		},
		{
			name:    "an update hides the creation",
			writes:  []load.Write{created, updated},
			records: judgedGap("5", "25", judged("ADDED", "20")),
			final:   "20",
		},
		{
			name:    "nothing hides the last update",
			writes:  []load.Write{created, updated},
			records: slices.Concat([]record{judged("ADDED", "10")}, judgedGap("10", "25")),
			final:   "10", // as the records have it, so that this is the only error
			want:    []string{"pods: no event of {Op:updated Resource:pods Namespace:load-a Name:p UID:u RV:20 After:10}"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			records := append([]record{synced}, c.records...)
			for i := range records {
				records[i].Seq = int64(i + 1)
			}
			written := &load.Record{Writes: c.writes, Final: map[load.Ref]load.Version{}}
			if c.final != "" {
				written.Final[load.Ref{Resource: "pods", Namespace: "load-a", Name: "p"}] = load.Version{UID: "u", RV: c.final}
			}
			a := newAccount(records, "pods", written)
			errs := a.judge(t)
			for i := range errs {
				errs[i], _, _ = strings.Cut(errs[i], "\n") // the rest is history
			}
			if diff := cmp.Diff(c.want, errs); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}
