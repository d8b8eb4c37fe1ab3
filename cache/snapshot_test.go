package cache_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/cache"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/watch"
)

var binding = cache.SnapshotIdentity{Cluster: "5f0c", Resource: kube.Pods, Labels: "app=web"}

// snapPod is a projection.
type snapPod struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		NodeName string `json:"nodeName"`
		Priority *int64 `json:"priority"`
	} `json:"spec"`
	Status struct {
		Phase string         `json:"phase"`
		Ports map[string]int `json:"ports"`
		Free  map[string]any `json:"free"`
	} `json:"status"`
}

// typedUID is, like a type of k8s.io/api, an object whose GetUID returns no
// string.
type typedUID struct {
	Metadata struct {
		Name            string       `json:"name"`
		UID             snapUID      `json:"uid"`
		ResourceVersion string       `json:"resourceVersion"`
		Created         quotedMinute `json:"created"`
	} `json:"metadata"`
}

type snapUID string

func (o *typedUID) GetNamespace() string       { return "" }
func (o *typedUID) GetName() string            { return o.Metadata.Name }
func (o *typedUID) GetResourceVersion() string { return o.Metadata.ResourceVersion }
func (o *typedUID) GetUID() snapUID            { return o.Metadata.UID }

// quotedMinute has a JSON of its own, and fields that are not part of it.
type quotedMinute struct{ hidden time.Time }

func (m *quotedMinute) UnmarshalJSON(b []byte) (err error) {
	m.hidden, err = time.Parse(`"15:04"`, string(b))
	return err
}
func (m *quotedMinute) MarshalJSON() ([]byte, error) {
	return []byte(m.hidden.Format(`"15:04"`)), nil
}

// snapJSON is object n of a collection, at a revision.
func snapJSON(n, rev int) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p%d","namespace":"d","uid":"u%d","resourceVersion":"%d",`+
		`"created":"09:%02d","annotations":{"a":"<é\n>"},"managedFields":[{"manager":"m"}]},`+
		`"spec":{"nodeName":"n%d","priority":9007199254740993},"status":{"phase":"Running","ports":{"http":8%d},"free":{"big":9007199254740993}}}`,
		n, n, rev, n%60, n%7, n)
}

// eventOf returns the event of a watch for the object in b.
func eventOf[T kube.Object](t testing.TB, typ watch.Type, b []byte) watch.Event[T] {
	t.Helper()
	v, err := codec.Decode[T](b)
	if err != nil {
		t.Fatal(err)
	}
	id, err := codec.Skim(b)
	if err != nil {
		t.Fatal(err)
	}
	return watch.Event[T]{Type: typ, Key: kube.KeyOf(v), UID: id.UID, Revision: kube.Revision(id.ResourceVersion), Object: v}
}

// filled is a store of objects 0 to count-1, at revisions 1 to count, synced at
// revision 2*count.
func filled[T kube.Object](t testing.TB, count int) *cache.RWStore[T] {
	t.Helper()
	s := cache.NewStore[T]()
	s.Apply(watch.Event[T]{Type: watch.Restart})
	for n := range count {
		s.Apply(eventOf[T](t, watch.Added, snapJSON(n, n+1)))
	}
	s.Apply(watch.Event[T]{Type: watch.Synced, Revision: kube.Revision(strconv.Itoa(2 * count))})
	return s
}

func saved[T kube.Object](t testing.TB, s *cache.RWStore[T], b cache.SnapshotIdentity) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := s.Save(&out, b); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func roundTrip[T kube.Object](t *testing.T) {
	t.Helper()
	before, after := filled[T](t, 100), cache.NewStore[T]()
	all := cache.By(after.Store, func(T) (bool, bool) { return true, true })
	from, err := after.Load(iotest.HalfReader(bytes.NewReader(saved(t, before, binding))), binding)
	if err != nil || from != (cache.Resume{Revision: "200", Seen: "200"}) || after.Revision() != "200" || !after.Synced() {
		t.Fatalf("loaded %+v, %v; at %q, synced %t", from, err, after.Revision(), after.Synced())
	}
	same := cmp.Options{cmp.AllowUnexported(codec.Raw{}, quotedMinute{})}
	if diff := cmp.Diff(maps.Collect(before.All()), maps.Collect(after.All()), same); diff != "" {
		t.Errorf("(-saved +loaded):\n%s", diff)
	}
	if got := all.Len(true); got != 100 {
		t.Errorf("the index has %d objects, want 100", got)
	}
	replaced := eventOf[T](t, watch.Added, bytes.Replace(snapJSON(7, 300), []byte(`"u7"`), []byte(`"v7"`), 1))
	var deltas []string
	for _, ev := range []watch.Event[T]{
		eventOf[T](t, watch.Modified, snapJSON(3, 4)), // known
		eventOf[T](t, watch.Modified, snapJSON(3, 3)), // older
		eventOf[T](t, watch.Modified, snapJSON(3, 250)),
		replaced,
	} {
		for _, d := range after.Apply(ev) {
			deltas = append(deltas, fmt.Sprintf("%s %s %s %s", d.Type, d.Key.Name, d.UID, d.Revision))
		}
	}
	want := []string{"MODIFIED p3 u3 250", "DELETED p7 u7 300", "ADDED p7 v7 300"}
	if diff := cmp.Diff(want, deltas); diff != "" {
		t.Errorf("deltas (-want +got):\n%s", diff)
	}
}

