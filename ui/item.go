package ui

import (
	"iter"
	"strings"
	"time"
	"unique"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/archive"
	"github.com/listwatch/listwatch/internal/table"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/ui/internal/history"
	"github.com/listwatch/listwatch/ui/internal/managed"
	"github.com/listwatch/listwatch/ui/internal/row"
)

// text is a string of which there is one copy, as most labels occur many times.
type text = unique.Handle[string]

// life is an object from its creation to its deletion.
type life struct {
	n       int64
	kind    *kind
	key     kube.Key
	uid     string
	created int64 // milliseconds since 1970
	gone    int64 // deleted then; 0 = it exists
	last    *item // the last state of an object that is gone
	before  *life // of the same name
	past    history.Life
	marks   managed.Marks // of the newest state
	by      text          // who wrote it
}

// all yields l and those before it, the newest first.
func (l *life) all() iter.Seq[*life] {
	return func(yield func(*life) bool) {
		for ; l != nil && yield(l); l = l.before {
		}
	}
}

// item is one state of an object as a list shows it. It is immutable. Its size matters, and
// that of its life: there is one of each for each object.
type item struct {
	*life
	revision string
	cells    archive.Row
	labels   text   // a=b,c=d
	refs     text   // the owners: an archive.Row, with four cells of each
	changed  int64  // milliseconds since 1970; 0 = not since the first list
	pos      int64  // of the last change
	wanted   int64  // the generation
	hits     string // cells that the last change changed, a byte for each
	gone     int64  // it was deleted then, and this is its last state
	bytes    int32
	op       history.Op // of the last change
	deleting bool
}

// GetNamespace and the others make it a kube.Object.
func (i *item) GetNamespace() string       { return i.key.Namespace }
func (i *item) GetName() string            { return i.key.Name }
func (i *item) GetResourceVersion() string { return i.revision }

type owner struct{ apiVersion, kind, name, uid string }

// owners returns the owners of i, first the one that controls it.
func (i *item) owners() (list []owner) {
	if i.refs == (text{}) {
		return nil
	}
	for c := strings.Split(i.refs.Value(), "\n"); len(c) > 4; c = c[4:] {
		list = append(list, owner{c[0], c[1], c[2], c[3]})
	}
	return list
}

// parsed is what an event brings.
type parsed struct {
	item   *item
	object codec.Raw // without managed fields, redacted

	managed  []managed.Entry
	by       string // of an entry of the disk
	inferred bool   // the same
}

// parse reads an object, or the row of a Table that it is in. The life of the item is of
// its own until it is known to be another state of one.
func (k *kind) parse(raw codec.RawFull) (parsed, error) {
	r, err := row.Parse(raw)
	if err != nil {
		return parsed{}, err
	}
	object := r.Object
	if k.secret() {
		if object, err = row.Redact(object, k.u.salt); err != nil {
			return parsed{}, err
		}
	}
	l := &life{kind: k, key: kube.Key{Namespace: one(object.GetNamespace()), Name: strings.Clone(object.GetName())}, uid: strings.Clone(object.GetUID()), created: millis(r.Created)}
	it := &item{life: l, revision: strings.Clone(object.GetResourceVersion()), labels: unique.Make(r.Labels), wanted: r.Generation, deleting: r.Deleting}
	switch {
	case r.Cells != nil:
	case k.u.recorded:
		r.Cells = []string{row.Cell(l.key.Name), row.Cell(table.Status(object)), ""}
	default:
		r.Cells = []string{row.Cell(l.key.Name), ""}
	}
	it.cells = archive.RowOf(r.Cells...)
	var refs []string
	for _, o := range object.GetOwnerReferences() {
		ref := []string{o.APIVersion, o.Kind, o.Name, o.UID}
		if o.Controller != nil && *o.Controller {
			ref, refs = refs, ref
		}
		refs = append(refs, ref...)
	}
	it.refs = unique.Make(string(archive.RowOf(refs...)))
	return parsed{item: it, object: object, managed: r.Managed}, nil
}

// one returns the copy of s that others with the same text have too.
func one(s string) string { return unique.Make(s).Value() }

// label returns the value of a label.
func (i *item) label(key string) (string, bool) {
	for l := range strings.SplitSeq(i.labels.Value(), ",") {
		if k, v, _ := strings.Cut(l, "="); k == key && l != "" {
			return v, true
		}
	}
	return "", false
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func now() int64 { return time.Now().UnixMilli() }
