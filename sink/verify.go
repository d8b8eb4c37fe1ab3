package sink

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/wait"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
	"github.com/listwatch/listwatch/watch"
)

// Difference is an object that is not the same in the table and in the cluster.
type Difference struct {
	Key     kube.Key
	Problem string        // what differs, for people
	Table   kube.Revision // in the table; empty if it is not there
	Cluster kube.Revision // in the list; empty if it is not there
}

// Verification is the result of Verify.
type Verification struct {
	Objects     int           // in the list
	Quarantined int           // of these, objects that cannot be read or stored; they are no differences
	Revision    kube.Revision // of the list
	Position    kube.Revision // of the table when it was compared: the oldest of its shards
	Behind      bool          // the table did not reach the list: differences may be changes that are not yet committed
	Ahead       kube.Revision // the shards' newest position if the server, after a restore, is behind it; otherwise empty
	Differences []Difference  // ordered by key
}

// Verify lists the collection and compares the table with the list, object by object. If they
// differ, it waits, not longer than wait, until the sink's position has reached the list, and
// compares them again. (The position of an idle type is moved only by bookmarks.) Within wait it
// also lists again if the list is older than the position. If an object was trimmed or quarantined,
// and in ModeHistory, it compares only UID and revision. It opens no scope, so Runners continue. Of
// o it uses the fields Client, Scope (with all shards), Where, Project, MaxObject and ShowSecrets,
// and the method MaxObject of Sink, if there is one.
func Verify(ctx context.Context, o Options, from Reader, wait time.Duration) (Verification, error) {
	o.Scope.Shard = 0
	r, err := newRunner(o)
	if err != nil {
		return Verification{}, err
	}
	s := &session{Runner: r}
	limit := time.Now().Add(wait)
	want, v, err := s.upToDate(ctx, from, limit)
	if err != nil {
		return v, err
	}
	if same, err := s.same(ctx, from, want, &v); err != nil || same {
		return v, err
	}
	if v.Position, v.Behind, err = reach(ctx, from, o.Scope, v.Revision, time.Until(limit)); err != nil {
		return v, err
	}
	var newer []Difference
	last := kube.Key{}
	for row, err := range from.Rows(ctx, o.Scope.Cluster, o.Scope.Resource) {
		if err != nil {
			return v, fmt.Errorf("read the table of %s: %w", o.Scope, err)
		}
		key := kube.Key{Namespace: row.Namespace, Name: row.Name}
		l, ok := want[key]
		delete(want, key)
		twice := key == last // the rows are sorted
		if last = key; ok && (row.Quarantined != "" || l.quarantined) {
			v.Quarantined++
		}
		if row.Revision.Newer(v.Revision) { // it was changed since, or a Runner did not write it
			newer = append(newer, Difference{key, "a revision that the position of the table has not reached", row.Revision, l.revision})
		} else if twice {
			v.Differences = append(v.Differences, Difference{key, "twice in the table, in two shards", row.Revision, ""})
		} else if problem := differs(row, l, ok, o.Scope.Mode); problem != "" {
			v.Differences = append(v.Differences, Difference{key, problem, row.Revision, l.revision})
		}
	}
	newest, live, err := newestOf(ctx, from, o.Scope)
	if err != nil {
		return v, err
	}
	for _, d := range newer {
		if v.Ahead != "" {
			d.Problem = "a revision that the server has not reached"
		}
		if v.Ahead != "" || live && d.Table.Newer(newest) {
			v.Differences = append(v.Differences, d)
		}
	}
	for key, l := range want {
		exists := l.quarantined && l.uid != "" // the server may have it under another name
		if l.quarantined {
			v.Quarantined++
		} else if exists, err = s.get(ctx, key, l.uid); err != nil {
			return v, err
		}
		if exists {
			v.Differences = append(v.Differences, Difference{key, "missing in the table", "", l.revision})
		}
	}
	slices.SortFunc(v.Differences, func(a, b Difference) int { return a.Key.Compare(b.Key) })
	return v, nil
}

// upToDate lists the collection as of the position at least: after limit, it says in Ahead that
// the server does not reach it. A replica that lags reaches it.
func (s *session) upToDate(ctx context.Context, from Reader, limit time.Time) (want map[kube.Key]listed, v Verification, err error) {
	for {
		position, _, err := newestOf(ctx, from, s.o.Scope)
		if err != nil {
			return nil, v, err
		}
		if want, v.Revision, err = s.listing(ctx); err != nil {
			return nil, v, err
		}
		if v.Objects = len(want); !position.Newer(v.Revision) {
			return want, v, nil
		}
		if !time.Now().Before(limit) {
			v.Ahead = position
			return want, v, nil
		}
		if err := wait.For(ctx, time.Second); err != nil {
			return nil, v, err
		}
	}
}

// same reports whether the table is that of the list already, whatever its position is.
func (s *session) same(ctx context.Context, from Reader, want map[kube.Key]listed, v *Verification) (same bool, err error) {
	var loading bool
	if v.Position, loading, err = reach(ctx, from, s.o.Scope, "", 0); err != nil || loading {
		return false, err
	}
	met, quarantined := map[kube.Key]bool{}, 0
	for row, err := range from.Rows(ctx, s.o.Scope.Cluster, s.o.Scope.Resource) {
		if err != nil {
			return false, fmt.Errorf("read the table of %s: %w", s.o.Scope, err)
		}
		key := kube.Key{Namespace: row.Namespace, Name: row.Name}
		l, ok := want[key]
		if !ok || met[key] || l.uid == "" || differs(row, l, ok, s.o.Scope.Mode) != "" {
			return false, nil
		}
		if met[key] = true; row.Quarantined != "" || l.quarantined {
			quarantined++
		}
	}
	if len(met) != len(want) {
		return false, nil
	}
	v.Quarantined = quarantined
	return true, nil
}

