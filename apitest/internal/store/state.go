package store

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/listwatch/listwatch/apitest/internal/object"
	"github.com/listwatch/listwatch/kube"
)

// StateError reports why a saved state cannot be used. It quotes no object.
type StateError struct {
	Item   int // of the List, from 1; 0 = all of it
	Reason string
}

func (e *StateError) Error() string {
	if e.Item == 0 {
		return "state: " + e.Reason
	}
	return fmt.Sprintf("item %d: %s", e.Item, e.Reason)
}

// savedState is the output of [Store.Save] besides the items: the fields of a List, and
// data for the next server.
type savedState struct {
	Kind string `json:"kind"`
	Life struct {
		Number uint64        `json:"number"` // of the saving server, from 0
		Next   kube.Revision `json:"next"`   // the first revision that no client has seen
	} `json:"life"`
}

// reserved is how many revisions a running server may assign until it is saved again. A
// server that starts from a save begins after them, so that a revision that was lost
// with the process is never assigned twice.
const reserved = 1 << 32

// maxSavedRevision is far below the overflow of a revision.
const maxSavedRevision = 1 << 62

// Save writes all objects at one revision, which it returns, as a List in JSON. It
// blocks writers only while the state is copied. A store that loads it begins with the
// next revision if this store has ended, and with a much higher one otherwise.
func (st *Store) Save(w io.Writer, ended bool) (uint64, error) {
	st.mu.Lock()
	rev, life := st.rev, st.life
	tables := slices.DeleteFunc(st.sortedTables(), func(t *Table) bool { return t.Info.Core.Plural != "" })
	type kept struct {
		info    *object.Info
		objects Collection
	}
	slices.SortStableFunc(tables, func(a, b *Table) int { return cmp.Compare(stateRank(a.Info.Kind), stateRank(b.Info.Kind)) })
	all := make([]kept, len(tables))
	for i, t := range tables {
		all[i] = kept{t.Info, t.sorted}
	}
	st.mu.Unlock()
	next := rev + 1
	if !ended {
		next += reserved
	}
	out := bufio.NewWriterSize(w, 64<<10) // its errors are returned by Flush
	fmt.Fprintf(out, `{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"%d"},"life":{"number":%d,"next":"%d"},"items":[`, rev, life, next)
	sep := "\n"
	for _, k := range all {
		for o := range k.objects.All() {
			out.WriteString(sep)
			out.Write(o.Body)
			sep = ",\n"
		}
	}
	out.WriteString("\n]}\n")
	if err := out.Flush(); err != nil {
		return 0, fmt.Errorf("save the state: %w", err)
	}
	return rev, nil
}

// stateRank orders definitions before the objects that need them.
func stateRank(kind string) int {
	switch kind {
	case kube.CustomResourceDefinitions.Kind:
		return 0
	case kube.Namespaces.Kind:
		return 1
	}
	return 2
}

// Load fills an empty store from the output of Save, or from a List of kubectl: objects
// keep their UIDs and revisions, and get missing ones.
func (st *Store) Load(b []byte) error {
	var s savedState
	if err := json.Unmarshal(b, &s); err != nil {
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			return &StateError{Reason: fmt.Sprintf("it is not JSON, at byte %d", syntax.Offset)}
		}
		return &StateError{Reason: "it is not a List"}
	}
	if s.Kind != "List" {
		return &StateError{Reason: "it is not a List"}
	}
	items, newest, err := savedItems(b)
	if err != nil {
		return err
	}
	slices.SortStableFunc(items, func(a, b savedItem) int { return cmp.Compare(a.rank, b.rank) })
	st.mu.Lock()
	defer st.mu.Unlock()
	if reason := st.begin(&s, newest); reason != "" {
		return &StateError{Reason: reason}
	}
	objects, _ := slices.BinarySearchFunc(items, stateRank(kube.CustomResourceDefinitions.Kind)+1, func(i savedItem, rank int) int { return cmp.Compare(i.rank, rank) })
	for i, item := range items {
		if i == objects {
			st.defineAll()
		}
		if reason := st.keep(item.raw); reason != "" {
			return &StateError{item.number, reason}
		}
	}
	if objects == len(items) {
		st.defineAll()
	}
	st.first = st.rev
	for _, t := range st.tables {
		t.floor, t.recent, t.born = st.rev, st.rev, st.rev
	}
	return nil
}

// savedItem is one item of a saved state. It is small: a file may have many more items
// than a server accepts.
type savedItem struct {
	number int    // from 1, in the file
	raw    []byte // a part of the file
	rank   int
}