// TestLoadLeavesIndexesEmptyAfterAPanic: of an index's function, on some object.
func TestLoadLeavesIndexesEmptyAfterAPanic(t *testing.T) {
	from := cache.NewStore[kube.Partial]()
	from.Apply(watch.Event[kube.Partial]{Type: watch.Restart})
	for n := range 50 {
		from.Apply(live(watch.Added, fmt.Sprint(n), "u", fmt.Sprint(n+1)))
	}
	from.Apply(watch.Event[kube.Partial]{Type: watch.Synced, Revision: "50"})
	b := cache.SnapshotIdentity{Cluster: "c", Resource: kube.ConfigMaps}
	var saved bytes.Buffer
	if err := from.Save(&saved, b); err != nil {
		t.Fatal(err)
	}

	s := cache.NewStore[kube.Partial]()
	calls := 0
	all := cache.By(s.Store, func(kube.Partial) (bool, bool) { return true, true })
	bad := cache.By(s.Store, func(kube.Partial) (bool, bool) {
		if calls++; calls == 10 {
			panic("bad object")
		}
		return true, true
	})
	if v := panics(func() { s.Load(bytes.NewReader(saved.Bytes()), b) }); v != "bad object" {
		t.Fatalf("Load panics with %v", v)
	}
	if all.Len(true) != 0 || bad.Len(true) != 0 || s.Len() != 0 {
		t.Errorf("%d and %d keys are indexed of %d objects", all.Len(true), bad.Len(true), s.Len())
	}
	if _, err := s.Load(&saved, b); err != nil || all.Len(true) != 50 || bad.Len(true) != 50 {
		t.Errorf("afterwards %v, %d and %d keys", err, all.Len(true), bad.Len(true))
	}
}

func TestSnapshotRoundTrip(t *testing.T) {
	t.Run("Raw", roundTrip[codec.Raw])
	t.Run("RawFull", roundTrip[codec.RawFull])
	t.Run("Partial", roundTrip[kube.Partial])
	t.Run("a struct", roundTrip[snapPod])
	t.Run("a pointer", roundTrip[*snapPod])
	t.Run("a pointer with a typed UID", roundTrip[*typedUID])
}

// TestSnapshotOfLargeObjects: larger than a buffer, and than what is kept of one.
func TestSnapshotOfLargeObjects(t *testing.T) {
	s := cache.NewStore[codec.Raw]()
	s.Apply(watch.Event[codec.Raw]{Type: watch.Restart})
	for n, size := range []int{64 << 10, 3 << 20, 100, 65_000, 200_000} {
		b := bytes.Replace(snapJSON(n, n+1), []byte("Running"), bytes.Repeat([]byte("Running"), size/7), 1)
		s.Apply(eventOf[codec.Raw](t, watch.Added, b))
	}
	s.Apply(watch.Event[codec.Raw]{Type: watch.Synced, Revision: "9"})
	after := cache.NewStore[codec.Raw]()
	if _, err := after.Load(bytes.NewReader(saved(t, s, binding)), binding); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(maps.Collect(s.All()), maps.Collect(after.All())) {
		t.Error("what is loaded is not what was saved")
	}
}