// listing returns what the table should have, and the revision of the list. An object that cannot
// be read has the same identity as in the Runner's records.
func (s *session) listing(ctx context.Context) (map[kube.Key]listed, kube.Revision, error) {
	want := map[kube.Key]listed{}
	lister := list.New(s.col, list.Options{})
	for object, err := range lister.All(ctx) {
		ev := event{Event: watch.Event[codec.Raw]{Type: watch.Added, Object: object}, err: err}
		switch item := (*codec.ItemError)(nil); {
		case errors.As(err, &item):
			id := item.Identity
			ev.Key, ev.UID, ev.Revision = kube.Key{Namespace: id.Namespace, Name: id.Name}, id.UID, kube.Revision(id.ResourceVersion)
		case err != nil:
			return nil, "", fmt.Errorf("list %s: %w", s.o.Scope, err)
		default:
			ev.Key, ev.UID, ev.Revision = kube.Key{Namespace: object.GetNamespace(), Name: object.GetName()}, object.GetUID(), kube.Revision(object.GetResourceVersion())
		}
		if !ev.identified() {
			ev.err, ev.UID = cmpError(ev.err, errUnidentified), ""
		}
		if rec, selected := s.record(ev); selected {
			key := kube.Key{Namespace: strings.Clone(ev.Key.Namespace), Name: strings.Clone(ev.Key.Name)}
			want[key] = listedOf(RowOf(&rec))
		}
	}
	return want, lister.Revision(), nil
}

// reach waits until all shards of the scope are live at rev.
func reach(ctx context.Context, from Reader, s Scope, rev kube.Revision, atMost time.Duration) (oldest kube.Revision, behind bool, err error) {
	limit := time.Now().Add(atMost)
	for {
		all, err := from.Positions(ctx)
		if err != nil {
			return "", true, fmt.Errorf("read the positions: %w", err)
		}
		found, behind := 0, false
		for _, p := range all {
			if !p.Scope.sameTable(s) {
				continue
			}
			if found++; found == 1 || oldest.Newer(p.Revision) {
				oldest = p.Revision
			}
			behind = behind || p.Phase != Live || rev.Newer(p.Revision)
		}
		switch {
		case found == 0:
			return "", true, fmt.Errorf("the sink has no position of %s in the cluster %s", s.Resource.GroupResource(), s.Cluster)
		case !behind:
			return oldest, false, nil
		case time.Now().After(limit):
			return oldest, true, nil
		}
		if err := wait.For(ctx, time.Second); err != nil {
			return oldest, true, err
		}
	}
}

// newestOf returns the newest position of the shards of the scope, and whether all are live: then
// no row that was read before has a newer revision.
func newestOf(ctx context.Context, from Reader, s Scope) (newest kube.Revision, live bool, err error) {
	all, err := from.Positions(ctx)
	if err != nil {
		return "", false, fmt.Errorf("read the positions: %w", err)
	}
	live = true
	for _, p := range all {
		if !p.Scope.sameTable(s) {
			continue
		}
		live = live && p.Phase == Live
		if newest == "" || p.Revision.Newer(newest) {
			newest = p.Revision
		}
	}
	return newest, live && newest != "", nil
}

// sameTable reports whether both scopes are of one table: shards of a resource.
func (s Scope) sameTable(o Scope) bool {
	return s.Cluster == o.Cluster && s.Resource.Group == o.Resource.Group && s.Resource.Plural == o.Resource.Plural
}

// listed is what Verify keeps of an object in the list, whose JSON is too much for the memory.
type listed struct {
	uid, apiVersion      string
	revision             kube.Revision
	trimmed, quarantined bool
	labels               digest
	text, object         digest // of the JSON as it is, and as a value
}

func listedOf(row Row) listed {
	return listed{
		uid: strings.Clone(row.UID), apiVersion: strings.Clone(row.APIVersion), revision: kube.Revision(strings.Clone(string(row.Revision))),
		trimmed: row.Trimmed, quarantined: row.Quarantined != "",
		labels: digestOfLabels(row.Labels), text: sha256.Sum256(row.Object), object: digestOf(row.Object),
	}
}

// differs returns how a row of the table, which is not newer than the list, differs from it; "" =
// it does not. A Runner does not store an object that has no UID in the list.
func differs(row Row, l listed, ok bool, mode Mode) string {
	switch {
	case ok && l.uid == "":
		return ""
	case !ok:
		return "not in the cluster"
	case row.UID != l.uid:
		return "another UID in the cluster"
	case row.Revision != l.revision:
		return "another revision in the cluster"
	case row.Quarantined != "" || l.quarantined || row.Trimmed || l.trimmed || mode == ModeHistory:
		return ""
	case digestOfLabels(row.Labels) != l.labels:
		return "other labels in the cluster, of the same revision"
	case sha256.Sum256(row.Object) == l.text || digestOf(row.Object) == l.object:
		return ""
	case row.APIVersion != l.apiVersion:
		return fmt.Sprintf("written in version %s, the cluster lists %s: backfill writes the rows again", row.APIVersion, l.apiVersion)
	}
	return "another object in the cluster, of the same revision"
}