// savedHead has the fields that identify the table of an item.
type savedHead struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name            string `json:"name"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
}

// wrong returns why the item cannot be stored, "" if no reason is known yet.
func (h *savedHead) wrong() string {
	switch {
	case h.Kind == "":
		return "it has no kind"
	case h.Metadata.Name == "":
		return "it has no name"
	}
	return ""
}

// revision returns the revision of an item, 0 if it has no valid one.
func (h *savedHead) revision() uint64 {
	n, err := strconv.ParseUint(h.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// savedItems returns the items of b, a List that is valid JSON, and their largest
// revision. It ends at the first item that cannot be stored.
func savedItems(b []byte) (items []savedItem, newest uint64, err error) {
	ms, err := object.Members(b)
	if err != nil {
		return nil, 0, &StateError{Reason: "it is not a List"}
	}
	i := slices.IndexFunc(ms, func(m object.Member) bool { return m.Name == "items" })
	if i < 0 || string(ms[i].Value) == "null" {
		return nil, 0, nil
	}
	list := ms[i].Value
	if list[0] != '[' {
		return nil, 0, &StateError{Reason: "it is not a List"}
	}
	at := object.SkipSpace(list, 1)
	for n := 1; list[at] != ']'; n++ {
		end := object.ValueEnd(list, at)
		item := savedItem{number: n, raw: list[at:end:end]}
		var head savedHead
		if json.Unmarshal(item.raw, &head) != nil {
			return nil, 0, &StateError{n, "its metadata cannot be read"}
		}
		if reason := head.wrong(); reason != "" {
			return nil, 0, &StateError{n, reason}
		}
		item.rank = stateRank(head.Kind)
		newest = max(newest, head.revision())
		items = append(items, item)
		if at = object.SkipSpace(list, end); list[at] == ',' {
			at = object.SkipSpace(list, at+1)
		}
	}
	return items, newest, nil
}

// begin sets the revision and the generators of a server that continues from s, whose
// items have no revision above newest, or returns why it cannot. The caller holds the
// lock.
func (st *Store) begin(s *savedState, newest uint64) (wrong string) {
	if s.Life.Next != "" {
		next, err := strconv.ParseUint(string(s.Life.Next), 10, 64)
		if err != nil || next == 0 {
			return "life.next is not a revision"
		}
		st.rev = max(st.rev, next-1)
	}
	st.rev = max(st.rev, newest)
	if st.rev > maxSavedRevision {
		return "its revision is too large"
	}
	st.life = s.Life.Number + 1
	st.random, st.aside = st.generator(streamObjects), st.generator(streamAside)
	return ""
}

// keep stores an item unchanged, or returns why it cannot. The caller holds the lock.
func (st *Store) keep(raw []byte) (wrong string) {
	var head savedHead
	if json.Unmarshal(raw, &head) != nil {
		return "its metadata cannot be read"
	}
	t := st.TableOf(head.APIVersion, head.Kind)
	if t == nil {
		return fmt.Sprintf("the server has no kind %q in %q: its CustomResourceDefinition is missing", Clipped(head.Kind), Clipped(head.APIVersion))
	}
	o, err := object.Parse(t.Info.Resource, raw)
	switch {
	case err != nil || !readableMeta(raw):
		return "its metadata cannot be read"
	case o.Key.Name == "":
		return "it has no name"
	case t.objects[o.Key] != nil:
		return fmt.Sprintf("%s %s is there twice", t.Info.GroupResource(), o.Key)
	}
	rv := head.revision()
	if rv == 0 {
		st.rev++
		rv = st.rev
	}
	st.PrepareCreate(t.Info, o)
	o.Seal(t.Info, rv)
	t.objects[o.Key] = o
	t.sorted = t.sorted.with(o)
	return ""
}

// TableOf returns the table of a kind, nil if there is none. The caller holds the lock.
func (st *Store) TableOf(apiVersion, kind string) *Table {
	for _, t := range st.tables {
		if t.Info.Kind == kind && t.Info.APIVersion() == apiVersion && t.Info.Core.Plural == "" {
			return t
		}
	}
	return nil
}

// InfoOf returns a kind in any of its versions, nil if there is none. The caller holds the
// lock.
func (st *Store) InfoOf(apiVersion, kind string) *object.Info {
	for _, t := range st.tables {
		for _, r := range append([]*object.Info{t.Info}, t.forms...) {
			if r.Kind == kind && r.APIVersion() == apiVersion {
				return r
			}
		}
	}
	return nil
}

// readableMeta reports whether clients can read the metadata of an object.
func readableMeta(raw json.RawMessage) bool {
	var o struct {
		Metadata struct {
			OwnerReferences []struct {
				UID string `json:"uid"`
			} `json:"ownerReferences"`
		} `json:"metadata"`
	}
	return json.Unmarshal(raw, &o) == nil
}

// Clipped limits a quote in an error.
func Clipped(s string) string {
	if len(s) > 100 {
		return s[:100] + "..."
	}
	return s
}