// TestSnapshotThatCouldNotBeLoadedIsNotSaved: limits hold both ways.
func TestSnapshotThatCouldNotBeLoadedIsNotSaved(t *testing.T) {
	long := strings.Repeat("x", 4<<10+1)
	o := object("a", "u1", "1")
	tests := map[string]struct {
		ev   event
		kind error
	}{
		"UID":      {live(watch.Added, "a", long, "1"), codec.ErrTooLarge},
		"revision": {live(watch.Added, "a", "u1", long), codec.ErrTooLarge},
		"name":     {event{Type: watch.Added, Key: kube.Key{Name: "b"}, Revision: "1", Object: o}, cache.ErrSnapshotRefused},
	}
	for name, test := range tests {
		s := cache.NewStore[kube.Partial]()
		for _, ev := range []event{restart(nil), test.ev, synced("2")} {
			s.Apply(ev)
		}
		if err := s.Save(io.Discard, binding); !errors.Is(err, test.kind) {
			t.Errorf("%s: %v, want %v", name, err, test.kind)
		}
	}
	b := binding
	b.Labels = strings.Repeat("x", 1<<20)
	if err := filled[kube.Partial](t, 1).Save(io.Discard, b); !errors.Is(err, codec.ErrTooLarge) {
		t.Errorf("a selector of 1 MB: %v", err)
	}
}

func TestSnapshotOfNothing(t *testing.T) {
	s := cache.NewStore[codec.Raw]()
	s.Apply(watch.Event[codec.Raw]{Type: watch.Restart})
	s.Apply(watch.Event[codec.Raw]{Type: watch.Synced, Revision: "7"})
	after := cache.NewStore[codec.Raw]()
	from, err := after.Load(bytes.NewReader(saved(t, s, binding)), binding)
	if from != (cache.Resume{Revision: "7", Seen: "7"}) || err != nil || after.Len() != 0 || !after.Synced() {
		t.Errorf("loaded %+v, %v, %d objects, synced %t", from, err, after.Len(), after.Synced())
	}
}

// TestSnapshotRestartDeliversTheDifferences: what happened while the process was
// down is delivered, and nothing else.
func TestSnapshotRestartDeliversTheDifferences(t *testing.T) {
	before := cache.NewStore[kube.Partial]()
	for _, ev := range []event{restart(nil), added("gone", "u1", "1"), added("same", "u2", "2"), added("changed", "u3", "3"), added("replaced", "u4", "4"), synced("9")} {
		before.Apply(ev)
	}
	s := cache.NewStore[kube.Partial]()
	if _, err := s.Load(bytes.NewReader(saved(t, before, binding)), binding); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ev := range []event{restart(kube.ErrGone), added("changed", "u3", "12"), added("new", "u5", "13"), added("replaced", "u6", "14"), added("same", "u2", "2"), synced("20")} {
		for _, d := range s.Apply(ev) {
			got = append(got, line(d))
		}
	}
	want := []string{
		"MODIFIED changed u3@12 was 3 inferred",
		"ADDED new u5@13 inferred",
		"DELETED replaced u4@14 was 4 inferred",
		"ADDED replaced u6@14 inferred",
		"DELETED gone u1@20 was 1 inferred",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s.Revision() != "20" {
		t.Errorf("at %q, want 20", s.Revision())
	}
}

// fails loads b and wants an error of a kind and a store that stays empty and
// usable.
func fails[T kube.Object](t *testing.T, b []byte, bind cache.SnapshotIdentity, kind error) string {
	t.Helper()
	s := cache.NewStore[T]()
	from, err := s.Load(bytes.NewReader(b), bind)
	var se *cache.SnapshotError
	if !errors.Is(err, kind) || !errors.As(err, &se) || from != (cache.Resume{}) {
		t.Fatalf("loaded %+v, %v; want %v", from, err, kind)
	}
	if s.Len() != 0 || s.Synced() || s.Revision() != "" {
		t.Fatalf("after %v: %d objects, synced %t, at %q", err, s.Len(), s.Synced(), s.Revision())
	}
	return err.Error()
}

func TestSnapshotOfSomethingElseIsForeign(t *testing.T) {
	good := saved(t, filled[kube.Partial](t, 3), binding)
	tests := []struct {
		what   string
		change func(*cache.SnapshotIdentity)
	}{
		{"cluster", func(b *cache.SnapshotIdentity) { b.Cluster = "other" }},
		{"resource", func(b *cache.SnapshotIdentity) { b.Resource = kube.Nodes }},
		{"resource", func(b *cache.SnapshotIdentity) { b.Resource.Version = "v2" }},
		{"resource", func(b *cache.SnapshotIdentity) { b.Resource.Kind = "Pot" }},
		{"namespace", func(b *cache.SnapshotIdentity) { b.Namespace = "d" }},
		{"label selector", func(b *cache.SnapshotIdentity) { b.Labels = "" }},
		{"field selector", func(b *cache.SnapshotIdentity) { b.Fields = "spec.nodeName=a" }},
		{"shard", func(b *cache.SnapshotIdentity) { b.Shard = kube.EqualShard(1, 3).String() }},
		{"projection", func(b *cache.SnapshotIdentity) { b.Projection = "no annotations" }},
	}
	for _, test := range tests {
		b := binding
		test.change(&b)
		if msg := fails[kube.Partial](t, good, b, cache.ErrSnapshotForeign); !strings.Contains(msg, "its "+test.what+" is ") {
			t.Errorf("%s: %s", test.what, msg)
		}
	}
	permitted := binding
	permitted.IncludeSecrets = true
	if _, err := cache.NewStore[kube.Partial]().Load(bytes.NewReader(good), permitted); err != nil {
		t.Errorf("a permission is no difference: %v", err)
	}
}

func TestSnapshotOfAnotherTypeIsForeign(t *testing.T) {
	var good []byte
	{
		type pod struct {
			kube.Meta `json:"metadata"`
			Node      string `json:"node"`
		}
		good = saved(t, filled[pod](t, 3), binding)
		if _, err := cache.NewStore[pod]().Load(bytes.NewReader(good), binding); err != nil {
			t.Fatal(err)
		}
	}
	{
		type pod struct {
			kube.Meta `json:"metadata"`
			Node      string `json:"nodeName"`
		}
		fails[pod](t, good, binding, cache.ErrSnapshotForeign)
	}
	{
		type pod struct {
			kube.Meta `json:"metadata"`
			Node      []string `json:"node"`
		}
		fails[pod](t, good, binding, cache.ErrSnapshotForeign)
	}
	{
		type pod struct {
			kube.Meta `json:"metadata"`
			Node      string `json:"node"`
			Phase     string `json:"phase"`
		}
		fails[pod](t, good, binding, cache.ErrSnapshotForeign)
	}
	fails[kube.Partial](t, good, binding, cache.ErrSnapshotForeign)
	fails[codec.Raw](t, good, binding, cache.ErrSnapshotForeign)
}

func TestSnapshotOfALaterFormatIsNewer(t *testing.T) {
	good := saved(t, filled[kube.Partial](t, 3), binding)
	for _, v := range []string{"2", "12", "99999"} {
		b := bytes.Replace(good, []byte("snapshot 1\n"), []byte("snapshot "+v+"\n"), 1)
		msg := fails[kube.Partial](t, b, binding, cache.ErrSnapshotNewer)
		if !strings.HasSuffix(msg, "its version is "+v+", the supported one is 1") {
			t.Error(msg)
		}
	}
	for _, v := range []string{"0", "", "-1", "1000000", "1 "} {
		b := bytes.Replace(good, []byte("snapshot 1\n"), []byte("snapshot "+v+"\n"), 1)
		fails[kube.Partial](t, b, binding, cache.ErrSnapshotDamaged)
	}
}

func TestSnapshotRefusesSecrets(t *testing.T) {
	b := binding
	b.Resource = kube.Secrets
	s := filled[codec.Raw](t, 3)
	var out bytes.Buffer
	err := s.Save(&out, b)
	want := "save snapshot of secrets.v1: snapshot refused: secrets would be kept in plain text: set IncludeSecrets to permit it"
	if !errors.Is(err, cache.ErrSnapshotRefused) || err.Error() != want || out.Len() > 0 {
		t.Errorf("%v, and %d bytes\nwant %s", err, out.Len(), want)
	}
	permitted := b
	permitted.IncludeSecrets = true
	good := saved(t, s, permitted)
	fails[codec.Raw](t, good, b, cache.ErrSnapshotRefused)
	if _, err := cache.NewStore[codec.Raw]().Load(bytes.NewReader(good), permitted); err != nil {
		t.Error(err)
	}
}

type onlyReads struct{ kube.Meta }

func (o *onlyReads) UnmarshalJSON([]byte) error { return nil }

type onlyWrites struct {
	kube.Meta
	State writtenState
}
type writtenState int

func (writtenState) MarshalText() ([]byte, error) { return []byte("x"), nil }

type unexported struct {
	kube.Meta
	Spec []struct{ parsed int }
}
type left struct {
	kube.Meta
	Out int `json:"-"`
}
type anInterface struct {
	kube.Meta
	State fmt.Stringer
}

func refuses[T kube.Object](t *testing.T, want string) {
	t.Helper()
	err := cache.NewStore[T]().Save(io.Discard, binding)
	if !errors.Is(err, cache.ErrSnapshotRefused) || !strings.HasSuffix(err.Error(), ": "+want) {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestSnapshotRefusesWhatJSONDoesNotCarry(t *testing.T) {
	refuses[onlyReads](t, "cache_test.onlyReads has only one of json.Marshaler and json.Unmarshaler")
	refuses[*onlyWrites](t, "*cache_test.onlyWrites.State has only one of encoding.TextMarshaler and encoding.TextUnmarshaler")
	refuses[unexported](t, "cache_test.unexported.Spec.parsed is not part of the JSON")
	refuses[left](t, "cache_test.left.Out is not part of the JSON")
	refuses[anInterface](t, "cache_test.anInterface.State is an interface")
	refuses[kube.Object](t, "kube.Object is an interface")
	b := binding
	b.Cluster = ""
	if err := filled[codec.Raw](t, 1).Save(io.Discard, b); !errors.Is(err, cache.ErrSnapshotRefused) {
		t.Errorf("without a cluster: %v", err)
	}
}

// TestSnapshotIsTakenOnlyWhenSynced: in between, the store is not what the
// collection was at any revision.
func TestSnapshotIsTakenOnlyWhenSynced(t *testing.T) {
	s := cache.NewStore[kube.Partial]()
	for _, step := range []struct {
		ev   event
		want error
	}{
		{event{Type: watch.Bookmark}, cache.ErrNotSynced},
		{restart(nil), cache.ErrNotSynced},
		{added("a", "u1", "1"), cache.ErrNotSynced},
		{synced("2"), nil},
		{live(watch.Modified, "a", "u1", "3"), nil},
		{restart(kube.ErrGone), cache.ErrNotSynced},
		{synced("4"), nil},
	} {
		s.Apply(step.ev)
		if err := s.Save(io.Discard, binding); !errors.Is(err, step.want) {
			t.Errorf("after %s: %v, want %v", step.ev.Type, err, step.want)
		}
	}
}

func TestSnapshotIsLoadedIntoAnUnusedStoreOnly(t *testing.T) {
	good := saved(t, filled[kube.Partial](t, 3), binding)
	s := cache.NewStore[kube.Partial]()
	s.Apply(restart(nil))
	if _, err := s.Load(bytes.NewReader(good), binding); err == nil || s.Len() != 0 {
		t.Errorf("%v, %d objects", err, s.Len())
	}
	s = cache.NewStore[kube.Partial]()
	for _, ok := range []bool{true, false} {
		if _, err := s.Load(bytes.NewReader(good), binding); (err == nil) != ok || s.Len() != 3 {
			t.Errorf("%v, %d objects; want success %t", err, s.Len(), ok)
		}
	}
}

func TestSnapshotErrorsOfTheStreamPassThrough(t *testing.T) {
	good := saved(t, filled[kube.Partial](t, 3), binding)
	broken := errors.New("broken disk")
	for _, n := range []int{0, 10, 100, 600, len(good)} {
		r := io.MultiReader(bytes.NewReader(good[:n]), iotest.ErrReader(broken))
		s := cache.NewStore[kube.Partial]()
		if _, err := s.Load(r, binding); !errors.Is(err, broken) || errors.Is(err, cache.ErrSnapshotDamaged) || s.Len() != 0 {
			t.Errorf("after %d bytes: %v, %d objects", n, err, s.Len())
		}
	}
	if err := filled[kube.Partial](t, 3).Save(brokenWriter{broken}, binding); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// TestSnapshotIsOfOneMoment: object n changes at revisions n, n+50, n+100, ...
func TestSnapshotIsOfOneMoment(t *testing.T) {
	const objects, last = 50, 20_000
	s := cache.NewStore[kube.Partial]()
	s.Apply(restart(nil))
	change := func(typ watch.Type, rev int) {
		n := rev % objects
		s.Apply(live(typ, "p"+strconv.Itoa(n), "u"+strconv.Itoa(n), strconv.Itoa(rev)))
	}
	for rev := range objects {
		change(watch.Added, objects+rev)
	}
	s.Apply(synced(strconv.Itoa(2*objects - 1)))
	var writer sync.WaitGroup
	writer.Go(func() {
		for rev := 2 * objects; rev <= last; rev++ {
			change(watch.Modified, rev)
		}
	})
	for at := 0; at < last; {
		b := saved(t, s, binding)
		loaded := cache.NewStore[kube.Partial]()
		from, err := loaded.Load(bytes.NewReader(b), binding)
		if err != nil {
			t.Fatal(err)
		}
		if at, err = strconv.Atoi(string(from.Revision)); err != nil {
			t.Fatal(err)
		}
		for n := range objects {
			want := at - (at-n)%objects
			o, _ := loaded.Get(kube.Key{Namespace: "d", Name: "p" + strconv.Itoa(n)})
			if o.ResourceVersion != strconv.Itoa(want) {
				t.Fatalf("at %d object %d is at %q, want %d", at, n, o.ResourceVersion, want)
			}
		}
	}
	writer.Wait()
}
